/**
 * Usage lines from the scope that raised them to the bill, on the real engine, over both transports of the read
 * ladder.
 */
import {
  PLATFORM_SECRET_HEADER,
  PlatformError,
  problemDocument,
  type SettleRequest,
} from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import { openPlatform, type Platform, refusal } from '../../test/platform.ts';
import { PLATFORM_SECRET } from '../../test/vertical-double.ts';
import type { MeterRecord, ModelUsageRecord, OpsFailureRecord, ScopeRecord } from '../admin-operations.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

interface Raised {
  id: string;
  kind: string;
  payload: unknown;
  status: string;
  revision: number;
  requestedBy: string;
  invocation: string;
  cause: null;
  at: string;
  settledAt: string | null;
  result: unknown;
}

interface Fold {
  since: string;
  until: string;
  marginBasisPoints: number;
  items: ModelUsageRecord[];
  nextCursor: string | null;
}

/** The platform requests of one scope, behind the worker's routes and behind the co-located host. */
function makeRequests(platform: Platform) {
  const world = {
    raised: [] as Raised[],
    asked: 0,
    /** When set, settling fails with it. */
    fault: null as PlatformError | null,
  };
  const list = (query: { kind?: string; limit?: number; cursor?: string }) => {
    world.asked += 1;
    const from = Number(query.cursor ?? 0);
    const all = world.raised.filter(({ status, kind }) => status === 'pending' && kind === query.kind);
    const rest = all.filter(({ id }) => Number(id.slice(-6)) > from);
    const items = rest.slice(0, query.limit);
    return { items, nextCursor: rest.length > items.length ? `${Number(items.at(-1)?.id.slice(-6))}` : null };
  };
  const settle = ({ id, revision, status, result = null }: SettleRequest) => {
    if (world.fault) throw world.fault;
    const request = world.raised.find((each) => each.id === id);
    if (!request) throw new PlatformError('not_found', 'There is no such request.');
    if (request.revision !== revision) throw new PlatformError('precondition_failed', 'It has changed.');
    return Object.assign(request, { status, result, revision: revision + 1, settledAt: request.at });
  };
  Object.assign(platform.fieldwork.local, {
    listPlatformRequests: async (query: never) => list(query),
    settlePlatformRequest: async (request: SettleRequest) => settle(request),
  });
  platform.fieldwork.fault = async (request) => {
    expect(request.headers.get(PLATFORM_SECRET_HEADER)).toBe(PLATFORM_SECRET);
    const url = new URL(request.url);
    const query = Object.fromEntries(url.searchParams);
    try {
      if (url.pathname.endsWith('/settle'))
        return Response.json(settle((await request.json()) as SettleRequest));
      return Response.json(list({ ...query, limit: Number(query.limit) }));
    } catch (error) {
      return problemDocument(error as PlatformError);
    }
  };
  const raise = (payload: unknown, more: Partial<Raised> = {}): Raised => {
    const request = {
      id: `prq_01jd0000000000000000${String(world.raised.length + 1)
        .padStart(6, '0')
        .slice(-6)}`,
      kind: 'model-usage',
      payload,
      status: 'pending',
      revision: 1,
      requestedBy: 'prn_01jd0000000000000000000001',
      invocation: 'inv_01jd0000000000000000000001',
      cause: null,
      at: '2026-11-21T07:59:00.000Z',
      settledAt: null,
      result: null,
      ...more,
    };
    world.raised.push(request);
    return request;
  };
  return Object.assign(world, { raise });
}

async function openUsing(options: Parameters<typeof openPlatform>[0] = {}) {
  const platform = await openPlatform(options);
  const scope = await platform.scope((await platform.tenant('ours')).id);
  const other = await platform.scope((await platform.tenant('theirs')).id);
  const requests = makeRequests(platform);
  const line = (more: object = {}, of: ScopeRecord = scope) => ({
    spec: 'openai:gpt-5-mini',
    outcome: 'completed',
    inputTokens: 1000,
    cachedInputTokens: 200,
    cacheWriteTokens: 0,
    outputTokens: 50,
    reasoningTokens: 20,
    reported: true,
    listUsd: 0.1,
    pricesAsOf: '2026-10-16',
    attribution: {
      tenant: of.tenant,
      scope: of.id,
      vertical: 'fieldwork',
      version: '1.0.0',
      operation: 'order/describe',
    },
    ...more,
  });
  const collect = (of: ScopeRecord = scope) =>
    platform.admin.collectModelUsage({ tenant: of.tenant, scope: of.id });
  const usage = (query = {}) => platform.value<Fold>('model-usage.list', { query });
  const meters = async (query = {}) =>
    (await platform.value<{ items: MeterRecord[] }>('meters.list', { query })).items;
  return { platform, scope, other, requests, line, collect, usage, meters };
}

