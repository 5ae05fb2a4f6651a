/** An export is logged before the first byte, streams without piling up, and fails loudly when it breaks off. */
import { PlatformError, problemDocument } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import { openPlatform, refusal, SERVICE } from '../../test/platform.ts';
import type { AdminResult, HostAdminOptions } from '../index.ts';

async function openWithScope(options: Pick<HostAdminOptions, 'deadline'> = {}) {
  const platform = await openPlatform(options);
  const scope = await platform.scope((await platform.tenant('acme')).id);
  const take = (query: Record<string, unknown> = {}) =>
    platform.call('scopes.export', {
      params: { tenant: scope.tenant, scope: scope.id },
      query,
      as: SERVICE,
    });
  return { platform, scope, take };
}

const textOf = ({ body }: AdminResult) => new Response(body ?? null).text();
const headers = { 'content-type': 'application/x-ndjson', 'x-export-format': 'ndjson' };

test.each([
  [{}, 'ndjson'],
  [{ format: 'sqlite' }, 'sqlite'],
])(
  'spec C-06, C-08: %j comes the same from the worker and the co-located host, with one access row each',
  async (query, format) => {
    const { platform, scope, take } = await openWithScope();
    const before = platform.fieldwork.requests.length;
    const delegated = await take(query);
    expect(delegated.value).toEqual({ format, bookmark: 'bm_1' });
    expect(await textOf(delegated)).toBe('a copy');
    expect(platform.fieldwork.requests).toHaveLength(before + 1);

    platform.reach = 'local';
    const colocated = await take(query);
    expect(colocated.value).toEqual(delegated.value);
    expect(await textOf(colocated)).toBe('a copy');
    expect(platform.fieldwork.requests).toHaveLength(before + 1);

    platform.reach = 'both';
    expect(await textOf(await take(query))).toBe('a copy');
    expect(platform.fieldwork.requests).toHaveLength(before + 2);

    const rows = (await platform.accessLog()).map(({ id: _id, requestId: _requestId, ...row }) => row);
    const row = {
      at: '2026-11-21T08:00:00.000Z',
      actor: SERVICE,
      token: SERVICE.id,
      operation: 'scopes.export',
      target: { tenant: scope.tenant, scope: scope.id, vertical: 'fieldwork', other: null },
      items: 1,
    };
    expect(rows).toEqual([row, row, row]);
  },
);

test.each(['bound', 'local'] as const)(
  'spec C-08: the access row stands before the vertical (%s) is asked',
  async (reach) => {
    const { platform, take } = await openWithScope();
    platform.reach = reach;
    const logged: number[] = [];
    const { local, bound } = platform.fieldwork;
    const note = async () => {
      logged.push(
        (await platform.accessLog()).filter(({ operation }) => operation === 'scopes.export').length,
      );
    };
    const [askLocal, askBound] = [local.exportScopeLocal, bound.fetch];
    Object.assign(local, {
      exportScopeLocal: async (...args: Parameters<typeof askLocal>) => {
        await note();
        return askLocal(...args);
      },
    });
    Object.assign(bound, {
      fetch: async (request: Request) => {
        await note();
        return askBound(request);
      },
    });
    await textOf(await take());
    expect(logged.length).toBeGreaterThan(0);
    expect(new Set(logged)).toEqual(new Set([1]));
  },
);

test('without a row there is no byte', async () => {
  const { platform, take } = await openWithScope();
  const asked = platform.fieldwork.requests.length;
  await platform.tamper((database) => database.exec('ALTER TABLE access_log RENAME TO gone'));
  await expect(take()).rejects.toThrow();
  expect(platform.fieldwork.requests).toHaveLength(asked);
});

test('bound to no vertical it is 501 with a diagnosis, and no access row', async () => {
  const { platform, take } = await openWithScope();
  platform.reach = 'none';
  expect(await refusal(take())).toMatchObject({ status: 501, reason: 'no_vertical' });
  expect(await platform.accessLog()).toEqual([]);
});

