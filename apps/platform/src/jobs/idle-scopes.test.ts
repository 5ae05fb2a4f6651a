/** Marks over real scopes on the embedded engine: enqueued work is found after any end of a process. */

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
import { AHEAD_MAX_MS, IdleScopes, idleScopesUnit, REST_SQL } from './idle-scopes.ts';

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
    const idleScopes = new IdleScopes({
      engine: breaking ? breaking(engine) : engine,
      now: () => clock.nowMs,
    });
    const unit = makeScopeUnit(vertical);
    const host = makeScopeHost({ engine: idleScopes.watch(engine), unit, now: () => clock.nowMs });
    const build = buildOf(unit);
    const settle = (quietMs = 0, owed: readonly string[] = []) =>
      idleScopes.settle({ quietMs, buildOf: () => build, isOwed: (scope) => owed.includes(scope) });
    const isMarked = async (scope: string = SCOPE, as: string = build) =>
      (await idleScopes.marked([{ vertical: 'bells', scope }], () => as)).get(scope);
    const ring = () =>
      host.scope(SCOPE).invoke({ operation: 'bell/ring', input: {}, principal: 'service:clock' as never });
    return { engine, rest: idleScopes, host, settle, isMarked, ring };
  };
  const provisioned = async () => {
    const process = begin();
    await process.host.provisionScopeLocal({ scopeId: SCOPE, tenantId: TENANT, name: 'Bells' });
    return process;
  };
  return { clock, begin, provisioned };
}

type Call = (input: unknown) => Promise<unknown>;

/** The same engine; one method of its units is replaced. */
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

test('a scope is marked after a round of work that left none, and the next process knows', async () => {
  const fixture = openFixture();
  const { engine, host, settle, isMarked } = await fixture.provisioned();
  expect(await isMarked()).toBeUndefined();
  await host.scope(SCOPE).work({});
  expect(await settle()).toEqual([]);
  expect(await isMarked()).toBe(true);
  expect(await isMarked(SCOPE, 'another build')).toBe(false);
  await engine.close();
  const next = fixture.begin();
  expect(await next.isMarked()).toBe(true);
  expect(next.engine.openUnits).toBe(1);
  await next.engine.close();
});

test('a call that enqueues work removes the mark first: after a crash right behind it the scope is not marked', async () => {
  const fixture = openFixture();
  const first = await fixture.provisioned();
  await first.host.scope(SCOPE).work({});
  await first.settle();
  await first.ring();
  // No settling: a crash would leave this state.
  await first.engine.close();
  const next = fixture.begin();
  expect(await next.isMarked()).toBeUndefined();
  expect((await next.host.scope(SCOPE).work({})).settled).toBe(1);
  await next.engine.close();
});

