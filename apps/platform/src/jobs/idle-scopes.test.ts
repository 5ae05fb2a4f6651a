/** The mark over real scopes on the embedded engine: what is put in line is found after any end of a process. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { PlatformError, type ScopeId, type TenantId } from '@freehold/contracts';
import { openNodeEngine } from '@freehold/engine-node';
import { defineOperations, defineVertical, makeScopeHost, makeScopeUnit, operation } from '@freehold/kernel';
import { defineUnit, type Engine, type EngineTools } from '@freehold/store';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { buildOf } from './deliveries.ts';
import { makeIdleScopes } from './idle-scopes.ts';
import { AHEAD_MAX_MS, idleScopesUnit, REST_SQL } from './idle-scopes-unit.ts';

const DAY_MS = 86_400_000;
const TENANT = 'tnt_01j00000000000000000000001' as TenantId;
const SCOPE = 'scp_01j00000000000000000000001' as ScopeId;
const OTHER = 'scp_01j00000000000000000000002' as ScopeId;
const BEGIN = Date.parse('2026-11-21T08:00:00.000Z');

const bells = (cron?: string) =>
  defineVertical({
    manifest: {
      slug: 'bells',
      name: 'Bells',
      version: '1.0.0',
      permissions: { 'bell.ring': 'Ring it', 'bell.hear': 'Hear it' },
      roles: { owner: { name: 'Owner', permissions: ['bell.ring', 'bell.hear'] } },
      ownerRole: 'owner',
      entities: { bell: {} },
      services: { clock: { name: 'The clock', permissions: ['bell.ring', 'bell.hear'] } },
      env: {},
    },
    migrations: [],
    operations: defineOperations({
      'bell/ring': operation({
        summary: 'Ring the bell',
        input: z.strictObject({}),
        output: z.object({}),
        permission: 'bell.ring',
        run: (ctx) => {
          ctx.emit({ type: 'bell.rung', entity: { type: 'bell', id: 'bel_1' }, payload: {} });
          return {};
        },
      }),
      'bell/find': operation({
        summary: 'Find a bell',
        input: z.strictObject({}),
        output: z.object({}),
        permission: 'bell.ring',
        run: () => {
          throw new PlatformError('not_found', 'There is no such bell.', { reason: 'unknown_bell' });
        },
      }),
      'bell/hear': operation({
        summary: 'Hear the bell',
        input: z.strictObject({ event: z.string() }),
        output: z.object({}),
        permission: 'bell.hear',
        run: () => ({}),
      }),
    }),
    subscriptions: { ears: { on: ['bell.rung'], as: 'clock', operation: 'bell/hear' } },
    ...(cron === undefined ? {} : { schedules: { noon: { cron, operation: 'bell/ring', as: 'clock' } } }),
  });

/** A directory, and processes over it one after the other. */
function openFixture(vertical = bells()) {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-rest-'));
  onTestFinished(() => rmSync(dataDirectory, { recursive: true }));
  const clock = { nowMs: BEGIN };
  const begin = (breaking?: (engine: Engine & EngineTools) => Engine) => {
    const engine = openNodeEngine({ dataDirectory, now: () => clock.nowMs, onIncident: () => undefined });
    const idleScopes = makeIdleScopes({
      engine: breaking ? breaking(engine) : engine,
      now: () => clock.nowMs,
    });
    const unit = makeScopeUnit(vertical);
    const host = makeScopeHost({ engine: idleScopes.watch(engine), unit, now: () => clock.nowMs });
    const build = buildOf(unit);
    const settle = (quietMs = 0, owed: readonly string[] = []) =>
      idleScopes.settle({ quietMs, buildOf: () => build, isOwed: (scope) => owed.includes(scope) });
    const rests = async (scope: string = SCOPE, as: string = build) =>
      (await idleScopes.resting([{ vertical: 'bells', scope }], () => as)).get(scope);
    const ring = () =>
      host.scope(SCOPE).invoke({ operation: 'bell/ring', input: {}, principal: 'service:clock' as never });
    return { engine, rest: idleScopes, host, settle, rests, ring };
  };
  const provisioned = async () => {
    const process = begin();
    await process.host.provisionScopeLocal({ scopeId: SCOPE, tenantId: TENANT, name: 'Bells' });
    return process;
  };
  return { clock, begin, provisioned };
}

