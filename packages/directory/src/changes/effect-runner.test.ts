/** Effects in a vertical, with a certain outcome, an unknown one, and a process that dies in between. */
import { PlatformError, problemDocument } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import { type CallParts, openPlatform, type Platform, refusal } from '../../test/platform.ts';
import type { AdminLogVerification, ScopeRecord } from '../admin-operations.ts';

type Fault = (platform: Platform) => NonNullable<Platform['fieldwork']['fault']>;

/** Ways in which the vertical does what it was asked for, and the answer does not arrive. */
const LOST_ANSWERS: readonly (readonly [string, Fault])[] = [
  [
    'the connection breaks',
    ({ fieldwork }) =>
      async (request) => {
        await done(fieldwork, request);
        throw new TypeError('connection reset');
      },
  ],
  [
    'the answer breaks off',
    ({ fieldwork }) =>
      async (request) => {
        await done(fieldwork, request);
        return new Response(new ReadableStream({ start: (stream) => stream.error(new Error('reset')) }));
      },
  ],
  [
    'the answer is unreadable',
    ({ fieldwork }) =>
      async (request) => {
        await done(fieldwork, request);
        return new Response('<html>', { status: 200 });
      },
  ],
  [
    'something on the way gives up',
    ({ fieldwork }) =>
      async (request) => {
        await done(fieldwork, request);
        return new Response('Gateway Timeout', { status: 504 });
      },
  ],
  [
    'the vertical breaks after it was done',
    ({ fieldwork }) =>
      async (request) => {
        await done(fieldwork, request);
        return problemDocument(new PlatformError('internal', 'Something went wrong.'));
      },
  ],
  [
    'a unit of the vertical does not answer',
    ({ fieldwork }) =>
      async (request) => {
        await done(fieldwork, request);
        return problemDocument(new PlatformError('unavailable', 'No.', { reason: 'unit_unreachable' }));
      },
  ],
];

/** Lets the vertical do what it was asked for. */
async function done(fieldwork: Platform['fieldwork'], request: Request): Promise<Response> {
  const { fault } = fieldwork;
  fieldwork.fault = null;
  try {
    return await fieldwork.bound.fetch(request);
  } finally {
    fieldwork.fault = fault;
  }
}

async function openWithScope() {
  const platform = await openPlatform();
  const scope = await platform.scope((await platform.tenant('acme')).id);
  return { platform, scope };
}

const configure = (platform: Platform, scope: ScopeRecord, config: object, more: CallParts = {}) =>
  platform.call('scopes.configure', {
    params: { tenant: scope.tenant, scope: scope.id },
    body: { config },
    ...more,
  });
const provision = (platform: Platform, tenant: string, more: CallParts = {}) =>
  platform.call('scopes.provision', {
    params: { tenant },
    body: { slug: 'main', name: 'Main', vertical: 'fieldwork' },
    ...more,
  });
const mint = (platform: Platform, scope: ScopeRecord, more: CallParts = {}) =>
  platform.call('owner-claim.mint', { params: { tenant: scope.tenant, scope: scope.id }, ...more });
const read = async (platform: Platform, scope: ScopeRecord) =>
  platform.value<ScopeRecord>('scopes.get', { params: { tenant: scope.tenant, scope: scope.id } });

const outcomes = async (platform: Platform, action: string) =>
  (await platform.adminLog({ action })).map(({ outcome }) => outcome);
const expectChainToHold = async (platform: Platform) =>
  expect(await platform.value<AdminLogVerification>('admin-log.verify')).toMatchObject({
    status: 'unanchored',
    firstBad: null,
  });