describe.each(['bound', 'local'] as const)('spec C-28: lines of a scope, vertical %s', (reach) => {
  test('are listed, taken once each, and settled', async () => {
    const { platform, requests, line, collect, usage } = await openUsing();
    platform.reach = reach;
    for (let i = 0; i < 3; i++) requests.raise(line());
    const foreign = requests.raise({ to: 'ada' }, { kind: 'mail.send' });
    expect(await collect()).toEqual({ taken: 3, repeated: 0, refused: 0, more: false });
    expect(requests.raised.map(({ status }) => status)).toEqual(['done', 'done', 'done', 'pending']);
    expect(foreign).toMatchObject({ status: 'pending', revision: 1 });
    expect(await collect()).toEqual({ taken: 0, repeated: 0, refused: 0, more: false });
    expect(await usage()).toMatchObject({ items: [{ calls: 3, listUsd: '0.3' }] });
  });

  test('a scope that could not be told is told later, and the line counts once', async () => {
    const { platform, requests, line, collect, usage } = await openUsing();
    platform.reach = reach;
    requests.raise(line());
    requests.raise(line());
    requests.fault = new PlatformError('unavailable', 'Not now.');
    expect(await refusal(collect())).toMatchObject({ status: 503 });
    expect(await usage()).toMatchObject({ items: [{ calls: 2 }] });
    requests.fault = null;
    expect(await collect()).toEqual({ taken: 0, repeated: 2, refused: 0, more: false });
    expect(requests.raised.map(({ status }) => status)).toEqual(['done', 'done']);
    expect(await usage()).toMatchObject({ items: [{ calls: 2, listUsd: '0.2' }] });
  });

  test('a line that is attributed to another tenant is refused, and counts for none', async () => {
    const { platform, other, requests, line, collect, usage } = await openUsing();
    platform.reach = reach;
    const { attribution } = line();
    requests.raise(line({}, other));
    requests.raise(line({ attribution: { ...attribution, scope: other.id } }));
    requests.raise(line({ attribution: { ...attribution, tenant: other.tenant } }));
    expect(await collect()).toEqual({ taken: 0, repeated: 0, refused: 3, more: false });
    for (const request of requests.raised)
      expect(request).toMatchObject({ status: 'refused', result: { reason: 'attribution_mismatch' } });
    expect((await usage()).items).toEqual([]);
    const { items } = await platform.value<{ items: OpsFailureRecord[] }>('ops-failures.list');
    expect(items).toHaveLength(3);
    expect(items[0]).toMatchObject({ operation: 'model-usage.collect', reason: 'attribution_mismatch' });
  });
});

