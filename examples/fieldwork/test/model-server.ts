/** A server on this machine that speaks OpenAI's Chat Completions, well or badly, as a test wants it. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Asked {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: {
    readonly model: string;
    readonly stream?: boolean;
    readonly max_tokens?: number;
    readonly messages: readonly { readonly role: string; readonly content: string }[];
  };
}

export type Reply = (response: ServerResponse, asked: Asked) => void | Promise<void>;

export interface ModelServer extends AsyncDisposable {
  /** The value for `FREEHOLD_MODEL_OPENAI_COMPATIBLE_BASE_URL`. */
  readonly url: string;
  readonly asked: readonly Asked[];
  /** The number of answers that ended early, mostly because the caller left. */
  readonly left: () => number;
  /** Answers like this from now on. */
  answer(reply: Reply): void;
}

export const USAGE = { prompt_tokens: 120, completion_tokens: 30 };

export async function startModelServer(first: Reply = streams(['All is well.'])): Promise<ModelServer> {
  const asked: Asked[] = [];
  let reply = first;
  let left = 0;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Asked['body'];
    const one = { path: request.url ?? '', headers: request.headers, body };
    asked.push(one);
    response.on('close', () => {
      if (!response.writableFinished) left += 1;
    });
    await reply(response, one);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    left: () => left,
    answer: (next) => {
      reply = next;
    },
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

export interface Streamed {
  /** Null: the provider says nothing of it. */
  readonly usage?: object | null;
  readonly finish?: string;
  /** The delay before each piece after the first. */
  readonly pause?: () => Promise<unknown>;
  /** The end of the stream: whole, without its end, or with a connection that breaks. */
  readonly end?: 'whole' | 'open' | 'broken';
}

/** A stream of pieces. */
export function streams(pieces: readonly string[], options: Streamed = {}): Reply {
  const { usage = USAGE, finish = 'stop', pause, end = 'whole' } = options;
  return async (response, { body: { model } }) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const head = { id: 'c1', object: 'chat.completion.chunk', created: 1, model };
    const send = (event: object) => response.write(`data: ${JSON.stringify({ ...head, ...event })}\n\n`);
    for (const [index, content] of pieces.entries()) {
      if (index > 0) await pause?.();
      send({ choices: [{ index: 0, delta: { role: 'assistant', content }, finish_reason: null }] });
    }
    if (end === 'broken') {
      await pause?.();
      response.destroy();
      return;
    }
    if (end === 'whole') {
      send({ choices: [{ index: 0, delta: {}, finish_reason: finish }] });
      if (usage !== null) send({ choices: [], usage });
      response.write('data: [DONE]\n\n');
    }
    response.end();
  };
}

/** The whole answer at once, as servers answer that do not stream. */
export function whole(content: string, { usage = USAGE, finish = 'stop' }: Streamed = {}): Reply {
  return (response, { body: { model } }) =>
    sendJson(response, 200, {
      id: 'c1',
      object: 'chat.completion',
      created: 1,
      model,
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: finish }],
      ...(usage === null ? {} : { usage }),
    });
}

/** A refusal, in a body that quotes text that no other reader should see. */
export function refuses(status: number, headers: Readonly<Record<string, string>> = {}): Reply {
  return (response) =>
    sendJson(response, status, { error: { message: 'no: key sk-private', type: 'invalid' } }, headers);
}

/** Something else altogether. */
export function talks(text: string, type = 'text/html'): Reply {
  return (response) => void response.writeHead(200, { 'content-type': type }).end(text);
}

function sendJson(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}