type Call = (input: unknown) => Promise<unknown>;

/** The same engine; one method of its units is another. */
function meddling(engine: Engine, name: string, method: (input: unknown, call: Call) => unknown): Engine {
  return {
    ...engine,
    unit: (definition, key, options) =>
      new Proxy(engine.unit(definition, key, options), {
        get: (target, asked) => {
          const call: unknown = Reflect.get(target, asked);
          return asked === name ? (input: unknown) => method(input, call as Call) : call;
        },
      }),
  };
}

test('a scope rests after a round of work with which nothing was left, and the next process knows', async () => {
  const fixture = openFixture();
  const { engine, host, settle, rests } = await fixture.provisioned();
  expect(await rests()).toBeUndefined();
  await host.scope(SCOPE).work({});
  expect(await settle()).toEqual([]);
  expect(await rests()).toBe(true);
  expect(await rests(SCOPE, 'another build')).toBe(false);
  await engine.close();
  const next = fixture.begin();
  expect(await next.rests()).toBe(true);
  expect(next.engine.openUnits).toBe(1);
  await next.engine.close();
});

test('what is put in line wakes it first: a crash right after the call leaves no scope at rest', async () => {
  const fixture = openFixture();
  const first = await fixture.provisioned();
  await first.host.scope(SCOPE).work({});
  await first.settle();
  await first.ring();
  // Nothing was settled: that is how a crash would leave it.
  await first.engine.close();
  const next = fixture.begin();
  expect(await next.rests()).toBeUndefined();
  expect((await next.host.scope(SCOPE).work({})).settled).toBe(1);
  await next.engine.close();
});

test('a mark that cannot be taken away refuses the call: nothing is put in line in a scope that rests', async () => {
  const fixture = openFixture();
  const first = await fixture.provisioned();
  await first.host.scope(SCOPE).work({});
  await first.settle();
  await first.engine.close();
  const broken = fixture.begin((engine) => ({
    ...engine,
    unit: (definition, key, options) =>
      ({
        ...engine.unit(definition, key, options),
        disturb: () => Promise.reject(new Error('full')),
      }) as never,
  }));
  await expect(broken.ring()).rejects.toThrow('full');
  await expect(broken.ring()).rejects.toThrow('full');
  await broken.engine.close();
  const next = fixture.begin();
  expect(
    (await next.host.scope(SCOPE).history({ entity: { type: 'bell', id: 'bel_1' }, limit: 5 })).items,
  ).toEqual([]);
  await next.engine.close();
});

test('reading leaves a scope at rest', async () => {
  const fixture = openFixture();
  const { engine, host, settle, rests } = await fixture.provisioned();
  await host.scope(SCOPE).work({});
  await settle();
  await host.scope(SCOPE).identify({});
  await host.scope(SCOPE).tables({});
  await settle();
  expect(await rests()).toBe(true);
  await engine.close();
});

test('a call after the round, or during it, leaves open whether anything waits, and what is owed keeps a scope awake', async () => {
  const fixture = openFixture();
  const { engine, host, settle, rests, ring } = await fixture.provisioned();
  await host.scope(SCOPE).work({});
  await ring();
  expect(await settle()).toEqual([{ vertical: 'bells', scope: SCOPE }]);
  expect(await rests()).toBe(false);

  const working = host.scope(SCOPE).work({});
  const ringing = ring();
  await Promise.all([working, ringing]);
  expect(await rests()).toBeUndefined();
  await settle();
  expect(await rests()).toBe(false);

  await host.scope(SCOPE).work({});
  await settle(0, [SCOPE]);
  expect(await rests()).toBeUndefined();
  await settle();
  expect(await rests()).toBe(true);
  await engine.close();
});