describe('spec C-28: lines that are accepted, and lines that are not', () => {
  test.each([
    ['nothing', () => null],
    [
      'a sixth attribution key',
      (line: object) => ({ ...line, attribution: { ...attributionOf(line), sixth: 'x' } }),
    ],
    ['a missing attribution key', (line: object) => ({ ...line, attribution: { tenant: 'x' } })],
    ['a field of its own', (line: object) => ({ ...line, prompt: 'Dear Ada' })],
    ['a negative price', (line: object) => ({ ...line, listUsd: -1 })],
    ['a price beyond measure', (line: object) => ({ ...line, listUsd: 1e300 })],
    ['a negative count', (line: object) => ({ ...line, inputTokens: -1 })],
    ['a count beyond measure', (line: object) => ({ ...line, outputTokens: 2 ** 53 - 1 })],
    ['half a token', (line: object) => ({ ...line, outputTokens: 0.5 })],
    ['a part larger than the whole', (line: object) => ({ ...line, cachedInputTokens: 1001 })],
    ['a model that is none', (line: object) => ({ ...line, spec: 'gpt\n<script>' })],
  ])('%s is refused as no usage line', async (_, change) => {
    const { requests, line, collect, usage } = await openUsing();
    requests.raise(change(line()));
    expect(await collect()).toMatchObject({ taken: 0, refused: 1 });
    expect(requests.raised[0]).toMatchObject({ status: 'refused', result: { reason: 'not_a_usage_line' } });
    expect((await usage()).items).toEqual([]);
  });

  test('vertical and version are those that the directory knows', async () => {
    const { platform, requests, line, collect } = await openUsing();
    const attribution = { ...attributionOf(line()), vertical: 'another-vertical', version: '99.0.0' };
    requests.raise(line({ attribution }));
    expect(await collect()).toMatchObject({ taken: 1 });
    let rows: unknown[] = [];
    await platform.tamper((database) => {
      rows = database.prepare('SELECT vertical, version, operation, settled FROM model_usage_lines').all();
    });
    expect(rows).toMatchObject([
      { vertical: 'fieldwork', version: 'unversioned', operation: 'order/describe', settled: 1 },
    ]);
  });

  test("a scope that raises another one's request ids takes nothing from it", async () => {
    const { other, requests, line, collect, usage } = await openUsing();
    const ours = requests.raise(line());
    await collect();
    requests.raised.length = 0;
    expect(requests.raise(line({}, other)).id).toBe(ours.id);
    expect(await collect(other)).toMatchObject({ taken: 1 });
    expect((await usage()).items).toMatchObject([{ calls: 1 }, { calls: 1 }]);
  });

  test('a clock that is wrong moves a line by a month at most, and never into the future', async () => {
    const { requests, line, collect, usage } = await openUsing();
    requests.raise(line(), { at: '2030-01-01T00:00:00.000Z' });
    requests.raise(line({ spec: 'openai:past' }), { at: '1999-01-01T00:00:00.000Z' });
    await collect();
    expect((await usage({ since: '2026-11-21' })).items).toMatchObject([{ model: 'openai:gpt-5-mini' }]);
    expect((await usage({ since: '2026-10-21', until: '2026-10-21' })).items).toMatchObject([
      { model: 'openai:past' },
    ]);
  });

  test('a request that changed meanwhile is not settled, and taken up by the next collection', async () => {
    const { requests, line, collect, usage } = await openUsing();
    const request = requests.raise(line());
    requests.fault = new PlatformError('precondition_failed', 'It has changed.');
    expect(await collect()).toMatchObject({ taken: 1 });
    expect(request.status).toBe('pending');
    requests.fault = null;
    expect(await collect()).toMatchObject({ taken: 0, repeated: 1 });
    expect(request.status).toBe('done');
    expect((await usage()).items).toMatchObject([{ calls: 1 }]);
  });

  test('a scope with endless pages is left after ten of them', async () => {
    const { platform, requests, line, collect } = await openUsing();
    platform.reach = 'local';
    for (let i = 0; i < 1001; i++) requests.raise(line());
    expect(await collect()).toEqual({ taken: 1000, repeated: 0, refused: 0, more: true });
    expect(requests.asked).toBe(10);
    expect(await collect()).toEqual({ taken: 1, repeated: 0, refused: 0, more: false });
  });

  test('two collections at one moment are one', async () => {
    const { requests, line, collect, usage } = await openUsing();
    for (let i = 0; i < 20; i++) requests.raise(line());
    const [first, second] = await Promise.all([collect(), collect()]);
    expect(second).toBe(first);
    expect((await usage()).items).toMatchObject([{ calls: 20 }]);
  });

  test('a scope that is not there, another tenant’s, or of no vertical', async () => {
    const { platform, scope, other, collect } = await openUsing();
    const foreign = platform.admin.collectModelUsage({ tenant: other.tenant, scope: scope.id });
    expect(await refusal(foreign)).toMatchObject({ status: 404 });
    const none = platform.admin.collectModelUsage({ tenant: 'x', scope: 'y' });
    expect(await refusal(none)).toMatchObject({ status: 400 });
    platform.reach = 'none';
    expect(await refusal(collect())).toMatchObject({ status: 501, reason: 'no_vertical' });
  });
});