describe.each(['bound', 'local'] as const)('a large copy (%s)', (reach) => {
  /** Counts the pieces that were made. */
  async function openEndless() {
    const opened = await openWithScope();
    opened.platform.reach = reach;
    const seen = { made: 0, cancelled: false };
    opened.platform.fieldwork.exported = () =>
      new ReadableStream<Uint8Array>(
        {
          pull: (controller) => {
            seen.made += 1;
            controller.enqueue(new Uint8Array(64 * 1024).fill(120));
          },
          cancel: () => {
            seen.cancelled = true;
          },
        },
        { highWaterMark: 0 },
      );
    const { body } = await opened.take();
    return { ...opened, seen, reader: (body as ReadableStream<Uint8Array>).getReader() };
  }

  test('spec C-08: passes through as it is read, and never piles up', async () => {
    const { seen, reader } = await openEndless();
    let taken = 0;
    let inFlightMax = 0;
    while (taken < 500) {
      const { value } = await reader.read();
      expect(value?.byteLength).toBe(64 * 1024);
      taken += 1;
      // Gives any read-ahead its chance to run.
      if (taken % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
      inFlightMax = Math.max(inFlightMax, seen.made - taken);
    }
    expect(inFlightMax).toBeLessThanOrEqual(2);
    await reader.cancel();
  });

  test('is stopped at its source when its reader leaves', async () => {
    const { seen, reader } = await openEndless();
    await reader.read();
    await reader.cancel(new Error('the client went away'));
    expect(seen.cancelled).toBe(true);
  });
});

test.each([
  [
    'its own refusal passes through',
    async () => problemDocument(new PlatformError('rate_limited', 'Slow down.', { reason: 'busy' })),
    { status: 429, code: 'rate_limited', reason: 'busy' },
  ],
  [
    'unreachable is 502',
    async () => {
      throw new TypeError('fetch failed');
    },
    { status: 502, reason: 'vertical_unreachable' },
  ],
  ['an answer without the headers is 502', async () => new Response('bytes'), { status: 502 }],
  [
    'another media type than the format’s is 502',
    async () => new Response('bytes', { headers: { ...headers, 'content-type': 'text/html' } }),
    { status: 502, reason: 'vertical_answer' },
  ],
  ['no body is 502', async () => new Response(null, { headers }), { status: 502 }],
  ['an unexplained 500 is 502', async () => new Response('oops', { status: 500 }), { status: 502 }],
  [
    'a redirect is not followed',
    async () => new Response(null, { status: 302, headers: { location: 'http://elsewhere.example' } }),
    { status: 502 },
  ],
])('a failing worker: %s, and the access row stays', async (_, fault, expected) => {
  const { platform, take } = await openWithScope();
  platform.fieldwork.fault = fault;
  expect(await refusal(take())).toMatchObject(expected);
  expect(await platform.accessLog()).toHaveLength(1);
});

test.each([
  ['without bytes', { format: 'ndjson', bookmark: null, body: 'a copy' }],
  ['in an unknown format', { format: 'zip', bookmark: null, body: new Response('a copy').body }],
  ['without a word about its bookmark', { format: 'ndjson', body: new Response('a copy').body }],
])('spec C-08: a co-located host that answers %s is 502, and the access row stays', async (_, answer) => {
  const { platform, take } = await openWithScope();
  platform.reach = 'local';
  Object.assign(platform.fieldwork.local, { exportScopeLocal: async () => answer });
  expect(await refusal(take())).toMatchObject({ status: 502, reason: 'vertical_answer' });
  expect(await platform.accessLog()).toHaveLength(1);
});

test('another format than was asked for is 502, and its bytes are let go', async () => {
  const { platform, take } = await openWithScope();
  let cancelled = false;
  platform.fieldwork.fault = async () =>
    new Response(
      new ReadableStream({
        cancel: () => {
          cancelled = true;
        },
      }),
      { headers },
    );
  expect(await refusal(take({ format: 'sqlite' }))).toMatchObject({ status: 502, reason: 'vertical_answer' });
  await new Promise((resolve) => setImmediate(resolve));
  expect(cancelled).toBe(true);
});

test('a worker that never answers is given up on', async () => {
  let signal = new AbortController().signal;
  const { platform, take } = await openWithScope({ deadline: () => signal });
  platform.fieldwork.fault = () => new Promise<Response>(() => undefined);
  signal = AbortSignal.abort(new Error('time is up'));
  expect(await refusal(take())).toMatchObject({ status: 502, reason: 'vertical_timeout' });
});

test('a copy that falls silent, or breaks off, fails its reader', async () => {
  let controller = new AbortController();
  const { platform, take } = await openWithScope({ deadline: () => controller.signal });
  const piece = new TextEncoder().encode('half');
  type Source = NonNullable<ConstructorParameters<typeof ReadableStream<Uint8Array>>[0]>;
  const bodyOf = (source: Source) => async () => new Response(new ReadableStream(source), { headers });

  platform.fieldwork.fault = bodyOf({ start: (stream) => stream.enqueue(piece) });
  const silent = textOf(await take());
  controller.abort(new Error('time is up'));
  expect(await refusal(silent)).toMatchObject({ status: 502, reason: 'vertical_timeout' });

  controller = new AbortController();
  let pulls = 0;
  platform.fieldwork.fault = bodyOf({
    pull: (stream) => {
      pulls += 1;
      if (pulls === 1) stream.enqueue(piece);
      else stream.error(new Error('connection reset'));
    },
  });
  expect(await refusal(textOf(await take()))).toMatchObject({ status: 502, reason: 'vertical_answer' });
});