test('only who was quiet for a while is put to rest', async () => {
  const fixture = openFixture();
  const { engine, host, settle, rests } = await fixture.provisioned();
  await host.scope(SCOPE).work({});
  fixture.clock.nowMs += 599_999;
  await settle(600_000);
  expect(await rests()).toBeUndefined();
  fixture.clock.nowMs += 1;
  await settle(600_000);
  expect(await rests()).toBe(true);
  await engine.close();
});

test('a call that comes while somebody is put to rest finds it awake when it is done', async () => {
  const fixture = openFixture();
  const { engine, host, settle, rests, ring } = await fixture.provisioned();
  await host.scope(SCOPE).work({});
  await Promise.all([settle(), ring()]);
  expect(await rests()).toBeUndefined();
  await engine.close();
});

test('spec 6.4: a schedule makes a scope due at its time, also in the next process, and once', async () => {
  const fixture = openFixture(bells('0 12 * * *'));
  const first = await fixture.provisioned();
  await first.host.scope(SCOPE).work({});
  await first.settle();
  await first.engine.close();
  const { engine, rest: idleScopes, rests } = fixture.begin();
  const noon = Date.parse('2026-11-21T12:00:00.000Z');
  expect(await idleScopes.takeDue()).toEqual({ items: [], nextAtMs: noon });
  fixture.clock.nowMs = noon;
  expect(await idleScopes.takeDue()).toEqual({
    items: [{ scope: SCOPE, vertical: 'bells' }],
    nextAtMs: null,
  });
  expect(await rests()).toBe(false);
  expect(await idleScopes.takeDue()).toEqual({ items: [], nextAtMs: null });
  await engine.close();
});

test('a scope that is taken back in time is awake: other things wait in that state', async () => {
  const house = openFixture();
  const { engine, host, settle, rests } = await house.provisioned();
  const { items } = await host.migrationBookmarksLocal({ tenantId: TENANT, scopeId: SCOPE, limit: 1 });
  house.clock.nowMs += DAY_MS;
  await host.scope(SCOPE).work({});
  await settle();
  expect(await rests()).toBe(true);
  await host.rewindScopeLocal({
    tenantId: TENANT,
    scopeId: SCOPE,
    bookmark: items[0]?.bookmark as string,
  } as never);
  expect(await rests()).toBeUndefined();
  await engine.close();
});

test('a scope that is not there, or not any more, is forgotten', async () => {
  const house = openFixture();
  const { engine, host, settle, rests } = await house.provisioned();
  await host.scope(SCOPE).work({});
  await host.deleteScopeLocal({ tenantId: TENANT, scopeId: SCOPE });
  expect(await settle()).toEqual([]);
  expect(await rests()).toBeUndefined();
  await expect(host.scope(OTHER).work({})).rejects.toMatchObject({ code: 'not_found' });
  expect(await settle()).toEqual([]);
  await engine.close();
});

test('an operation that does not find something leaves its scope known: no mark is taken away again', async () => {
  const house = openFixture();
  const first = await house.provisioned();
  await first.engine.close();
  const taken: unknown[] = [];
  const { engine, host, settle, rests } = house.begin((inner) =>
    meddling(inner, 'disturb', (input, call) => {
      taken.push(input);
      return call(input);
    }),
  );
  const find = () =>
    host.scope(SCOPE).invoke({ operation: 'bell/find', input: {}, principal: 'service:clock' as never });
  for (let call = 0; call < 5; call++) await expect(find()).rejects.toMatchObject({ code: 'not_found' });
  expect(taken).toEqual([{ scope: SCOPE }]);
  await host.scope(SCOPE).work({});
  expect(await settle()).toEqual([]);
  expect(await rests()).toBe(true);
  await engine.close();
});