describe('spec C-30: a log never says that something failed which may have happened', () => {
  test.each(LOST_ANSWERS)('%s: the intent stays open and the caller is told so', async (_, fault) => {
    const { platform, scope } = await openWithScope();
    platform.fieldwork.fault = fault(platform);
    expect(await refusal(configure(platform, scope, { A: '1' }, { key: 'k' }))).toMatchObject({
      reason: 'outcome_unknown',
      message: expect.stringMatching(/not known.*can be made again/),
    });
    expect(await outcomes(platform, 'scopes.configure')).toEqual(['intent']);
    expect(await platform.adminLog({ outcome: 'unsettled' })).toMatchObject([
      { action: 'scopes.configure', target: { scope: scope.id } },
    ]);

    platform.fieldwork.fault = null;
    expect(await configure(platform, scope, { A: '1' }, { key: 'k' })).toMatchObject({
      status: 200,
      replayed: false,
    });
    expect(await configure(platform, scope, { A: '1' }, { key: 'k' })).toMatchObject({ replayed: true });
    expect(await platform.adminLog({ outcome: 'unsettled' })).toEqual([]);
    await expectChainToHold(platform);
  });

  test('time runs out: the intent stays open', async () => {
    const controller = new AbortController();
    const platform = await openPlatform({ deadline: () => controller.signal });
    const scope = await platform.scope((await platform.tenant('acme')).id);
    platform.fieldwork.fault = async () => {
      controller.abort();
      return new Promise(() => undefined);
    };
    expect(await refusal(configure(platform, scope, { A: '1' }))).toMatchObject({
      status: 502,
      code: 'runtime_fault',
      reason: 'outcome_unknown',
    });
    expect(await outcomes(platform, 'scopes.configure')).toEqual(['intent']);
  });

  test.each([
    ['a conflict', problemDocument(new PlatformError('conflict', 'No.', { reason: 'mine' })), 'conflict'],
    ['a validation', problemDocument(new PlatformError('validation_failed', 'No.')), 'validation_failed'],
    ['an unavailable', problemDocument(new PlatformError('unavailable', 'Busy.')), 'unavailable'],
  ])('%s is a refusal: it is written down as failed', async (_, answer, code) => {
    const { platform, scope } = await openWithScope();
    platform.fieldwork.fault = async () => answer.clone();
    expect(await refusal(configure(platform, scope, { A: '1' }))).toMatchObject({ code });
    expect((await platform.adminLog()).slice(-2)).toMatchObject([
      { outcome: 'intent' },
      { outcome: 'failed', code },
    ]);
    expect(await platform.adminLog({ outcome: 'unsettled' })).toEqual([]);
  });

  test('a vertical that goes away before it is asked is a failure', async () => {
    let onIntent = () => undefined as unknown;
    const anchor = { publish: async () => void onIntent(), read: async () => null };
    const platform = await openPlatform({ anchor });
    const scope = await platform.scope((await platform.tenant('acme')).id);
    onIntent = () => {
      platform.reach = 'none';
    };
    expect(await refusal(configure(platform, scope, { A: '1' }))).toMatchObject({ reason: 'no_vertical' });
    expect((await platform.adminLog()).at(-1)).toMatchObject({ outcome: 'failed', code: 'unsupported' });
  });

  test("the owner link: a vertical's silent 4xx is a refusal, its silent 5xx is not; both statuses are its own", async () => {
    const { platform, scope } = await openWithScope();
    await platform.hostname(scope, 'acme.localhost');
    platform.fieldwork.fault = async () => new Response(null, { status: 418 });
    expect(await refusal(mint(platform, scope))).toMatchObject({ status: 418 });
    expect(await outcomes(platform, 'owner-claim.mint')).toEqual(['intent', 'failed']);
    platform.fieldwork.fault = async () => new Response(null, { status: 504 });
    expect(await refusal(mint(platform, scope))).toMatchObject({ status: 504, reason: 'outcome_unknown' });
    expect(await outcomes(platform, 'owner-claim.mint')).toEqual(['intent', 'failed', 'intent']);
    platform.fieldwork.fault = null;
    await mint(platform, scope);
    expect(await platform.adminLog({ outcome: 'unsettled' })).toEqual([]);
  });

  test('a bug of a co-located host proves nothing and is reported; its refusal is a failure', async () => {
    const platform = await openPlatform();
    platform.reach = 'local';
    const tenant = await platform.tenant('acme');
    const { local } = platform.fieldwork;
    const original = local.provisionScopeLocal;
    Object.assign(local, { provisionScopeLocal: () => Promise.reject(new TypeError('a bug')) });
    expect(await refusal(provision(platform, tenant.id))).toMatchObject({
      status: 500,
      reason: 'outcome_unknown',
    });
    expect(platform.incidents).toMatchObject([{ message: 'a bug' }]);
    Object.assign(local, {
      provisionScopeLocal: () => Promise.reject(new PlatformError('conflict', 'No.')),
    });
    expect(await refusal(provision(platform, tenant.id))).toMatchObject({ status: 409 });
    expect(await outcomes(platform, 'scopes.provision')).toEqual(['intent', 'intent', 'failed']);
    Object.assign(local, { provisionScopeLocal: original });
    await provision(platform, tenant.id);
    expect(await platform.adminLog({ outcome: 'unsettled' })).toEqual([]);
  });
});