describe('spec C-28: folded per tenant by model, margin applied at read time', () => {
  test('unpriced or unreported calls are counted apart, and an unpriced model is not free', async () => {
    const { requests, line, collect, usage } = await openUsing({ modelMarginBasisPoints: 2000 });
    requests.raise(line());
    requests.raise(line({ listUsd: 0.2, reported: false, outcome: 'failed' }));
    requests.raise(line({ listUsd: null, pricesAsOf: null }));
    requests.raise(line({ spec: 'local:llama', listUsd: null, pricesAsOf: null }));
    requests.raise(line({ spec: 'openai:free', listUsd: 0 }));
    await collect();
    const { items, ...rest } = await usage();
    expect(rest).toEqual({
      since: '2026-10-23',
      until: '2026-11-21',
      marginBasisPoints: 2000,
      nextCursor: null,
    });
    expect(items).toMatchObject([
      { model: 'local:llama', calls: 1, unpricedCalls: 1, listUsd: null, billedUsd: null },
      {
        model: 'openai:free',
        calls: 1,
        unpricedCalls: 0,
        listUsd: '0',
        billedUsd: '0',
      },
      {
        model: 'openai:gpt-5-mini',
        calls: 3,
        inputTokens: 3000,
        cachedInputTokens: 600,
        outputTokens: 150,
        reasoningTokens: 60,
        unpricedCalls: 1,
        unreportedCalls: 1,
        testCalls: 0,
        listUsd: '0.3',
        billedUsd: '0.36',
      },
    ]);
  });

  test('a test scope is never billed', async () => {
    const { platform, scope, requests, line, collect, usage, meters } = await openUsing();
    await platform.tamper((database) =>
      database.exec(`UPDATE scopes SET kind = 'test' WHERE id = '${scope.id}'`),
    );
    requests.raise(line());
    await collect();
    expect((await usage()).items).toMatchObject([{ calls: 1, testCalls: 1, listUsd: '0.1', billedUsd: '0' }]);
    expect(await meters()).toEqual([]);
  });

  test('is narrowed by tenant and days, and paged', async () => {
    const { other, scope, requests, line, collect, usage } = await openUsing();
    for (const model of ['openai:a', 'openai:b c', 'openai:c'])
      requests.raise(line({ spec: model.replace(' ', '-') }));
    await collect();
    requests.raised.length = 0;
    requests.raise(line({}, other), { at: '2026-11-01T00:00:00.000Z' });
    await collect(other);
    const seen: string[] = [];
    let cursor: string | null | undefined;
    while (cursor !== null) {
      const page: Fold = await usage({ limit: 2, ...(cursor === undefined ? {} : { cursor }) });
      seen.push(...page.items.map(({ model }) => model));
      cursor = page.nextCursor;
    }
    expect(seen).toEqual(['openai:a', 'openai:b-c', 'openai:c', 'openai:gpt-5-mini']);
    expect((await usage({ tenant: scope.tenant })).items).toHaveLength(3);
    expect((await usage({ until: '2026-11-01' })).items).toMatchObject([{ tenant: other.tenant }]);
    expect((await usage({ since: '2026-11-02', until: '2026-11-20' })).items).toEqual([]);
  });

  test.each([
    { since: '2026-11-22', until: '2026-11-21' },
    { since: '2027-01-01' },
    { since: '2026-02-30' },
    { until: 'yesterday' },
    { cursor: btoa('nonsense') },
    { cursor: '%' },
    { model: 'x' },
  ])('%j is refused', async (query) => {
    const { usage } = await openUsing();
    expect(await refusal(usage(query))).toMatchObject({ status: 400 });
  });

  test('a sum beyond the range of numbers is added up exactly', async () => {
    const { requests, line, collect, usage } = await openUsing();
    for (let i = 0; i < 100; i++) requests.raise(line({ listUsd: 9999.87654321 }));
    await collect();
    expect((await usage()).items).toMatchObject([{ listUsd: '999987.654321' }]);
  });

  test.each([-1, 0.5, Number.NaN])('a margin of %d is refused when the platform is made', async (margin) => {
    await expect(openPlatform({ modelMarginBasisPoints: margin })).rejects.toThrow(RangeError);
  });
});