test.each([
  ['an operation', { code: 'not_found', reason: 'unknown_bell' }],
  ['the scope itself', { code: 'not_found', reason: 'unknown_scope' }],
])(
  'while a call is under way a scope does not rest, whatever %s did not find meanwhile',
  async (_, thrown) => {
    const house = openFixture();
    const { engine, rest, settle, rests } = house.begin();
    const going = Promise.withResolvers<unknown>();
    const stub = {
      invoke: () => going.promise,
      find: () => Promise.reject(Object.assign(new Error('It is not there.'), thrown)),
      work: async () => ({ settled: 0, claimed: [], nextAtMs: null }),
    };
    const double = { ...engine, unit: () => stub } as unknown as Engine & EngineTools;
    const scope = rest.watch(double).unit(makeScopeUnit(bells()), SCOPE) as unknown as typeof stub;
    const invoking = scope.invoke();
    await expect(scope.find()).rejects.toThrow('It is not there.');
    await scope.work();
    await settle();
    expect(await rests()).toBeUndefined();
    going.resolve({});
    await invoking;
    // Whether it put something in line nobody has looked yet.
    expect(await settle()).toEqual([{ vertical: 'bells', scope: SCOPE }]);
    expect(await rests()).toBe(false);
    await engine.close();
  },
);

test('who could not be put to rest is looked into the next time that it can be done', async () => {
  const house = openFixture();
  let full = true;
  const { engine, rest, settle, rests } = house.begin((inner) =>
    meddling(inner, 'markIdle', (input, call) => (full ? Promise.reject(new Error('full')) : call(input))),
  );
  const stub = { invoke: async () => null };
  const double = { ...engine, unit: () => stub } as unknown as Engine & EngineTools;
  const scope = rest.watch(double).unit(makeScopeUnit(bells()), SCOPE) as unknown as typeof stub;
  await scope.invoke();
  await expect(settle()).rejects.toThrow('full');
  full = false;
  expect(await settle()).toEqual([{ vertical: 'bells', scope: SCOPE }]);
  expect(await settle()).toEqual([]);
  expect(await rests()).toBeUndefined();
  await engine.close();
});

describe('a clock that was ahead', () => {
  const WEEK_MS = 7 * DAY_MS;

  /** A scope that is put to rest until noon of its own day, `aheadMs` from now. */
  const markedAhead = async (aheadMs: number) => {
    const house = openFixture(bells('0 12 * * *'));
    house.clock.nowMs += aheadMs;
    const first = await house.provisioned();
    await first.host.scope(SCOPE).work({});
    await first.settle();
    await first.engine.close();
    house.clock.nowMs = BEGIN;
    return house.begin();
  };

  test('keeps no scope from its work: a time that is further away than any is set has come', async () => {
    const { engine, rest, rests } = await markedAhead(365 * DAY_MS);
    expect(await rest.takeDue()).toEqual({ items: [{ scope: SCOPE, vertical: 'bells' }], nextAtMs: null });
    expect(await rests()).toBe(false);
    await engine.close();
  });

  test('by less than that costs less than that', async () => {
    const { engine, rest } = await markedAhead(3 * DAY_MS);
    const noon = Date.parse('2026-11-24T12:00:00.000Z');
    expect(await rest.takeDue()).toEqual({ items: [], nextAtMs: noon });
    await engine.close();
  });

  test('leaves no more than are taken at once: the others come right after', async () => {
    const house = openFixture();
    const { engine, rest } = house.begin();
    const ids = Array.from({ length: 450 }, (_, index) => `s${index}`);
    const marks = engine.unit(idleScopesUnit, 'main', { create: true });
    const dueAtMs = BEGIN + 365 * DAY_MS;
    await marks.markIdle({
      items: ids.map((scope) => ({ scope, vertical: 'bells', build: 'b', dueAtMs })),
    });
    const taken = [await rest.takeDue(), await rest.takeDue(), await rest.takeDue()];
    expect(taken.map(({ items, nextAtMs }) => [items.length, nextAtMs])).toEqual([
      [200, BEGIN],
      [200, BEGIN],
      [50, null],
    ]);
    await engine.close();
  });

  test('does not keep a scope awake: it is quiet from when the clock is right', async () => {
    const house = openFixture();
    house.clock.nowMs += 365 * DAY_MS;
    const { engine, host, settle, rests } = await house.provisioned();
    await host.scope(SCOPE).work({});
    house.clock.nowMs = BEGIN;
    await settle(600_000);
    expect(await rests()).toBeUndefined();
    house.clock.nowMs += 600_000;
    await settle(600_000);
    expect(await rests()).toBe(true);
    await engine.close();
  });

  test('is told from a schedule of once a year: that one is looked at every week', async () => {
    const house = openFixture(bells('0 12 1 6 *'));
    const { engine, host, rest, settle } = await house.provisioned();
    await host.scope(SCOPE).work({});
    await settle();
    expect(AHEAD_MAX_MS).toBe(WEEK_MS);
    expect(await rest.takeDue()).toEqual({ items: [], nextAtMs: BEGIN + WEEK_MS });
    house.clock.nowMs += WEEK_MS;
    expect((await rest.takeDue()).items).toEqual([{ scope: SCOPE, vertical: 'bells' }]);
    await engine.close();
  });
});

