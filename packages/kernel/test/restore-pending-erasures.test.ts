/** A person who is erased while an older state comes back stays erased, also when the process dies (spec C-20). */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PlatformError } from '@freehold/contracts';
import { makeKeyring, makeStub, openUnit } from '@freehold/store';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { openNodeEngine } from '../../engine-node/src/index.ts';
import { openNodeDatabase } from '../../engine-node/src/lib/node-database.ts';
import {
  defineOperations,
  defineVertical,
  makeScopeHost,
  makeScopeUnit,
  makeUnitVault,
  makeVaultUnit,
  operation,
  type ScopeMethods,
  type ScopeStub,
  type Vault,
} from '../src/index.ts';
import { owner, scopeId, shop, tenant } from './shop.ts';

const subject = 'cus_ada';
const ref = { tenantId: tenant, scopeId: scopeId as never };
const CLOSED = { code: 'unavailable', reason: 'erasures_unseen' };

/** Keeps a name in clear, in a table of its own and under its person. */
const vertical = defineVertical({
  ...shop,
  operations: defineOperations({
    ...shop.operations,
    'person/note': operation({
      summary: 'Note a name',
      input: z.strictObject({ name: z.string() }),
      output: z.null(),
      permission: 'box.pack',
      subjects: ({ name }) => [name],
      run: (ctx, { name }) => {
        ctx.sql.run('INSERT INTO boxes (id, label, state) VALUES (?, ?, ?)', ctx.newId('box'), name, 'kept');
        ctx.emit({
          type: 'person.noted',
          entity: { type: 'box', id: 'b' },
          piiClass: 'direct',
          subject: name,
          payload: { name },
        });
        return null;
      },
    }),
    'person/list': operation({
      summary: 'List names',
      input: z.strictObject({}),
      output: z.array(z.string()),
      permission: 'box.list',
      readOnly: true,
      run: (ctx) =>
        ctx.sql.all<{ label: string }>('SELECT label FROM boxes ORDER BY id').map(({ label }) => label),
    }),
  }),
  onShred: ({ sql }, person) => sql.run('DELETE FROM boxes WHERE label = ?', person),
});
const unit = makeScopeUnit(vertical);
const vaultUnit = makeVaultUnit(makeKeyring(['the sealing key of these tests, long enough']));

/** One process of the platform on a data directory. */
function startOn(dataDirectory: string, tamper: (vault: Vault) => Vault = (vault) => vault) {
  const engine = openNodeEngine({
    dataDirectory,
    onIncident: (error) => {
      throw error;
    },
  });
  onTestFinished(() => engine.close());
  const vault = makeUnitVault((tenantId) => engine.unit(vaultUnit, tenantId, { create: true }));
  const host = makeScopeHost({ engine, unit, vault: tamper(vault) });
  const scope = host.scope(scopeId);
  return {
    engine,
    host,
    scope,
    /** The scope without anybody who would ask the vault for it. */
    bare: engine.unit(unit, scopeId) as ScopeStub,
    note: (name: string) => scope.invoke({ principal: owner, operation: 'person/note', input: { name } }),
    names: async () =>
      (await scope.invoke({ principal: owner, operation: 'person/list', input: {} })).output as string[],
  };
}
type Process = ReturnType<typeof startOn>;

async function newPlace(): Promise<string> {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-pending-erasures-'));
  onTestFinished(() => rmSync(dataDirectory, { recursive: true, force: true }));
  const { engine, host, scope, note } = startOn(dataDirectory);
  await host.provisionScopeLocal({ ...ref, name: 'Acme' });
  await scope.assignRole({ principal: owner, role: 'owner', by: 'platform' });
  await note(subject);
  await note('cus_grace');
  await engine.close();
  return dataDirectory;
}

