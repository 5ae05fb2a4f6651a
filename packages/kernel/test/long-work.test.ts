/** Long work of a scope: step by step, each with its effects in one transaction, judged anew, resumed, cancelled. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PlatformError, type ProgramGrant, type ScopeId } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  type LongWork,
  operation,
  runDeliveries,
  type ScopeHostOptions,
  type WorkHandle,
} from '../src/index.ts';
import { guest, openShop, owner, scopeId, operations as shopOperations, tenant } from './shop.ts';
import { openWorking, verticalWith } from './working-shop.ts';

const all = { filters: [], order: 'asc' as const, limit: 10 };

/** The behaviour of the work; each test sets it. */
const hooks = { step: (_work: WorkHandle): void => undefined, abandoned: [] as string[] };

const packing: LongWork = {
  summary: 'Pack many boxes',
  permission: 'box.pack',
  step: (ctx, work) => {
    const done = work.done + 1;
    const box = ctx.newId('box');
    ctx.sql.run(`INSERT INTO boxes (id, label, state) VALUES (?, ?, 'staged')`, box, `${work.id} ${done}`);
    ctx.emit({ type: 'box.staged', entity: { type: 'box', id: box } });
    work.rows.put([{ number: done, status: 'made', value: { label: 'x' }, note: box }]);
    work.save({ done, next: done === work.total ? 'end' : 'run' });
    hooks.step(work);
  },
  abandon: ({ sql }, { id }) => {
    hooks.abandoned.push(id);
    sql.run('DELETE FROM boxes WHERE label LIKE ?', `${id} %`);
    return true;
  },
  namesOf: (_ctx, subject) => (subject === 'per_1' ? ['Ada "L"', ''] : []),
};

const vertical = verticalWith({
  operations: {
    ...shopOperations,
    'box/pack-many': operation({
      summary: 'Pack many boxes',
      input: z.strictObject({
        total: z.int(),
        waits: z.boolean().default(false),
        label: z.string().default(''),
      }),
      output: z.string(),
      permission: 'box.pack',
      run: (ctx, { total, waits, label }) =>
        ctx.startWork('box/pack-many', { total, waits, data: { label } }),
    }),
    'box/pack-on': operation({
      summary: 'Go on with packing',
      input: z.strictObject({ work: z.string(), next: z.enum(['run', 'finish']) }),
      output: z.null(),
      permission: 'box.pack',
      run: (ctx, { work, next }) => {
        ctx.work(work).save({ next });
        return null;
      },
    }),
  },
  works: { 'box/pack-many': packing },
});

type Programs = ScopeHostOptions['programs'];

async function openPacking(
  options: { readonly dataDirectory?: string; readonly programs?: Programs; sealKeys?: string[] } = {},
) {
  hooks.step = () => undefined;
  hooks.abandoned = [];
  const opened = await openWorking(vertical, options);
  const start = async (total: number, waits = false) =>
    (await opened.run(owner, 'box/pack-many', { total, waits })).output as string;
  const show = (id: string, principal = owner) => opened.scope.longWork({ principal, id });
  const staged = () => opened.countOf('box.staged');
  return { ...opened, start, show, staged, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() };
}

test('it runs step by step, between the calls of others, and its events name the one that started it', async () => {
  await using packed = await openPacking();
  const { start, show, scope } = packed;
  const seen: number[] = [];
  let others = Promise.resolve<unknown>(null);
  hooks.step = ({ done }) => {
    seen.push(done);
    if (done === 1) others = packed.pack('between').then(() => seen.push(-1));
  };
  const id = await start(4);
  await packed.settled();
  await others;
  expect(seen.indexOf(-1)).toBeGreaterThan(0);
  expect(seen.indexOf(-1)).toBeLessThan(4);
  expect(await show(id)).toMatchObject({ state: 'done', step: 4, done: 4, total: 4, kind: 'box/pack-many' });
  const { items } = await scope.history({ entity: { type: 'work', id }, limit: 10 });
  expect(items.map(({ type, actor }) => [type, actor])).toEqual([
    ['work.started', owner],
    ['work.done', owner],
  ]);
  const effects = await scope.effects({ event: items[0]?.id as never });
  expect(effects.items.map(({ type }) => type)).toEqual([
    'box.staged',
    'box.staged',
    'box.staged',
    'box.staged',
    'work.done',
  ]);
});