describe('spec C-30: intents that were left behind', () => {
  const [[, lost]] = LOST_ANSWERS as [(typeof LOST_ANSWERS)[0]];
  const lose = async (platform: Platform, call: () => Promise<unknown>) => {
    platform.fieldwork.fault = lost(platform);
    await refusal(call());
    platform.fieldwork.fault = null;
  };

  test('are superseded by the success of the same operation on the same scope, each with a row of its own', async () => {
    const { platform, scope } = await openWithScope();
    await lose(platform, () => configure(platform, scope, { A: '1', B: null }));
    await lose(platform, () => configure(platform, scope, { A: '2' }));
    const open = await platform.adminLog({ outcome: 'unsettled' });
    const { head } = await configure(platform, scope, { A: '3', B: '3' });
    const rows = (await platform.adminLog()).slice(-4);
    expect(rows).toMatchObject([
      { outcome: 'intent' },
      { outcome: 'done', intent: rows[0]?.sequence },
      { outcome: 'superseded', intent: open[0]?.sequence, target: { scope: scope.id }, code: null },
      { outcome: 'superseded', intent: open[1]?.sequence, target: { scope: scope.id } },
    ]);
    expect(head).toEqual({ sequence: rows[3]?.sequence, hash: rows[3]?.hash });
    expect(await platform.adminLog({ outcome: 'unsettled' })).toEqual([]);
    expect(await platform.adminLog({ outcome: 'superseded' })).toHaveLength(2);
    await expectChainToHold(platform);
  });

  test.each<[string, (platform: Platform, scope: ScopeRecord, other: ScopeRecord) => Promise<unknown>]>([
    ['another scope', (platform, _, other) => configure(platform, other, { A: '1' })],
    ['another operation', (platform, scope) => mint(platform, scope)],
    ['a call about other settings', (platform, scope) => configure(platform, scope, { B: '1' })],
  ])('stay open when %s succeeds', async (_, succeed) => {
    const { platform, scope } = await openWithScope();
    await platform.hostname(scope, 'acme.localhost');
    const other = await platform.scope(scope.tenant, 'other');
    await lose(platform, () => configure(platform, scope, { A: '1' }));
    await succeed(platform, scope, other);
    expect(await platform.adminLog({ outcome: 'unsettled' })).toMatchObject([
      { target: { scope: scope.id } },
    ]);
  });

  test('a refusal settles its own intent only: the one before may have happened', async () => {
    const { platform, scope } = await openWithScope();
    await lose(platform, () => configure(platform, scope, { A: '1' }));
    const [open] = await platform.adminLog({ outcome: 'unsettled' });
    platform.fieldwork.fault = async () => problemDocument(new PlatformError('conflict', 'No.'));
    await refusal(configure(platform, scope, { A: '1' }));
    expect(await platform.adminLog({ outcome: 'unsettled' })).toEqual([open]);
  });

  test('one that is still running is not superseded', async () => {
    const { platform, scope } = await openWithScope();
    platform.fieldwork.fault = async (request) => {
      platform.fieldwork.fault = null;
      await configure(platform, scope, { A: '2' });
      expect(await outcomes(platform, 'scopes.configure')).toEqual(['intent', 'intent', 'done']);
      return platform.fieldwork.bound.fetch(request);
    };
    await configure(platform, scope, { A: '1' });
    expect(await outcomes(platform, 'scopes.configure')).toEqual(['intent', 'intent', 'done', 'done']);
    expect(await platform.adminLog({ outcome: 'unsettled' })).toEqual([]);
  });
});

