/** A unit's own work in its object: done at its time, also when the object has died since. */
import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, test } from 'vitest';
import { makeScopeHost, makeUnitVault } from '../../kernel/src/index.ts';
import { libraryUnit, libraryVaultUnit, observed } from '../../testkit/src/scope-contract/index.ts';
import { librarian, newScopeId, tenant } from '../../testkit/src/scope-contract/world.ts';
import { tickingUnit, ticks } from './ticking-unit.ts';
import { ahead, openScopeEngine, scopeNow } from './worker.ts';

const HOUR_MS = 3_600_000;

beforeEach(() => {
  observed.incidents.length = 0;
  ticks.length = 0;
});

/** Returns the time of an object's alarm on the clock of its unit, or null. */
async function alarmOf(key: string): Promise<number | null> {
  const atMs = await runInDurableObject(env.TICKING.getByName(key), (_, { storage }) => storage.getAlarm());
  return atMs === null ? null : atMs + ahead.ms;
}

/** Opens a ticking unit; opening it lets it work once. */
async function openTicking(key: string) {
  const unit = openScopeEngine().unit(tickingUnit, key, { create: true });
  await unit.done({});
  await expect.poll(() => ticks).toContain(key);
  await expect.poll(() => alarmOf(key)).toBeNull();
  return unit;
}

describe('an object', () => {
  test('looks once for work when it is opened, and sets no alarm when there is none', async () => {
    await openTicking('idle');
    expect(ticks).toEqual(['idle']);
    expect(await alarmOf('idle')).toBeNull();
  });

  test('is woken by a call once it is committed, and not by one that was rolled back', async () => {
    const unit = await openTicking('woken');
    await expect(unit.hurry({ fail: true })).rejects.toMatchObject({ code: 'conflict' });
    expect(await alarmOf('woken')).toBeNull();
    expect(ticks).toEqual(['woken']);
    await unit.hurry({});
    await expect.poll(() => unit.done({})).toBe(1);
    expect(ticks).toEqual(['woken', 'woken']);
  });

  test('works when it is time, and sets its alarm to when there is work again', async () => {
    const unit = await openTicking('timed');
    const firstMs = scopeNow() + HOUR_MS;
    await unit.plan({ atMs: firstMs });
    await unit.plan({ atMs: firstMs + HOUR_MS });
    await abortAllDurableObjects();
    // After it reopened, it looks for work, and finds the time of the next.
    expect(await unit.done({}).catch(() => unit.done({}))).toBe(0);
    await expect.poll(async () => Math.abs(((await alarmOf('timed')) ?? 0) - firstMs) < 1_000).toBe(true);
    ahead.ms += HOUR_MS + 1_000;
    expect(await runDurableObjectAlarm(env.TICKING.getByName('timed'))).toBe(true);
    expect(await unit.done({})).toBe(1);
    await expect
      .poll(async () => Math.abs(((await alarmOf('timed')) ?? 0) - firstMs - HOUR_MS) < 1_000)
      .toBe(true);
  });

  test('whose work fails tries again, and reports unexpected errors to the operator', async () => {
    const unit = await openTicking('failing');
    await unit.plan({ atMs: 0, fails: 1 });
    await abortAllDurableObjects();
    await unit.done({}).catch(() => unit.done({}));
    await expect.poll(async () => (await alarmOf('failing')) ?? 0).toBeGreaterThan(scopeNow());
    expect(await unit.done({})).toBe(0);
    await unit.repair({});
    expect(await runDurableObjectAlarm(env.TICKING.getByName('failing'))).toBe(true);
    expect(await unit.done({})).toBe(1);
    expect(await alarmOf('failing')).toBeNull();
  });

  test('of a unit that was removed rings no more', async () => {
    const unit = await openTicking('removed');
    await unit.plan({ atMs: scopeNow() + HOUR_MS });
    await runInDurableObject(env.TICKING.getByName('removed'), (_, { storage }) =>
      storage.setAlarm(Date.now() + HOUR_MS),
    );
    await openScopeEngine().tools(tickingUnit, 'removed').remove();
    expect(await alarmOf('removed')).toBeNull();
    await expect(openScopeEngine().unit(tickingUnit, 'removed').done({})).rejects.toMatchObject({
      code: 'not_found',
    });
    expect(await alarmOf('removed')).toBeNull();
  });
});

describe('a scope in its object', () => {
  const openScope = async () => {
    const engine = openScopeEngine(env.WORKING);
    const host = makeScopeHost({
      engine,
      unit: libraryUnit,
      now: scopeNow,
      vault: makeUnitVault((tenantId) => engine.unit(libraryVaultUnit, tenantId, { create: true })),
    });
    const ref = { tenantId: tenant, scopeId: newScopeId() };
    await host.provisionScopeLocal({ ...ref, name: 'By itself' });
    await host.scope(ref.scopeId).assignRole({ principal: librarian, role: 'librarian', by: 'platform' });
    const run = async (operation: string, input: unknown) =>
      (await host.operations(ref.scopeId, librarian).invoke({ operation, input })).output;
    const countOf = async (type: string) =>
      (await host.facetEventsLocal({ ...ref, groupBy: 'type', type })).total;
    const waiting = async () =>
      (await host.introspectScopeTables(ref)).find(({ name }) => name === '_spine_deliveries')?.rows;
    const lend = async (title: string) => run('book/lend', await run('book/add', { title }));
    return { host, ref, lend, countOf, waiting };
  };

  test('delivers to its subscribers and its executors by itself', async () => {
    const { lend, countOf, waiting } = await openScope();
    await lend('Emma');
    await expect.poll(() => countOf('loan.reminded')).toBe(1);
    await expect.poll(waiting).toBe(0);
    await lend('Persuasion');
    await expect.poll(() => countOf('loan.reminded')).toBe(2);
    expect(observed.incidents).toEqual([]);
  });

  test('runs its schedules, and goes on after its object died', async () => {
    const { countOf, lend } = await openScope();
    ahead.ms += 2_000;
    await expect.poll(() => countOf('library.tidied'), { timeout: 10_000 }).toBeGreaterThan(0);
    await abortAllDurableObjects();
    const before = await countOf('library.tidied').catch(() => countOf('library.tidied'));
    ahead.ms += 2_000;
    await expect.poll(() => countOf('library.tidied'), { timeout: 10_000 }).toBeGreaterThan(before);
    await lend('Emma');
    await expect.poll(() => countOf('loan.reminded')).toBe(1);
  });
});
