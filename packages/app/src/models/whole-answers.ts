/**
 * Servers that speak OpenAI's wire and do not stream answer a request for a stream with the whole answer at once, as
 * JSON. It is taken as a stream of one piece, so that any of them will do.
 */
import { z } from 'zod';

type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** Larger than any answer within the limits that we ask for. */
const ANSWER_LENGTH_MAX = 4 * 1_024 * 1_024;

const wholeAnswer = z.looseObject({
  choices: z.tuple([
    z.looseObject({
      message: z.looseObject({ content: z.string().nullish() }),
      finish_reason: z.string().nullish(),
    }),
  ]),
});

/** A fetch that makes streams of whole answers, and leaves everything else as it is. */
export function takingWholeAnswers(fetch: Fetch): Fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    const type = response.headers.get('content-type') ?? '';
    if (!response.ok || !type.includes('application/json') || !asksForStream(init)) return response;
    const text = (await response.text()).slice(0, ANSWER_LENGTH_MAX);
    const stream = streamOf(text);
    return stream === null
      ? new Response(text, { status: response.status, headers: { 'content-type': type } })
      : new Response(stream, { headers: { 'content-type': 'text/event-stream' } });
  };
}

function asksForStream(init: RequestInit | undefined): boolean {
  try {
    return typeof init?.body === 'string' && JSON.parse(init.body).stream === true;
  } catch {
    return false;
  }
}

/** The events that a streaming server would have sent; null for what is no chat completion. */
function streamOf(text: string): string | null {
  try {
    const answer = wholeAnswer.safeParse(JSON.parse(text)).data;
    if (!answer) return null;
    const [{ message, finish_reason }] = answer.choices;
    const piece = { ...answer, object: 'chat.completion.chunk', usage: null };
    const said = {
      index: 0,
      delta: { role: 'assistant', content: message.content ?? '' },
      finish_reason: null,
    };
    const events = [
      { ...piece, choices: [said] },
      { ...piece, choices: [{ index: 0, delta: {}, finish_reason: finish_reason ?? null }] },
      { ...piece, choices: [], usage: answer.usage ?? null },
    ];
    return `${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')}data: [DONE]\n\n`;
  } catch {
    return null;
  }
}