describe('spec C-22: meters', () => {
  test("follow from usage lines and from the wiring's own counts", async () => {
    const { platform, scope, other, requests, line, collect, meters } = await openUsing();
    requests.raise(line());
    requests.raise(line({ outputTokens: 25 }));
    await collect();
    const reading = { tenant: scope.tenant, meter: 'http.requests', quantity: 40 } as const;
    await platform.admin.addToMeters([reading, reading, { ...reading, tenant: other.tenant, quantity: 1 }]);
    const { tenant } = scope;
    await platform.admin.addToMeters([{ ...reading, meter: 'operations.invoked', quantity: 7 }]);
    const counted = { tenant, kind: 'counter', days: 1 };
    expect(await meters({ tenant })).toEqual([
      { ...counted, meter: 'http.requests', unit: 'requests', quantity: 80 },
      { ...counted, meter: 'model.calls', unit: 'calls', quantity: 2 },
      { ...counted, meter: 'model.input-tokens', unit: 'tokens', quantity: 2000 },
      { ...counted, meter: 'model.output-tokens', unit: 'tokens', quantity: 75 },
      { ...counted, meter: 'operations.invoked', unit: 'invocations', quantity: 7 },
    ]);
    expect(await meters()).toHaveLength(6);
    expect(await meters({ until: '2026-11-20' })).toEqual([]);
  });

  test('a gauge has one figure a day, the last one, and its period is the mean of the days that have one', async () => {
    const { platform, scope, other, meters } = await openUsing();
    const { tenant } = scope;
    const measure = (quantity: number) =>
      platform.admin.setMeters([{ tenant, meter: 'storage.bytes', quantity }]);
    await measure(500);
    await measure(100);
    const figure = { tenant, meter: 'storage.bytes', unit: 'bytes', kind: 'gauge' };
    expect(await meters({ tenant })).toEqual([{ ...figure, quantity: 100, days: 1 }]);
    platform.clock.ms += DAY_MS;
    await measure(200);
    // No measurement for two days: these days do not count as zero.
    platform.clock.ms += 3 * DAY_MS;
    await measure(301);
    await platform.admin.setMeters([{ tenant: other.tenant, meter: 'storage.bytes', quantity: 9 }]);
    expect(await meters({ tenant })).toEqual([{ ...figure, quantity: 200, days: 3 }]);
    expect(await meters({ tenant, since: '2026-11-22' })).toEqual([{ ...figure, quantity: 251, days: 2 }]);
    // A measurement of zero is a figure too.
    platform.clock.ms += DAY_MS;
    await measure(0);
    expect(await meters({ tenant })).toEqual([{ ...figure, quantity: 150, days: 4 }]);
  });

  test('the largest figures are exact', async () => {
    const { platform, scope, meters } = await openUsing();
    for (let day = 0; day < 3; day++) {
      await platform.admin.setMeters([
        { tenant: scope.tenant, meter: 'storage.bytes', quantity: 10 ** 15 - day },
      ]);
      platform.clock.ms += DAY_MS;
    }
    expect(await meters()).toMatchObject([{ quantity: 10 ** 15 - 1, days: 3 }]);
  });

  test('a gauge cannot be added to, nor a counter be set', async () => {
    const { platform, scope } = await openUsing();
    const reading = { tenant: scope.tenant, quantity: 1 };
    const added = platform.admin.addToMeters([{ ...reading, meter: 'storage.bytes' } as never]);
    expect(await refusal(added)).toMatchObject({ status: 400 });
    for (const bad of [{ meter: 'http.requests' }, { meter: 'storage.bytes', quantity: 10 ** 15 + 1 }])
      expect(await refusal(platform.admin.setMeters([{ ...reading, ...bad } as never]))).toMatchObject({
        status: 400,
      });
    const noPrincipal = [
      { ...reading, meter: 'storage.bytes', tenant: 'tnt_01jd0000000000000000000009' } as const,
    ];
    expect(await refusal(platform.admin.setMeters(noPrincipal as never))).toMatchObject({ status: 404 });
  });

  test('the wiring cannot count meters that follow from lines, negative quantities, or for unknown tenants', async () => {
    const { platform, scope } = await openUsing();
    const reading = { tenant: scope.tenant, meter: 'http.requests', quantity: 1 } as const;
    for (const bad of [{ meter: 'model.calls' }, { quantity: -1 }, { quantity: 0.5 }, { tenant: 'acme' }])
      expect(await refusal(platform.admin.addToMeters([{ ...reading, ...bad } as never]))).toMatchObject({
        status: 400,
      });
    const noPrincipal = [{ ...reading, tenant: 'tnt_01jd0000000000000000000009' }];
    expect(await refusal(platform.admin.addToMeters(noPrincipal))).toMatchObject({ status: 404 });
  });
});