test('a step that fails leaves nothing, is tried again, and after a restart the work goes on with it', async () => {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-long-work-'));
  let id: string;
  {
    await using packed = await openPacking({ dataDirectory });
    hooks.step = ({ done }) => {
      if (done === 1) throw new Error('the disk is full');
    };
    id = await packed.start(3);
    await packed.settled();
    expect(await packed.show(id)).toMatchObject({ state: 'running', step: 1, done: 1, error: null });
    expect(await packed.staged()).toBe(1);
  }
  await using packed = await openPacking({ dataDirectory });
  await packed.runner.resume([scopeId]);
  await packed.settled();
  expect(await packed.show(id)).toMatchObject({ state: 'running', step: 1 });
  await packed.pass(1_500);
  expect(await packed.show(id)).toMatchObject({ state: 'done', step: 3, done: 3 });
  expect(await packed.staged()).toBe(3);
});

test('a step that never works ends it after five attempts, and what it wrote is taken back', async () => {
  await using packed = await openPacking();
  hooks.step = ({ done }) => {
    if (done === 1) throw new TypeError('a bug');
  };
  const id = await packed.start(3);
  for (const ms of [0, 1_000, 4_000, 16_000, 64_000]) await packed.pass(ms);
  expect(await packed.show(id)).toMatchObject({ state: 'failed', error: { code: 'internal' } });
  expect(hooks.abandoned).toEqual([id]);
  expect((await packed.scope.table({ table: 'boxes', ...all })).rows).toEqual([]);
  expect(await packed.countOf('work.failed')).toBe(1);
});

test('a refusal that is meant for people ends it at once, and says so', async () => {
  await using packed = await openPacking();
  hooks.step = ({ done }) => {
    if (done === 1) throw new PlatformError('conflict', 'There is no more room.');
  };
  const id = await packed.start(3);
  await packed.settled();
  expect(await packed.show(id)).toMatchObject({
    state: 'failed',
    error: { code: 'conflict', detail: 'There is no more room.' },
  });
});

test('the permission is judged again at every step: the work of a person who lost it stops, and says so', async () => {
  await using packed = await openPacking();
  hooks.step = ({ done, principal }) => {
    if (done === 0) void packed.scope.setRoles({ principal: principal as never, roles: [], by: 'platform' });
  };
  const id = await packed.start(100);
  await packed.settled();
  const ended = await packed.show(id);
  expect(ended).toMatchObject({ state: 'failed', error: { code: 'permission_denied' } });
  expect(ended.step).toBeLessThan(100);
  expect(hooks.abandoned).toEqual([id]);
  const denials = await packed.scope.listDenials({ limit: 5 });
  expect(denials.items).toMatchObject([{ actor: owner, permission: 'box.pack', operation: 'box/pack-many' }]);
});

describe('begun through a program', () => {
  const grant: ProgramGrant = { id: 'prg_1', name: 'Tidy', access: 'all' };
  /** Runs work of three steps through the program, of which `now` says what it is allowed before each. */
  const through = async (now: (asked: number) => ProgramGrant | null) => {
    let asked = 0;
    const opened = await openPacking({
      programs: async (_ref, { grant: id, principal }) => {
        expect([id, principal]).toEqual([grant.id, owner]);
        asked += 1;
        return now(asked);
      },
    });
    const call = { principal: owner, program: grant };
    const input = { total: 3, waits: false };
    const { output } = await opened.scope.invoke({ ...call, operation: 'box/pack-many', input });
    await opened.settled();
    return { opened, id: output as string, asked: () => asked };
  };

  test('it asks before each step what the program is allowed then, and ends with its access', async () => {
    const { opened, id, asked } = await through((at) => (at <= 2 ? grant : null));
    await using _ = opened;
    expect(await opened.show(id)).toMatchObject({
      state: 'failed',
      step: 2,
      error: { code: 'permission_denied', detail: expect.stringContaining('The access of Tidy') },
    });
    expect(asked()).toBe(3);
    expect(hooks.abandoned).toEqual([id]);
  });

  test('it ends where the program was narrowed meanwhile, with a denial', async () => {
    const narrowed: ProgramGrant = { id: 'prg_1', name: 'Tidy', access: 'some', permissions: ['box.read'] };
    const { opened, id } = await through((at) => (at <= 1 ? grant : narrowed));
    await using _ = opened;
    expect(await opened.show(id)).toMatchObject({
      state: 'failed',
      step: 1,
      error: { code: 'permission_denied' },
    });
    const { items } = await opened.scope.listDenials({ limit: 5 });
    expect(items).toMatchObject([{ actor: owner, permission: 'box.pack', operation: 'box/pack-many' }]);
  });

  test('it waits where nothing can be learnt, and holds up nothing else', async () => {
    let isAway = true;
    const { opened, id } = await through(() => {
      if (isAway) throw new Error('the directory is away');
      return grant;
    });
    await using _ = opened;
    const other = await opened.start(1);
    await opened.settled();
    expect(await opened.show(other)).toMatchObject({ state: 'done' });
    expect(await opened.show(id)).toMatchObject({ state: 'running', step: 0, error: null });
    isAway = false;
    await opened.pass(60_000);
    expect(await opened.show(id)).toMatchObject({ state: 'done', step: 3 });
  });

  test('without a place that knows programs none goes on; what its person has go on is the person’s', async () => {
    await using packed = await openPacking();
    const call = { principal: owner, program: grant, operation: 'box/pack-many' };
    const start = async (waits: boolean) =>
      (await packed.scope.invoke({ ...call, input: { total: 2, waits } })).output as string;
    const [running, waiting] = [await start(false), await start(true)];
    await packed.settled();
    expect(await packed.show(running)).toMatchObject({ state: 'failed', step: 0 });
    await packed.run(owner, 'box/pack-on', { work: waiting, next: 'run' });
    await packed.settled();
    expect(await packed.show(waiting)).toMatchObject({ state: 'done', step: 2 });
  });

  test('a program sees the works of its person whose permission it has', async () => {
    await using packed = await openPacking();
    const id = await packed.start(1, true);
    const listed = (program: ProgramGrant) => packed.scope.longWorks({ principal: owner, program, limit: 5 });
    expect(await listed(grant)).toMatchObject([{ id }]);
    const other: ProgramGrant = { id: 'prg_1', name: 'Tidy', access: 'some', permissions: ['box.read'] };
    expect(await listed(other)).toEqual([]);
    const shown = packed.scope.longWork({ principal: owner, program: other, id });
    await expect(shown).rejects.toMatchObject({ reason: 'unknown_work' });
  });
});

