/** Requests of a scope to the platform, and the platform's projections into a scope. */
import type { PlatformRequest } from '@freehold/contracts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PENDING_MAX } from '../src/platform-requests/requests.ts';
import { onScenario, openShop, owner } from './shop.ts';

type Shop = Awaited<ReturnType<typeof openShop>>;

let count = 0;
/** Runs a piece of work as an operation. */
const act = async (shop: Shop, work: Parameters<typeof onScenario>[1], extra = {}) =>
  (await shop.run(owner, 'test/run', { what: onScenario(`request-${count++}`, work) }, extra)).output;

const ask = async (shop: Shop, kind = 'mail.send', payload: unknown = { to: 'a customer' }) =>
  (await act(shop, (ctx) => ctx.requestPlatform(kind, payload as never))) as string;

// spec D-22
test('a request stands with the operation that made it, and is gone with one that failed', async () => {
  await using shop = await openShop();
  const id = await ask(shop);
  await expect(
    act(shop, (ctx) => {
      ctx.requestPlatform('mail.send');
      throw new Error('no');
    }),
  ).rejects.toMatchObject({ code: 'internal' });
  expect((await shop.scope.listPlatformRequests({ limit: 10 })).items).toEqual([
    {
      id,
      kind: 'mail.send',
      payload: { to: 'a customer' },
      status: 'pending',
      revision: 1,
      requestedBy: owner,
      invocation: expect.stringMatching(/^inv_/),
      cause: null,
      at: '2026-01-01T00:00:00.000Z',
      settledAt: null,
      result: null,
    },
  ]);
});

test('those that wait are listed oldest first, all of them newest first, narrowed by kind and status', async () => {
  await using shop = await openShop();
  const ids: string[] = [];
  for (let i = 0; i < 6; i++) ids.push(await ask(shop, i % 2 === 0 ? 'mail.send' : 'hostname.bind'));
  const settle = (id: string | undefined, status: 'done' | 'failed') =>
    shop.scope.settlePlatformRequest({ id: id as string, revision: 1, status });
  await settle(ids[0], 'done');
  await settle(ids[1], 'failed');
  const idsOf = ({ items }: { items: PlatformRequest[] }) => items.map(({ id }) => ids.indexOf(id));
  expect(idsOf(await shop.scope.listPlatformRequests({ limit: 10 }))).toEqual([2, 3, 4, 5]);
  expect(idsOf(await shop.scope.listPlatformRequests({ limit: 10, kind: 'mail.send' }))).toEqual([2, 4]);
  expect(idsOf(await shop.scope.platformRequestHistory({ limit: 10 }))).toEqual([5, 4, 3, 2, 1, 0]);
  expect(idsOf(await shop.scope.platformRequestHistory({ limit: 10, status: 'failed' }))).toEqual([1]);
  expect(idsOf(await shop.scope.platformRequestHistory({ limit: 10, kind: 'mail.send' }))).toEqual([4, 2, 0]);
  const first = await shop.scope.platformRequestHistory({ limit: 2, kind: 'mail.send' });
  expect(idsOf(first)).toEqual([4, 2]);
  const cursor = first.nextCursor as string;
  expect(idsOf(await shop.scope.platformRequestHistory({ limit: 2, kind: 'mail.send', cursor }))).toEqual([
    0,
  ]);
});

test('an answer is given once: by the revision that was seen, and again only the same', async () => {
  await using shop = await openShop();
  const id = await ask(shop);
  const answer = { id, revision: 1, status: 'done', result: { sent: true } } as const;
  await expect(shop.scope.settlePlatformRequest({ ...answer, revision: 2 })).rejects.toMatchObject({
    code: 'precondition_failed',
  });
  shop.clock.ms += 1_000;
  const settled = await shop.scope.settlePlatformRequest(answer);
  expect(settled).toMatchObject({
    status: 'done',
    revision: 2,
    result: { sent: true },
    settledAt: '2026-01-01T00:00:01.000Z',
  });
  expect(await shop.scope.settlePlatformRequest(answer)).toEqual(settled);
  for (const other of [{ status: 'failed' as const }, { result: { sent: false } }, { revision: 2 }]) {
    await expect(shop.scope.settlePlatformRequest({ ...answer, ...other })).rejects.toMatchObject({
      code: 'invalid_transition',
      reason: 'already_settled',
    });
  }
  await expect(
    shop.scope.settlePlatformRequest({ ...answer, id: id.replace(/.$/, id.endsWith('0') ? '1' : '0') }),
  ).rejects.toMatchObject({ code: 'not_found' });
});

