/** Compression of answers on the listening socket, as a client sees the bytes. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Listener, listen } from './listener.ts';

const MIDDLE = JSON.stringify({ items: Array.from({ length: 200 }, (_, index) => ({ index, name: 'Ada' })) });
const LARGE = JSON.stringify({
  items: Array.from({ length: 2_000 }, (_, index) => ({ index, name: 'Ada' })),
});
const JSON_TYPE = { 'content-type': 'application/json' };

/** The answer of each path. */
const ANSWERS: Readonly<Record<string, () => Response>> = {
  '/large': () => new Response(LARGE, { headers: JSON_TYPE }),
  '/problem': () =>
    new Response(LARGE, {
      status: 409,
      headers: { 'content-type': 'application/problem+json', vary: 'cookie' },
    }),
  '/middle': () => new Response(MIDDLE, { headers: JSON_TYPE }),
  '/small': () => new Response('{"a":1}', { headers: JSON_TYPE }),
  '/weak': () => new Response(LARGE, { headers: { ...JSON_TYPE, etag: 'W/"1"' } }),
  '/strong': () => new Response(LARGE, { headers: { ...JSON_TYPE, etag: '"1"' } }),
  '/encoded': () => new Response(LARGE, { headers: { ...JSON_TYPE, 'content-encoding': 'zstd' } }),
  '/part': () => new Response(LARGE, { status: 206, headers: JSON_TYPE }),
  '/page': () => new Response(LARGE, { headers: { 'content-type': 'text/html' } }),
  '/events': () => new Response(streamOf(LARGE), { headers: { 'content-type': 'text/event-stream' } }),
  '/rewrapped': () => new Response(new Response(LARGE).body, { headers: JSON_TYPE }),
  '/known-stream': () =>
    new Response(streamOf(LARGE, LARGE), {
      headers: { ...JSON_TYPE, 'content-length': String(2 * LARGE.length) },
    }),
  '/stream': () => new Response(streamOf(LARGE, LARGE), { headers: JSON_TYPE }),
  '/small-stream': () => new Response(streamOf('{"a":', '1}'), { headers: JSON_TYPE }),
  '/huge-stream': () => new Response(streamOf(...Array(30).fill(LARGE)), { headers: JSON_TYPE }),
  '/empty': () => new Response(null, { status: 204, headers: JSON_TYPE }),
};

/** A body that comes in parts, a turn of the event loop apart. */
function streamOf(...parts: readonly string[]): ReadableStream<Uint8Array> {
  const waiting = [...parts];
  return new ReadableStream({
    async pull(controller) {
      await new Promise((resolve) => setImmediate(resolve));
      const part = waiting.shift();
      if (part === undefined) controller.close();
      else controller.enqueue(new TextEncoder().encode(part));
    },
  });
}

let listener: Listener;
beforeAll(async () => {
  listener = await listen({
    port: 0,
    host: '127.0.0.1',
    trustedProxies: [],
    fetch: async ({ url }) => (ANSWERS[new URL(url).pathname] as () => Response)(),
    plainHttp: null,
    onIncident: (error) => {
      throw error;
    },
  });
});
afterAll(() => listener.close());

async function ask(path: string, accepted: string | null = 'gzip, deflate, br', method = 'GET') {
  const headers = accepted === null ? {} : { 'accept-encoding': accepted };
  const sent = request({ host: '127.0.0.1', port: listener.port, path, method, headers, agent: false });
  sent.end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  const parts: Buffer[] = [];
  for await (const part of answer) parts.push(part as Buffer);
  return { status: answer.statusCode, headers: answer.headers, body: Buffer.concat(parts) };
}

describe('an answer of JSON', () => {
  test.each([
    ['gzip, deflate, br', 'br', brotliDecompressSync],
    ['gzip', 'gzip', gunzipSync],
    ['br;q=0, gzip', 'gzip', gunzipSync],
  ])('is compressed for a client that takes "%s" (%s)', async (accepted, coding, open) => {
    for (const path of ['/large', '/problem', '/weak', '/rewrapped']) {
      const { headers, body } = await ask(path, accepted);
      expect([path, headers['content-encoding']]).toEqual([path, coding]);
      expect(headers.vary).toMatch(/accept-encoding/);
      expect(Number(headers['content-length'])).toBe(body.byteLength);
      expect(body.byteLength).toBeLessThan(LARGE.length / 3);
      expect(open(body).toString()).toBe(LARGE);
    }
    expect((await ask('/problem', accepted)).headers.vary).toBe('accept-encoding, cookie');
  });

  test('of a few kilobytes is compressed at once, by gzip', async () => {
    const { headers, body } = await ask('/middle');
    expect(headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(body).toString()).toBe(MIDDLE);
    expect((await ask('/middle', 'br')).headers['content-encoding']).toBe('br');
  });

  test.each([[null], ['identity'], ['gzip;q=0']])(
    'is sent as it is to one that takes %s',
    async (accepted) => {
      const { headers, body } = await ask('/large', accepted);
      expect(headers['content-encoding']).toBeUndefined();
      // A cache has to know that another client gets other bytes.
      expect(headers.vary).toBe('accept-encoding');
      expect(body.toString()).toBe(LARGE);
    },
  );

  test.each(['/small', '/small-stream', '/strong', '/part', '/page', '/events', '/huge-stream'])(
    '%s is left alone',
    async (path) => {
      const { headers, body } = await ask(path);
      expect(headers['content-encoding']).toBeUndefined();
      expect(headers.vary).toBeUndefined();
      expect(body.toString()).toMatch(/^\{"/);
    },
  );

  test('that is encoded already keeps its coding', async () => {
    expect((await ask('/encoded')).headers['content-encoding']).toBe('zstd');
  });

  test('that comes in parts is whole', async () => {
    for (const path of ['/stream', '/known-stream']) {
      const { headers, body } = await ask(path);
      expect(headers['content-encoding']).toBe('br');
      expect(brotliDecompressSync(body).toString()).toBe(LARGE + LARGE);
    }
  });

  test('without a body has none', async () => {
    expect(await ask('/empty')).toMatchObject({ status: 204, body: Buffer.alloc(0) });
    const head = await ask('/large', 'br', 'HEAD');
    expect([head.status, head.body.byteLength, head.headers['content-encoding']]).toEqual([
      200,
      0,
      undefined,
    ]);
  });
});