test('an erasure reaches what is staged: rows that name the person, their keys, and a state that does', async () => {
  await using packed = await openPacking({ sealKeys: ['a sealing key that is for tests only'] });
  const scope = packed.host.scope(scopeId);
  const start = async (label: string) =>
    (await packed.run(owner, 'box/pack-many', { total: 4, waits: true, label })).output as string;
  const [staged, named] = [await start(''), await start('the rest of a line: Ada "L"')];
  hooks.step = ({ rows, id, done, save }) => {
    if (done > 0 || id !== staged) return;
    const lines = [['x', ' ada "l" '], ['per_1'], [{ name: 'Ada Lovelace' }], ['Ada']];
    rows.put(lines.map((value, at) => ({ number: at + 2, status: 'new', value, note: null })));
    for (const number of [2, 5]) rows.claim(`key ${number}`, number);
    save({ next: 'wait' });
  };
  await packed.run(owner, 'box/pack-on', { work: staged, next: 'run' });
  await packed.settled();
  await packed.host.shredSubjectLocal({ tenantId: tenant, scopeId: scopeId as ScopeId, subject: 'per_1' });
  await packed.settled();
  const rows = await scope.table({ table: '_spine_work_rows', ...all });
  expect(rows.rows.map((row) => row[1])).toEqual([1, 4, 5]);
  const keys = await scope.table({ table: '_spine_work_keys', ...all });
  expect(keys.rows.map((row) => row[1])).toEqual(['key 5']);
  expect(await packed.show(staged)).toMatchObject({ state: 'waiting' });
  expect(await packed.show(named)).toMatchObject({
    state: 'cancelled',
    error: { detail: expect.stringContaining('erased') },
  });
});

test('once all is decided it is finished without being judged again, and cannot be cancelled', async () => {
  await using packed = await openPacking();
  const id = await packed.start(3, true);
  await packed.settled();
  expect(await packed.show(id)).toMatchObject({ state: 'waiting', step: 0, isCancellable: true });
  hooks.step = ({ done }) => {
    if (done > 0) return;
    void packed.scope.setRoles({ principal: owner as never, roles: [], by: 'platform' });
  };
  await packed.run(owner, 'box/pack-on', { work: id, next: 'finish' });
  await expect(packed.scope.cancelLongWork({ principal: owner, id })).rejects.toMatchObject({
    code: 'conflict',
    reason: 'work_decided',
  });
  await packed.settled();
  expect(await packed.show(id)).toMatchObject({ state: 'done', step: 3 });
});