test('a mark that cannot be removed refuses the call: no work is enqueued in a marked scope', async () => {
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

test('reading leaves the mark of a scope', async () => {
  const fixture = openFixture();
  const { engine, host, settle, isMarked } = await fixture.provisioned();
  await host.scope(SCOPE).work({});
  await settle();
  await host.scope(SCOPE).identify({});
  await host.scope(SCOPE).tables({});
  await settle();
  expect(await isMarked()).toBe(true);
  await engine.close();
});

test('a call after the round, or during it, leaves the queue state unknown, and an owed scope is not marked', async () => {
  const fixture = openFixture();
  const { engine, host, settle, isMarked, ring } = await fixture.provisioned();
  await host.scope(SCOPE).work({});
  await ring();
  expect(await settle()).toEqual([{ vertical: 'bells', scope: SCOPE }]);
  expect(await isMarked()).toBe(false);

  const working = host.scope(SCOPE).work({});
  const ringing = ring();
  await Promise.all([working, ringing]);
  expect(await isMarked()).toBeUndefined();
  await settle();
  expect(await isMarked()).toBe(false);

  await host.scope(SCOPE).work({});
  await settle(0, [SCOPE]);
  expect(await isMarked()).toBeUndefined();
  await settle();
  expect(await isMarked()).toBe(true);
  await engine.close();
});

test('a scope is marked only after it was idle for a while', async () => {
  const fixture = openFixture();
  const { engine, host, settle, isMarked } = await fixture.provisioned();
  await host.scope(SCOPE).work({});
  fixture.clock.nowMs += 599_999;
  await settle(600_000);
  expect(await isMarked()).toBeUndefined();
  fixture.clock.nowMs += 1;
  await settle(600_000);
  expect(await isMarked()).toBe(true);
  await engine.close();
});

test('a call during the marking of its scope leaves no mark', async () => {
  const fixture = openFixture();
  const { engine, host, settle, isMarked, ring } = await fixture.provisioned();
  await host.scope(SCOPE).work({});
  await Promise.all([settle(), ring()]);
  expect(await isMarked()).toBeUndefined();
  await engine.close();
});

test('spec 6.4: a schedule makes a scope due at its time, also in the next process, and once', async () => {
  const fixture = openFixture(bells('0 12 * * *'));
  const first = await fixture.provisioned();
  await first.host.scope(SCOPE).work({});
  await first.settle();
  await first.engine.close();
  const { engine, rest: idleScopes, isMarked } = fixture.begin();
  const noon = Date.parse('2026-11-21T12:00:00.000Z');
  expect(await idleScopes.takeDue()).toEqual({ items: [], nextAtMs: noon });
  fixture.clock.nowMs = noon;
  expect(await idleScopes.takeDue()).toEqual({
    items: [{ scope: SCOPE, vertical: 'bells' }],
    nextAtMs: null,
  });
  expect(await isMarked()).toBe(false);
  expect(await idleScopes.takeDue()).toEqual({ items: [], nextAtMs: null });
  await engine.close();
});

test('a rewound scope has no mark: other work waits in that state', async () => {
  const fixture = openFixture();
  const { engine, host, settle, isMarked } = await fixture.provisioned();
  const { items } = await host.migrationBookmarksLocal({ tenantId: TENANT, scopeId: SCOPE, limit: 1 });
  fixture.clock.nowMs += DAY_MS;
  await host.scope(SCOPE).work({});
  await settle();
  expect(await isMarked()).toBe(true);
  await host.rewindScopeLocal({
    tenantId: TENANT,
    scopeId: SCOPE,
    bookmark: items[0]?.bookmark as string,
  } as never);
  expect(await isMarked()).toBeUndefined();
  await engine.close();
});

test('a scope that does not exist, or not any more, is forgotten', async () => {
  const fixture = openFixture();
  const { engine, host, settle, isMarked } = await fixture.provisioned();
  await host.scope(SCOPE).work({});
  await host.deleteScopeLocal({ tenantId: TENANT, scopeId: SCOPE });
  expect(await settle()).toEqual([]);
  expect(await isMarked()).toBeUndefined();
  await expect(host.scope(OTHER).work({})).rejects.toMatchObject({ code: 'not_found' });
  expect(await settle()).toEqual([]);
  await engine.close();
});

test('an operation that does not find a record leaves its scope known: no mark is removed again', async () => {
  const fixture = openFixture();
  const first = await fixture.provisioned();
  await first.engine.close();
  const taken: unknown[] = [];
  const { engine, host, settle, isMarked } = fixture.begin((inner) =>
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
  expect(await isMarked()).toBe(true);
  await engine.close();
});

test.each([
  ['an operation', { code: 'not_found', reason: 'unknown_bell' }],
  ['the scope itself', { code: 'not_found', reason: 'unknown_scope' }],
])(
  'while a call is in progress its scope is not marked, whatever %s did not find meanwhile',
  async (_, thrown) => {
    const fixture = openFixture();
    const { engine, rest, settle, isMarked } = fixture.begin();
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
    expect(await isMarked()).toBeUndefined();
    going.resolve({});
    await invoking;
    // The call may have enqueued work, and no round has looked since.
    expect(await settle()).toEqual([{ vertical: 'bells', scope: SCOPE }]);
    expect(await isMarked()).toBe(false);
    await engine.close();
  },
);

test('a scope that could not be marked is looked into the next time that it can be', async () => {
  const fixture = openFixture();
  let full = true;
  const { engine, rest, settle, isMarked } = fixture.begin((inner) =>
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
  expect(await isMarked()).toBeUndefined();
  await engine.close();
});

describe('a clock that was ahead', () => {
  const WEEK_MS = 7 * DAY_MS;

  /** A scope whose mark is due at noon of its own day, `aheadMs` from now. */
  const markedAhead = async (aheadMs: number) => {
    const fixture = openFixture(bells('0 12 * * *'));
    fixture.clock.nowMs += aheadMs;
    const first = await fixture.provisioned();
    await first.host.scope(SCOPE).work({});
    await first.settle();
    await first.engine.close();
    fixture.clock.nowMs = BEGIN;
    return fixture.begin();
  };

  test('delays no work: a mark that is due later than any that is set counts as due', async () => {
    const { engine, rest, isMarked } = await markedAhead(365 * DAY_MS);
    expect(await rest.takeDue()).toEqual({ items: [{ scope: SCOPE, vertical: 'bells' }], nextAtMs: null });
    expect(await isMarked()).toBe(false);
    await engine.close();
  });

  test('by less than that delays work by less than that', async () => {
    const { engine, rest } = await markedAhead(3 * DAY_MS);
    const noon = Date.parse('2026-11-24T12:00:00.000Z');
    expect(await rest.takeDue()).toEqual({ items: [], nextAtMs: noon });
    await engine.close();
  });

  test('makes no more scopes due than are taken at once: the others come right after', async () => {
    const fixture = openFixture();
    const { engine, rest } = fixture.begin();
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

  test('does not keep a scope active: its idle time counts from when the clock is right', async () => {
    const fixture = openFixture();
    fixture.clock.nowMs += 365 * DAY_MS;
    const { engine, host, settle, isMarked } = await fixture.provisioned();
    await host.scope(SCOPE).work({});
    fixture.clock.nowMs = BEGIN;
    await settle(600_000);
    expect(await isMarked()).toBeUndefined();
    fixture.clock.nowMs += 600_000;
    await settle(600_000);
    expect(await isMarked()).toBe(true);
    await engine.close();
  });

  test('is told from a yearly schedule: that scope is looked into every week', async () => {
    const fixture = openFixture(bells('0 12 1 6 *'));
    const { engine, host, rest, settle } = await fixture.provisioned();
    await host.scope(SCOPE).work({});
    await settle();
    expect(AHEAD_MAX_MS).toBe(WEEK_MS);
    expect(await rest.takeDue()).toEqual({ items: [], nextAtMs: BEGIN + WEEK_MS });
    fixture.clock.nowMs += WEEK_MS;
    expect((await rest.takeDue()).items).toEqual([{ scope: SCOPE, vertical: 'bells' }]);
    await engine.close();
  });
});

test('units that are no scopes pass untouched', async () => {
  const fixture = openFixture();
  const { engine, rest } = fixture.begin();
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

test.each(Object.entries(REST_SQL))('the statement %s reads no row that it does not return', (name, sql) => {
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
  // The next due scope is the first one of the index.
  expect(plan[0]).toMatch(name === 'nextDue' ? /INDEX resting_scopes_due/ : /^SEARCH .*(PRIMARY KEY|INDEX)/);
  expect(plan.join()).not.toContain('TEMP B-TREE');
});

test('a call that began and ended during a round counts as one after it', async () => {
  const fixture = openFixture();
  const { engine, rest, settle, isMarked } = fixture.begin();
  const round = Promise.withResolvers<unknown>();
  const stub = { work: () => round.promise, invoke: async () => null };
  const double = { ...engine, unit: () => stub } as unknown as Engine & EngineTools;
  const scope = rest.watch(double).unit(makeScopeUnit(bells()), SCOPE);
  const working = scope.work({});
  await scope.invoke({ operation: 'bell/ring', input: {}, principal: 'service:clock' as never });
  round.resolve({ settled: 0, claimed: [], nextAtMs: null });
  await working;
  expect(await settle()).toEqual([{ vertical: 'bells', scope: SCOPE }]);
  expect(await isMarked()).toBe(false);
  await engine.close();
});

test('the engine that notices calls also runs what is to be done before it closes', async () => {
  const { provisioned } = openFixture();
  const { engine, rest } = await provisioned();
  const done: string[] = [];
  rest.watch(engine).beforeClose?.(async () => void done.push('keys handed back'));
  await engine.close();
  expect(done).toEqual(['keys handed back']);
});