describe('the version of a scope while its settings are being delivered', () => {
  test('of two calls with one tag the second is refused, and the vertical hears of one', async () => {
    const { platform, scope } = await openWithScope();
    const asked = platform.fieldwork.requests.length;
    const ifMatch = `"${scope.etag}"`;
    const [first, second] = await Promise.allSettled([
      configure(platform, scope, { A: '1' }, { ifMatch }),
      configure(platform, scope, { A: '2' }, { ifMatch }),
    ]);
    expect(first).toMatchObject({ status: 'fulfilled', value: { status: 200 } });
    expect(second).toMatchObject({ status: 'rejected', reason: { code: 'precondition_failed' } });
    expect(platform.fieldwork.requests).toHaveLength(asked + 1);
  });

  test('the answer carries the version that is there afterwards', async () => {
    const { platform, scope } = await openWithScope();
    const { etag } = await configure(platform, scope, { A: '1' }, { ifMatch: `"${scope.etag}"` });
    expect((await read(platform, scope)).etag).toBe(etag);
    expect((await configure(platform, scope, { A: '2' }, { ifMatch: `"${etag}"` })).status).toBe(200);
  });

  test('a version that was read in the middle of a delivery matches nothing after it', async () => {
    const { platform, scope } = await openWithScope();
    let seen = '';
    platform.fieldwork.fault = async (request) => {
      seen = (await read(platform, scope)).etag;
      platform.fieldwork.fault = null;
      return platform.fieldwork.bound.fetch(request);
    };
    await configure(platform, scope, { A: '1' });
    expect(seen).not.toBe(scope.etag);
    expect(await refusal(configure(platform, scope, { A: '2' }, { ifMatch: `"${seen}"` }))).toMatchObject({
      status: 412,
    });
  });

  test('two deliveries that overlap leave both callers with a tag that matches nothing', async () => {
    const { platform, scope } = await openWithScope();
    const [first, second] = await Promise.all([
      configure(platform, scope, { A: '1' }),
      configure(platform, scope, { A: '2' }),
    ]);
    for (const { etag } of [first, second])
      expect(await refusal(configure(platform, scope, { A: '3' }, { ifMatch: `"${etag}"` }))).toMatchObject({
        status: 412,
      });
  });

  test('a refusal leaves the record exactly as it was, so that its tag still matches', async () => {
    const { platform, scope } = await openWithScope();
    platform.clock.ms += 1000;
    platform.fieldwork.fault = async () => problemDocument(new PlatformError('conflict', 'No.'));
    await refusal(configure(platform, scope, { A: '1' }));
    expect(await read(platform, scope)).toEqual(scope);
    platform.fieldwork.fault = null;
    expect((await configure(platform, scope, { A: '1' }, { ifMatch: `"${scope.etag}"` })).status).toBe(200);
  });

  test('a refusal does not take back the version of a call that came after it', async () => {
    const { platform, scope } = await openWithScope();
    let etag: string | undefined;
    platform.fieldwork.fault = async () => {
      platform.fieldwork.fault = null;
      etag = (await configure(platform, scope, { A: '2' })).etag;
      return problemDocument(new PlatformError('conflict', 'No.'));
    };
    await refusal(configure(platform, scope, { A: '1' }));
    expect((await read(platform, scope)).etag).toBe(etag);
  });

  test('after an unknown outcome the same call goes through with its old tag, and no other does', async () => {
    const { platform, scope } = await openWithScope();
    const conditional = { ifMatch: `"${scope.etag}"` };
    const attempt = () => configure(platform, scope, { A: '1' }, { ...conditional, key: 'k' });
    platform.fieldwork.fault = async () => {
      throw new TypeError('connection reset');
    };
    expect(await refusal(attempt())).toMatchObject({ reason: 'outcome_unknown' });
    platform.fieldwork.fault = null;
    expect(await refusal(configure(platform, scope, { A: '2' }, conditional))).toMatchObject({ status: 412 });
    expect(
      await refusal(configure(platform, scope, { A: '2' }, { ...conditional, key: 'k2' })),
    ).toMatchObject({ status: 412 });
    expect(await attempt()).toMatchObject({ status: 200, replayed: false });
  });

  test('after an unknown outcome and a change by another caller even the same call is refused', async () => {
    const { platform, scope } = await openWithScope();
    const attempt = () => configure(platform, scope, { A: '1' }, { ifMatch: `"${scope.etag}"`, key: 'k' });
    platform.fieldwork.fault = async () => {
      throw new TypeError('connection reset');
    };
    await refusal(attempt());
    platform.fieldwork.fault = null;
    await configure(platform, scope, { A: '2' });
    expect(await refusal(attempt())).toMatchObject({ status: 412 });
  });
});