/** A way by which an older state comes back. `back` brings the state of the moment of `before`. */
const WAYS = [
  {
    name: 'a restore',
    before: async ({ host }: Process) => {
      const { body } = await host.exportScopeLocal(ref);
      const bytes = new Uint8Array(await new Response(body).arrayBuffer());
      return ({ host: later }: Process) =>
        later.restoreScopeLocal({ ...ref, format: 'sqlite' }, new Response(bytes).body as never);
    },
  },
  {
    name: 'a rewind',
    before: async ({ host, note }: Process) => {
      const { current } = await host.migrationBookmarksLocal({ ...ref, limit: 1 });
      await note('cus_later');
      return ({ host: later }: Process) =>
        later.rewindScopeLocal({ ...ref, bookmark: current?.bookmark as string });
    },
  },
];

/** Never answers: the process that asked dies of it. */
const never = (): Promise<never> => new Promise(() => undefined);

/** Brings an older state back, erases a person meanwhile, and dies before the vault was asked. */
async function dieOf(way: (typeof WAYS)[number], dataDirectory: string): Promise<void> {
  const { promise: isPlaced, resolve: placed } = Promise.withResolvers<void>();
  const { promise: isOnItsWay, resolve: onItsWay } = Promise.withResolvers<void>();
  const { promise: isErased, resolve: erased } = Promise.withResolvers<void>();
  let asked = 0;
  const dying = startOn(dataDirectory, (vault) => ({
    ...vault,
    shredded: async (scope) => {
      asked += 1;
      if (asked > 1) {
        placed();
        return never();
      }
      const receipts = await vault.shredded(scope);
      onItsWay();
      await isErased;
      return receipts;
    },
  }));
  const back = await way.before(dying);
  void back(dying);
  await isOnItsWay;
  await dying.host.shredSubjectLocal({ ...ref, subject });
  erased();
  await isPlaced;
  await dying.engine.close();
}

test.each(WAYS)('C-20: $name whose process dies as it arrives brings no person back', async (way) => {
  const dataDirectory = await newPlace();
  await dieOf(way, dataDirectory);

  const { names, scope, note } = startOn(dataDirectory);
  expect(await names()).toEqual(['cus_grace']);
  const { items } = await scope.history({ entity: { type: 'box', id: 'b' }, limit: 5 });
  expect(items.map(({ payload }) => payload)).toEqual([
    { $shredded: { at: expect.any(String) } },
    { name: 'cus_grace' },
  ]);
  await expect(note(subject)).rejects.toMatchObject({ reason: 'subject_shredded' });
});

test.each(WAYS)('while the vault cannot be asked after $name, the scope answers no caller', async (way) => {
  const dataDirectory = await newPlace();
  await dieOf(way, dataDirectory);

  const down = new PlatformError('unavailable', 'The vault is away.', { reason: 'vault_away' });
  const isAway = { code: 'unavailable', reason: 'vault_away' };
  const { host, names, bare } = startOn(dataDirectory, (vault) => ({
    ...vault,
    shredded: () => Promise.reject(down),
  }));
  for (const ask of [
    names,
    () => host.exportScopeLocal(ref),
    () => host.snapshotScopeLocal(ref),
    () => host.introspectScopeQuery({ ...ref, sql: 'SELECT label FROM boxes', params: [] }),
    () => host.introspectScopeTables(ref),
    () => host.operations(scopeId, owner).invoke({ operation: 'person/list', input: {} }),
  ])
    await expect(ask()).rejects.toMatchObject(isAway);
  await expect(bare.identify({})).rejects.toMatchObject(CLOSED);
});

test.each(WAYS)(
  'after $name the vault is asked once, and a scope that nothing came back to asks nothing',
  async (way) => {
    const dataDirectory = await newPlace();
    const counts: number[] = [];
    const start = () => {
      const at = counts.push(0) - 1;
      return startOn(dataDirectory, (vault) => ({
        ...vault,
        shredded: (scope) => {
          counts[at] = (counts[at] ?? 0) + 1;
          return vault.shredded(scope);
        },
      }));
    };
    const first = start();
    await first.names();
    const back = await way.before(first);
    expect(counts).toEqual([0]);
    await back(first);
    expect(await first.names()).toEqual([subject, 'cus_grace']);
    expect(counts).toEqual([2]);
    await first.engine.close();
    await start().names();
    expect(counts).toEqual([2, 0]);
  },
);