test('units that are no scopes pass untouched', async () => {
  const house = openFixture();
  const { engine, rest } = house.begin();
  const plain = defineUnit({
    kind: 'plain',
    migrations: [],
    queries: [],
    open: () => ({ ask: () => 'answer' }),
  });
  const watched = rest.watch(engine).unit(plain, 'one', { create: true });
  expect(await watched.ask()).toBe('answer');
  expect(await rest.settle({ quietMs: 0, buildOf: () => 'b', isOwed: () => false })).toEqual([]);
  await engine.close();
});

test.each(Object.entries(REST_SQL))('the statement %s reads no row that it does not answer', (name, sql) => {
  const database = new DatabaseSync(':memory:');
  for (const { migrations } of idleScopesUnit.migrations)
    for (const each of migrations) database.exec(each.sql);
  const params = { resting: ['[]'], due: [0, 1], ahead: [0, 1], nextDue: [] }[name] ?? [];
  const plan = database
    .prepare(`EXPLAIN QUERY PLAN ${sql}`)
    .all(...params)
    .map(({ detail }) => String(detail))
    .filter((detail) => detail.includes('resting_scopes'));
  expect(plan).toHaveLength(1);
  // The next one that is due is the first of the index.
  expect(plan[0]).toMatch(name === 'nextDue' ? /INDEX resting_scopes_due/ : /^SEARCH .*(PRIMARY KEY|INDEX)/);
  expect(plan.join()).not.toContain('TEMP B-TREE');
});

test('a call that began and ended while a round was under way counts as one after it', async () => {
  const house = openFixture();
  const { engine, rest, settle, rests } = house.begin();
  const round = Promise.withResolvers<unknown>();
  const stub = { work: () => round.promise, invoke: async () => null };
  const double = { ...engine, unit: () => stub } as unknown as Engine & EngineTools;
  const scope = rest.watch(double).unit(makeScopeUnit(bells()), SCOPE);
  const working = scope.work({});
  await scope.invoke({ operation: 'bell/ring', input: {}, principal: 'service:clock' as never });
  round.resolve({ settled: 0, claimed: [], nextAtMs: null });
  await working;
  expect(await settle()).toEqual([{ vertical: 'bells', scope: SCOPE }]);
  expect(await rests()).toBe(false);
  await engine.close();
});
