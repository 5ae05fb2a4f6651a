/** The stop of the listening socket, under load. */
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type Listener, listen } from './listener.ts';

const CALLERS = 20;
const ANSWER_MS = 20;

interface Heard {
  readonly status: number;
  readonly connection: string | undefined;
}

function ask(port: number, agent: Agent, path = '/'): Promise<Heard> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, agent, path }, (response) => {
      response.resume();
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, connection: response.headers.connection }),
      );
    });
    sent.on('error', reject);
    sent.end();
  });
}

/** Counts the requests that were answered, refused a connection, and cut off. */
async function callUntilRefused(
  port: number,
  tally: Record<'answered' | 'refused' | 'cut', number>,
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  try {
    for (;;) {
      await ask(port, agent);
      tally.answered += 1;
    }
  } catch (error) {
    tally[(error as NodeJS.ErrnoException).code === 'ECONNREFUSED' ? 'refused' : 'cut'] += 1;
  } finally {
    agent.destroy();
  }
}

function serve(
  fetch: (request: Request) => Promise<Response>,
  limits: { readonly connectionsMax?: number } = {},
): Promise<Listener> {
  return listen({
    ...limits,
    port: 0,
    host: '127.0.0.1',
    trustedProxies: [],
    fetch,
    plainHttp: null,
    onIncident: (error) => {
      throw error;
    },
  });
}

test('a stop under load answers what is in flight, cuts no request off, and ends with the last answer', async () => {
  const listener = await serve(async () => {
    await wait(ANSWER_MS);
    return new Response('done');
  });
  const tally = { answered: 0, refused: 0, cut: 0 };
  const callers = Array.from({ length: CALLERS }, () => callUntilRefused(listener.port, tally));
  await wait(200);
  const before = tally.answered;
  await listener.close();
  await Promise.all(callers);
  expect(before).toBeGreaterThan(0);
  expect(tally).toMatchObject({ refused: CALLERS, cut: 0 });
  // Each connection has at most the answer in flight, and one request that it sent before it heard of the end.
  expect(tally.answered - before).toBeLessThanOrEqual(2 * CALLERS);
});

test('an answer in flight says that its connection closes; a stream that has begun is sent to its end', async () => {
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
  const { promise: go, resolve: release } = Promise.withResolvers<void>();
  const listener = await serve(async ({ url }) => {
    if (!url.endsWith('/stream')) {
      arrive();
      await go;
      return new Response('late');
    }
    const body = new ReadableStream({
      start: async (controller) => {
        controller.enqueue(new TextEncoder().encode('begun, '));
        await go;
        controller.enqueue(new TextEncoder().encode('ended'));
        controller.close();
      },
    });
    return new Response(body);
  });
  const agent = new Agent({ keepAlive: true });
  const late = ask(listener.port, agent);
  const stream = ask(listener.port, agent, '/stream');
  await arrived;
  await wait(50);
  const closed = listener.close();
  release();
  expect(await late).toEqual({ status: 200, connection: 'close' });
  expect(await stream).toMatchObject({ status: 200 });
  await closed;
  agent.destroy();
});

test('a connection beyond the limit is closed, and another one is taken once there is room', async () => {
  const listener = await serve(async () => new Response('ok'), { connectionsMax: 1 });
  const first = new Agent({ keepAlive: true });
  const second = new Agent();
  expect((await ask(listener.port, first)).status).toBe(200);
  await expect(ask(listener.port, second)).rejects.toThrow();
  first.destroy();
  await expect
    .poll(() =>
      ask(listener.port, second).then(
        ({ status }) => status,
        () => 0,
      ),
    )
    .toBe(200);
  second.destroy();
  await listener.close();
});

test('a request with two Host lines is refused before anything reads one of them', async () => {
  let served = 0;
  const listener = await serve(async () => {
    served += 1;
    return new Response('served');
  });
  const say = async (hosts: readonly string[]): Promise<string> => {
    const socket = connect(listener.port, '127.0.0.1');
    socket.write(`GET / HTTP/1.1\r\n${hosts.join('\r\n')}\r\nconnection: close\r\n\r\n`);
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => void chunks.push(chunk));
    await once(socket, 'close');
    return Buffer.concat(chunks).toString().split('\r\n')[0] ?? '';
  };
  expect(await say(['Host: a.test', 'hoST: b.test'])).toBe('HTTP/1.1 400 Bad Request');
  expect(await say(['Host: a.test', 'Host: a.test'])).toBe('HTTP/1.1 400 Bad Request');
  expect([await say(['Host: a.test', 'x-host: b.test']), served]).toEqual(['HTTP/1.1 200 OK', 1]);
  await listener.close();
});
