/** Repeats with the same key (design: kernel, "Idempotency and preconditions"; spec D-10). */
import { expect, test } from 'vitest';
import { guest, onScenario, openShop, owner, packer } from './shop.ts';

const key = { idempotencyKey: 'k' };
const boxes = onScenario('boxes', (ctx) => ctx.sql.all('SELECT id FROM boxes').length);

test('a replay is refused to a caller who has lost the permission', async () => {
  await using shop = await openShop();
  const call = () => shop.run(packer, 'box/pack', { label: 'x' }, key);
  const first = await call();
  await shop.scope.revokeRole({ principal: packer, role: 'packer', by: owner });
  await expect(call()).rejects.toMatchObject({ code: 'permission_denied' });
  // Nor does he learn whether the key was used.
  await expect(shop.run(packer, 'box/pack', { label: 'y' }, key)).rejects.toMatchObject({
    code: 'permission_denied',
  });
  expect((await shop.scope.listDenials({ limit: 10 })).items).toHaveLength(2);
  await shop.scope.assignRole({ principal: packer, role: 'packer', by: owner });
  expect(await call()).toEqual({ ...first, replayed: true });
});

test('a key works with schemas that make no JSON of their input, and with a run that changes it', async () => {
  await using shop = await openShop();
  const call = (input: unknown) => shop.run(owner, 'test/dated', input, key);
  const first = await call({ day: '2026-01-01T00:00:00Z' });
  expect(first.output).toEqual({ next: '2026-01-02T00:00:00.000Z' });
  expect(await call({ day: '2026-01-01T00:00:00Z' })).toEqual({ ...first, replayed: true });
  // The sent text counts: the same day in another spelling is another request.
  await expect(call({ day: '2026-01-01' })).rejects.toMatchObject({ reason: 'idempotency_key_reused' });
  expect((await shop.run(owner, 'test/read', { what: boxes })).output).toBe(1);
});

test('the order of members makes no other input', async () => {
  await using shop = await openShop();
  await shop.run(owner, 'test/dated', { day: '2026-01-01', note: ['a'] }, key);
  expect((await shop.run(owner, 'test/dated', { note: ['a'], day: '2026-01-01' }, key)).replayed).toBe(true);
});

test('a replay says what the first answer said, member for member', async () => {
  await using shop = await openShop();
  const output = JSON.parse(
    '{"__proto__":{"admin":true},"zero":0,"text":"\\ud800 \\u0000","deep":[[{"a":null}]]}',
  );
  for (const [name, answer] of [
    ['odd', { ...output, gone: undefined, zero: -0 }],
    ['nothing', undefined],
  ] as const) {
    const what = onScenario(`answer-${name}`, () => answer);
    const first = await shop.run(owner, 'test/run', { what }, { idempotencyKey: name });
    const again = await shop.run(owner, 'test/run', { what }, { idempotencyKey: name });
    expect(Object.is((first.output as { zero?: number } | null)?.zero, -0)).toBe(false);
    expect(again).toStrictEqual({ ...first, replayed: true });
  }
});

test('a key of another form is refused and nothing runs', async () => {
  await using shop = await openShop();
  for (const idempotencyKey of ['', 'a b', 'a\n', 'é', 'x'.repeat(256), 7 as never, null as never]) {
    await expect(shop.run(owner, 'box/pack', { label: 'x' }, { idempotencyKey })).rejects.toMatchObject({
      reason: 'idempotency_key_malformed',
    });
  }
  expect((await shop.run(owner, 'test/read', { what: boxes })).output).toBe(0);
  const idempotencyKey = `~!${'x'.repeat(253)}`;
  expect((await shop.run(owner, 'box/pack', { label: 'x' }, { idempotencyKey })).replayed).toBe(false);
});

test('an answer that is too long to be kept fails the call, and keeps none of its work', async () => {
  await using shop = await openShop();
  const what = onScenario('long', (ctx) => {
    ctx.invoke('box/pack', { label: 'x' });
    return 'x'.repeat(500_000);
  });
  await expect(shop.run(owner, 'test/run', { what }, key)).rejects.toMatchObject({ code: 'internal' });
  expect(String(shop.incidents[0])).toContain('operation test/run: its answer has 5000');
  expect((await shop.run(owner, 'test/read', { what: boxes })).output).toBe(0);
  // Without a key nothing has to be kept.
  await shop.run(owner, 'test/run', { what });
});

test('two calls with one key in one group are one effect', async () => {
  await using shop = await openShop();
  const results = await Promise.all([1, 2, 3].map(() => shop.run(owner, 'box/pack', { label: 'x' }, key)));
  expect(results.map((result) => result.replayed)).toEqual([false, true, true]);
  expect(new Set(results.map((result) => result.invocation)).size).toBe(1);
});

test('a call that was refused leaves its key free', async () => {
  await using shop = await openShop();
  await expect(shop.run(guest, 'box/pack', { label: 'x' }, key)).rejects.toMatchObject({
    code: 'permission_denied',
  });
  await shop.scope.assignRole({ principal: guest, role: 'packer', by: owner });
  expect((await shop.run(guest, 'box/pack', { label: 'other' }, key)).replayed).toBe(false);
});

test('results of more than 24 hours ago are cleared away a few at a time', async () => {
  await using shop = await openShop();
  const stored = onScenario('stored', (ctx) => ctx.sql.all('SELECT key FROM _spine_idempotency').length);
  const pack = (n: number) => shop.run(owner, 'box/pack', { label: 'x' }, { idempotencyKey: `k${n}` });
  await Promise.all(Array.from({ length: 30 }, (_, n) => pack(n)));
  shop.clock.ms += 24 * 60 * 60 * 1000;
  await pack(100);
  expect((await shop.run(owner, 'test/read', { what: stored })).output).toBe(11);
  await pack(101);
  expect((await shop.run(owner, 'test/read', { what: stored })).output).toBe(2);
});
