/** The outside world of a test: other systems, and language models. */
import { z } from 'zod';

/** Answers an outgoing call of an executor. */
export type AnswerFetch = (request: Request) => Response | Promise<Response>;

/** A question of the application to a language model. */
export interface AskedModel {
  /** The name behind the provider's: `test`. */
  readonly model: string;
  readonly system: string | null;
  readonly prompt: string;
}

/** Answers a language model's prompt with its text. */
export type AnswerModel = (asked: AskedModel) => string | Promise<string>;

/** The bindings by which an instance has the test as its language model. */
export const MODEL_BINDINGS = {
  FREEHOLD_MODEL: 'openai-compatible:test',
  FREEHOLD_MODEL_OPENAI_COMPATIBLE_BASE_URL: 'https://model.test/v1',
  FREEHOLD_MODEL_OPENAI_COMPATIBLE_API_KEY: 'test',
} as const;

/** A `fetch` that the test answers. Without an answer, every call fails and names the option. */
export function answeringFetch(answer: AnswerFetch | undefined): typeof globalThis.fetch {
  return async (target, init) => {
    const request = new Request(target, init);
    if (!answer)
      throw new TypeError(
        `${request.method} ${request.url} was called, and this test answers no outgoing calls: give testApp the option fetch.`,
      );
    const { signal } = request;
    signal.throwIfAborted();
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    try {
      return await Promise.race([answer(request), aborted]);
    } finally {
      signal.removeEventListener('abort', abort);
    }
  };
}

const text = z.union([z.string(), z.array(z.looseObject({ text: z.string().default('') }))]);
const completion = z.looseObject({
  model: z.string(),
  stream: z.boolean().default(false),
  messages: z.array(z.looseObject({ role: z.string(), content: text })),
});

/** The provider of a language model, in OpenAI's Chat Completions, with the test's answers. */
export function answeringModel(
  answer: AnswerModel,
): (input: string | URL | Request, init?: RequestInit) => Promise<Response> {
  return async (input, init) => {
    const { model, stream, messages } = completion.parse(await new Request(input, init).json());
    const said = (isSystem: boolean) =>
      messages.filter(({ role }) => (role === 'system') === isSystem).map(({ content }) => plain(content));
    const system = said(true);
    const reply = await answer({
      model,
      system: system.length === 0 ? null : system.join('\n'),
      prompt: said(false).join('\n'),
    });
    const usage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 };
    const head = { id: 'test', created: 1, model };
    if (!stream) {
      const choices = [{ index: 0, message: { role: 'assistant', content: reply }, finish_reason: 'stop' }];
      return Response.json({ ...head, object: 'chat.completion', choices, usage });
    }
    const chunks = [
      { choices: [{ index: 0, delta: { role: 'assistant', content: reply }, finish_reason: null }] },
      { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
      { choices: [], usage },
    ].map((chunk) => `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...chunk })}\n\n`);
    return new Response(`${chunks.join('')}data: [DONE]\n\n`, {
      headers: { 'content-type': 'text/event-stream' },
    });
  };
}

function plain(content: z.output<typeof text>): string {
  return typeof content === 'string' ? content : content.map((part) => part.text).join('');
}