test('of many that settle one request, exactly one is heard', async () => {
  await using shop = await openShop();
  const id = await ask(shop);
  const answers = await Promise.allSettled(
    Array.from({ length: 20 }, (_, i) =>
      shop.scope.settlePlatformRequest({ id, revision: 1, status: 'done', result: { by: i } }),
    ),
  );
  expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
});

test('an operation reads the answer to what it asked', async () => {
  await using shop = await openShop();
  const id = await ask(shop);
  await shop.scope.settlePlatformRequest({ id, revision: 1, status: 'refused', result: { why: 'no' } });
  const seen = await act(shop, (ctx) =>
    ctx.platformRequests({ kind: 'mail.send' }).map(({ status, result }) => ({ status, result })),
  );
  expect(seen).toEqual([{ status: 'refused', result: { why: 'no' } }]);
});

test('a scope that asks faster than it is answered is told to wait, and goes on once it is answered', async () => {
  await using shop = await openShop();
  await act(shop, (ctx) => {
    for (let i = 0; i < PENDING_MAX; i++) ctx.requestPlatform('mail.send');
  });
  await expect(ask(shop)).rejects.toMatchObject({ code: 'rate_limited', reason: 'platform_requests_full' });
  const [oldest] = (await shop.scope.listPlatformRequests({ limit: 1 })).items;
  await shop.scope.settlePlatformRequest({ id: oldest?.id as string, revision: 1, status: 'done' });
  await ask(shop);
});

test('a read-only operation asks for nothing, and a kind that is none fails loudly', async () => {
  await using shop = await openShop();
  const what = onScenario('asks while reading', (ctx) => ctx.requestPlatform('mail.send'));
  await expect(shop.run(owner, 'test/read', { what })).rejects.toMatchObject({ code: 'internal' });
  await expect(ask(shop, 'Send Mail')).rejects.toMatchObject({ code: 'internal' });
});

test('any JSON that is asked comes out as it went in', async () => {
  await using shop = await openShop();
  await fc.assert(
    fc.asyncProperty(fc.jsonValue({ maxDepth: 3 }), async (payload) => {
      const plain = JSON.parse(JSON.stringify(payload));
      const id = await ask(shop, 'mail.send', plain);
      const [newest] = (await shop.scope.platformRequestHistory({ limit: 1 })).items;
      expect(newest).toMatchObject({ id });
      expect(newest?.payload).toEqual(plain);
    }),
    { numRuns: 30 },
  );
});

test('settings and entitlements are what was projected last, and an entitlement ends', async () => {
  await using shop = await openShop();
  const read = () =>
    act(shop, (ctx) => ({
      settings: ctx.settings,
      seats: ctx.entitlement('seats'),
      plan: ctx.entitlement('plan'),
    }));
  expect(await read()).toEqual({ settings: {}, seats: null, plan: null });
  await shop.scope.projectSettings({ settings: { COLOUR: 'green', SIZE: '4' } });
  await shop.scope.projectEntitlements({
    entitlements: { seats: { value: 5 }, plan: { value: { tier: 'pro' }, expiresAtMs: shop.clock.ms + 10 } },
  });
  expect(await read()).toEqual({ settings: { COLOUR: 'green', SIZE: '4' }, seats: 5, plan: { tier: 'pro' } });
  shop.clock.ms += 10;
  expect(await read()).toMatchObject({ plan: null });
  await shop.scope.projectSettings({ settings: { COLOUR: 'red' } });
  expect(await read()).toMatchObject({ settings: { COLOUR: 'red' }, seats: 5 });
});

test('a projection that is too large changes nothing', async () => {
  await using shop = await openShop();
  await shop.scope.projectSettings({ settings: { COLOUR: 'green' } });
  const many = Object.fromEntries(Array.from({ length: 201 }, (_, i) => [`K${i}`, 'v']));
  for (const settings of [many, { '': 'x' }, { LONG: 'x'.repeat(16_385) }]) {
    await expect(shop.scope.projectSettings({ settings })).rejects.toMatchObject({
      code: 'validation_failed',
      reason: 'projection_invalid',
    });
  }
  expect(await act(shop, (ctx) => ctx.settings)).toEqual({ COLOUR: 'green' });
});