test('it is cancelled by the one who started it: its steps end, and all is taken back', async () => {
  await using packed = await openPacking();
  const id = await packed.start(3, true);
  await expect(packed.scope.longWork({ principal: guest, id })).rejects.toMatchObject({
    code: 'not_found',
    reason: 'unknown_work',
  });
  expect(await packed.scope.longWorks({ principal: guest, limit: 5 })).toEqual([]);
  expect(await packed.scope.longWorks({ principal: owner, limit: 5 })).toMatchObject([{ id }]);
  await packed.scope.cancelLongWork({ principal: owner, id });
  await packed.settled();
  expect(await packed.show(id)).toMatchObject({ state: 'cancelled', error: null });
  expect(hooks.abandoned).toEqual([id]);
  await expect(packed.run(owner, 'box/pack-on', { work: id, next: 'run' })).rejects.toMatchObject({
    reason: 'work_ended',
  });
  await expect(packed.scope.cancelLongWork({ principal: owner, id })).rejects.toMatchObject({
    reason: 'work_ended',
  });
});

test('one that waits is cancelled after seven days; an ended one is removed with its rows after thirty', async () => {
  await using packed = await openPacking();
  const [waiting, done] = [await packed.start(3, true), await packed.start(2)];
  await packed.settled();
  const day = 86_400_000;
  await packed.pass(7 * day);
  expect(await packed.show(waiting)).toMatchObject({ state: 'cancelled', error: { code: 'conflict' } });
  expect(await packed.show(done)).toMatchObject({ state: 'done' });
  await packed.pass(23 * day);
  await expect(packed.show(done)).rejects.toMatchObject({ code: 'not_found', reason: 'unknown_work' });
  const rows = await packed.scope.table({ table: '_spine_work_rows', ...all });
  expect(rows.rows).toEqual([]);
});

test('a scope has twenty of them at a time', async () => {
  await using packed = await openPacking();
  for (let n = 0; n < 20; n++) await packed.start(1, true);
  await expect(packed.start(1)).rejects.toMatchObject({ code: 'conflict', reason: 'works_full' });
});

test('where data of persons is sealed, it waits for keys of the pool, and goes on', async () => {
  hooks.step = () => undefined;
  const sealing = { ...vertical, onShred: () => undefined };
  await using opened = await openWorking(sealing, { sealKeys: ['a sealing key that is for tests only'] });
  const scope = opened.host.scope(scopeId);
  const { output: id } = await scope.invoke({
    principal: owner,
    operation: 'box/pack-many',
    input: { total: 3 },
  });
  await opened.settled();
  expect(await scope.longWork({ principal: owner, id: id as string })).toMatchObject({
    state: 'done',
    step: 3,
  });
});

test('where an alarm wakes the scope, fifty rounds are done at a time', async () => {
  hooks.step = () => undefined;
  await using opened = await openShop({ vertical });
  const { scope, clock } = opened;
  const { output: id } = await opened.run(owner, 'box/pack-many', { total: 120 });
  const now = () => clock.ms;
  const ring = () => runDeliveries({ vertical, scope, scopeId, now, onIncident: () => undefined });
  const seen: unknown[] = [];
  for (let rings = 0; rings < 4; rings++) {
    const nextAtMs = await ring();
    const { step, state } = await scope.longWork({ principal: owner, id: id as string });
    seen.push([step, state, nextAtMs !== null && nextAtMs <= clock.ms]);
  }
  expect(seen).toEqual([
    [50, 'running', true],
    [100, 'running', true],
    [120, 'done', false],
    [120, 'done', false],
  ]);
});

test('in a copy nothing goes on: what was under way is taken back, and what was decided waits to be resumed', async () => {
  await using packed = await openPacking();
  hooks.step = ({ done }) => {
    if (done === 1) throw new Error('later');
  };
  const running = await packed.start(3);
  const decided = await packed.start(3, true);
  await packed.run(owner, 'box/pack-on', { work: decided, next: 'finish' });
  await packed.settled();
  const copy = { tenantId: tenant, scopeId: scopeId as ScopeId, format: 'ndjson' } as const;
  const { body } = await packed.host.exportScopeLocal(copy);
  await packed.host.restoreScopeLocal(copy, body);
  hooks.step = () => undefined;
  await packed.scope.work({});
  await packed.pass(600_000);
  expect(await packed.show(running)).toMatchObject({ state: 'cancelled', error: { code: 'conflict' } });
  expect(await packed.show(decided)).toMatchObject({ state: 'halted', step: 1, isCancellable: false });
  await expect(packed.scope.resumeLongWork({ principal: guest, id: decided })).rejects.toMatchObject({
    code: 'not_found',
  });
  await packed.scope.resumeLongWork({ principal: owner, id: decided });
  await packed.settled();
  expect(await packed.show(decided)).toMatchObject({ state: 'done', step: 3 });
});