test('a line is deleted when it is old and its scope shows it no more; the folded day stays', async () => {
  const { platform, requests, line, collect, usage } = await openUsing();
  requests.raise(line());
  await collect();
  requests.raise(line());
  requests.fault = new PlatformError('precondition_failed', 'It has changed.');
  await collect();
  requests.fault = null;
  platform.clock.ms += 91 * 24 * 60 * 60 * 1000;
  expect(await collect()).toMatchObject({ taken: 0, repeated: 1 });
  let stored: unknown[] = [];
  await platform.tamper((database) => {
    stored = database.prepare('SELECT request, settled FROM model_usage_lines').all();
  });
  expect(stored).toMatchObject([{ request: requests.raised[1]?.id, settled: 1 }]);
  expect((await usage({ since: '2026-11-01', until: '2027-12-31' })).items).toMatchObject([{ calls: 2 }]);
});

describe('spec C-28: deleted lines', () => {
  type Using = Awaited<ReturnType<typeof openUsing>>;
  const settledOf = async ({ platform }: Using): Promise<unknown[]> => {
    let rows: { settled?: unknown }[] = [];
    await platform.tamper((database) => {
      rows = database.prepare('SELECT settled FROM model_usage_lines ORDER BY request').all();
    });
    return rows.map(({ settled }) => settled);
  };

  test('none that is younger than ninety days', async () => {
    const using = await openUsing();
    const { platform, requests, line, collect } = using;
    for (const days of [89, 2]) {
      requests.raise(line());
      await collect();
      platform.clock.ms += days * DAY_MS;
      requests.raise(line({ listUsd: null, pricesAsOf: null }), {
        at: new Date(platform.clock.ms).toISOString(),
      });
      await collect();
      expect(await settledOf(using)).toEqual(days === 89 ? [1, 1] : [1, 1, 1]);
    }
  });

  test('one that its scope forgot as well, and those that it was told before it failed', async () => {
    const using = await openUsing();
    const { platform, requests, line, collect } = using;
    platform.reach = 'local';
    requests.raise(line());
    requests.fault = new PlatformError('not_found', 'There is no such request.');
    expect(await collect()).toMatchObject({ taken: 1 });
    expect(await settledOf(using)).toEqual([1]);
    requests.fault = null;
    requests.raised.length = 0;
    requests.raise({});
    for (let i = 0; i < 2; i++) requests.raise(line());
    const last = requests.raised[2]?.id;
    const { settlePlatformRequest } = platform.fieldwork.local;
    Object.assign(platform.fieldwork.local, {
      settlePlatformRequest: async (request: SettleRequest) => {
        if (request.id === last) throw new PlatformError('unavailable', 'Not now.');
        return settlePlatformRequest(request as never);
      },
    });
    expect(await refusal(collect())).toMatchObject({ status: 503 });
    expect(await settledOf(using)).toEqual([1, 1, 0]);
  });
});

test('spec C-28: a request that its scope has settled already is not collected', async () => {
  const { platform, requests, line, collect, usage } = await openUsing();
  platform.reach = 'local';
  requests.raise(line(), { status: 'done' });
  requests.raise(line(), { kind: 'mail.send' });
  Object.assign(platform.fieldwork.local, {
    listPlatformRequests: async () => ({ items: requests.raised, nextCursor: null }),
  });
  expect(await collect()).toEqual({ taken: 0, repeated: 0, refused: 0, more: false });
  expect((await usage()).items).toEqual([]);
});

test('spec C-28: two scopes of one tenant are collected each by itself, also at one moment', async () => {
  const { platform, scope, collect } = await openUsing();
  platform.reach = 'local';
  const second = await platform.scope(scope.tenant, 'second');
  const [one, other] = await Promise.all([collect(), collect(second)]);
  expect(other).not.toBe(one);
});

function attributionOf(line: object): object {
  return (line as { attribution: object }).attribution;
}
