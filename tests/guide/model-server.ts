/** A very small language model behind OpenAI's Chat Completions API: it knows that a brolly is an umbrella. */
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Asked {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: {
    readonly model: string;
    readonly max_tokens?: number;
    readonly messages: readonly { readonly role: string; readonly content: string }[];
  };
}

export interface ModelServer extends AsyncDisposable {
  readonly port: number;
  /** The requests, in order. */
  readonly asked: readonly Asked[];
}

export async function startModelServer(): Promise<ModelServer> {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Asked['body'];
    asked.push({ path: request.url ?? '', headers: request.headers, body });
    const content = answerTo(body.messages.at(-1)?.content ?? '');
    response.writeHead(200, { 'content-type': 'application/json' }).end(
      JSON.stringify({
        id: 'c1',
        object: 'chat.completion',
        created: 1,
        model: body.model,
        choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 93, completion_tokens: 2 },
      }),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Returns the number of the line with an umbrella, for a prompt about a lost brolly. */
function answerTo(prompt: string): string {
  if (!prompt.includes('brolly')) return '0';
  return `${/^(\d+): .*umbrella/im.exec(prompt)?.[1] ?? 0}\n`;
}