describe('spec C-04: a process that dies between the intent and the outcome', () => {
  const crashes: [string, Fault][] = [
    [
      'before the vertical did it',
      (platform) => async () => {
        await platform.tamper(() => undefined);
        throw new TypeError('connection reset');
      },
    ],
    [
      'after the vertical did it',
      (platform) => async (request) => {
        await done(platform.fieldwork, request);
        await platform.tamper(() => undefined);
        throw new TypeError('connection reset');
      },
    ],
    [
      'with the good answer in hand',
      (platform) => async (request) => {
        const response = await done(platform.fieldwork, request);
        await platform.tamper(() => undefined);
        return response;
      },
    ],
  ];
  const retries: [string, CallParts][] = [
    ['the same key', { key: 'k' }],
    ['no key', {}],
    ['another key', { key: 'other' }],
  ];

  for (const [when, crash] of crashes) {
    for (const [how, retry] of retries) {
      test(`${when}: a retry with ${how} finishes the provisioning at once`, async () => {
        const platform = await openPlatform();
        const tenant = await platform.tenant('acme');
        platform.fieldwork.fault = crash(platform);
        expect(await refusal(provision(platform, tenant.id, { key: 'k' }))).toMatchObject({
          reason: 'outcome_unknown',
        });
        platform.fieldwork.fault = null;
        const [open] = await platform.adminLog({ outcome: 'unsettled' });
        expect(open).toMatchObject({ action: 'scopes.provision' });

        const finished = await provision(platform, tenant.id, retry);
        expect(finished).toMatchObject({
          status: 201,
          replayed: false,
          value: { id: open?.target.scope, status: 'active' },
        });
        expect(await outcomes(platform, 'scopes.provision')).toEqual([
          'intent',
          'intent',
          'done',
          'superseded',
        ]);
        expect(await platform.adminLog({ outcome: 'unsettled' })).toEqual([]);
        expect(await provision(platform, tenant.id, retry)).toMatchObject({ value: finished.value });
        await expectChainToHold(platform);
      });

      test(`${when}: a retry with ${how} delivers the settings at once`, async () => {
        const { platform, scope } = await openWithScope();
        const ifMatch = `"${scope.etag}"`;
        platform.fieldwork.fault = crash(platform);
        await refusal(configure(platform, scope, { A: '1' }, { key: 'k', ifMatch }));
        platform.fieldwork.fault = null;
        // Only the key tells that a call is the one before; without it, its condition is stale.
        const isSame = retry.key === 'k';
        if (!isSame)
          expect(await refusal(configure(platform, scope, { A: '1' }, { ...retry, ifMatch }))).toMatchObject({
            status: 412,
          });
        const condition = isSame ? { ifMatch } : {};
        expect(await configure(platform, scope, { A: '1' }, { ...retry, ...condition })).toMatchObject({
          status: 200,
          value: { keys: ['A'] },
        });
        expect(await outcomes(platform, 'scopes.configure')).toEqual([
          'intent',
          'intent',
          'done',
          'superseded',
        ]);
        expect(await platform.adminLog({ outcome: 'unsettled' })).toEqual([]);
        await expectChainToHold(platform);
      });
    }
  }

  test('only the first effect of a process ends leases: those of its own calls last', async () => {
    const { platform, scope } = await openWithScope();
    let meanwhile: unknown;
    platform.fieldwork.fault = async (request) => {
      platform.fieldwork.fault = null;
      await configure(platform, scope, { B: '1' });
      meanwhile = await refusal(configure(platform, scope, { A: '1' }, { key: 'k' }));
      return platform.fieldwork.bound.fetch(request);
    };
    await configure(platform, scope, { A: '1' }, { key: 'k' });
    expect(meanwhile).toMatchObject({ status: 409, reason: 'idempotency_in_progress' });
  });
});