/** A scope in memory, marked as an older state is. */
async function openMarked() {
  const database = openNodeDatabase(':memory:');
  onTestFinished(() => database.close());
  const disk = { fails: false };
  let methods: readonly string[] = [];
  const running = openUnit(
    {
      ...unit,
      open: (context) => {
        const opened = unit.open(context);
        methods = Object.keys(opened);
        return opened;
      },
    },
    {
      key: scopeId,
      db: database.db,
      guarded: (guard) => database.guarded(guard),
      transact: (work) =>
        database.transact(() => {
          work();
          if (disk.fails) throw new Error('the disk is gone');
        }),
      schedule: (task) => void setImmediate(task),
      now: () => 0,
      random: randomBytes,
      onIncident: () => undefined,
    },
    { create: true },
  );
  const scope = makeStub<ScopeMethods>((method, input) => running.call(method, input));
  await scope.provision({ tenantId: tenant, name: 'Acme' });
  database.db.run(`UPDATE _spine_scope SET latecomers = 'first'`);
  return { scope, methods, disk, db: database.db, call: running.call };
}

test('a state that came back answers nothing but what opens it', async () => {
  const { methods, call, scope } = await openMarked();
  const answered: string[] = [];
  for (const method of methods) {
    const outcome = await call(method, {});
    if (outcome.ok || outcome.failure.reason !== CLOSED.reason) answered.push(method);
  }
  expect(answered.sort()).toEqual([
    'freezeKeys',
    'keyWork',
    'keysBound',
    'pendingErasures',
    'provideKeys',
    'provision',
    'redactPendingErasures',
  ]);
  expect(await scope.pendingErasures({})).toEqual({ tenantId: tenant, mark: 'first' });
  await scope.redactPendingErasures({ mark: 'first', receipts: [] });
  expect(await scope.identify({})).toEqual({ tenantId: tenant, name: 'Acme' });
});

test('who asked the vault because of an earlier state does not open a later one', async () => {
  const { scope, db } = await openMarked();
  const { mark } = await scope.pendingErasures({});
  db.run(`UPDATE _spine_scope SET latecomers = 'second'`);
  await scope.redactPendingErasures({ mark: mark as string, receipts: [] });
  await expect(scope.identify({})).rejects.toMatchObject(CLOSED);
});

test('it stays closed when the commit that opens it is lost', async () => {
  const { scope, disk } = await openMarked();
  disk.fails = true;
  await expect(scope.redactPendingErasures({ mark: 'first', receipts: [] })).rejects.toMatchObject({
    reason: 'commit_failed',
  });
  disk.fails = false;
  await expect(scope.identify({})).rejects.toMatchObject(CLOSED);
});

test('a key that was on its way while its person was erased opens nothing, in no process', async () => {
  const dataDirectory = await newPlace();
  const { promise: isErased, resolve: erased } = Promise.withResolvers<void>();
  const { promise: isSent, resolve: sent } = Promise.withResolvers<void>();
  const late: Awaited<ReturnType<Vault['keys']>>[] = [];
  const first = startOn(dataDirectory, (vault) => ({
    ...vault,
    keys: async (scope, subjects) => {
      const keys = await vault.keys(scope, subjects);
      late.push(keys);
      sent();
      await isErased;
      return keys;
    },
  }));
  const noted = first.note(subject);
  await isSent;
  await first.host.shredSubjectLocal({ ...ref, subject });
  erased();
  await expect(noted).rejects.toMatchObject({ reason: 'subject_shredded' });
  await first.engine.close();

  const second = startOn(dataDirectory);
  await second.scope.provideKeys({ keys: late[0] ?? {} });
  await expect(second.note(subject)).rejects.toMatchObject({ reason: 'subject_shredded' });
  expect(late).toMatchObject([{ [subject]: { key: expect.any(String) } }]);
});
