/** The keys of the vault: allotted once, bound once, ended for good, and never restored (spec C-20). */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { ScopeId, TenantId } from '@freehold/contracts';
import { makeKeyring } from '@freehold/store';
import { expect, onTestFinished, test } from 'vitest';
import { openNodeEngine } from '../../engine-node/src/index.ts';
import { ledgerUnit, makeUnitLedger, makeUnitVault, makeVaultUnit } from '../src/index.ts';

const tenantId = 'tnt_01j00000000000000000000001' as TenantId;
const scopeId = 'scp_01j00000000000000000000001' as ScopeId;
const ref = { tenantId, scopeId };
const other = { tenantId, scopeId: 'scp_01j00000000000000000000002' as ScopeId };
const unit = makeVaultUnit(makeKeyring(['a sealing key that is long enough for a test']));

function place(): string {
  const directory = mkdtempSync(join(tmpdir(), 'freehold-vault-keys-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

function open(dataDirectory = place()) {
  const engine = openNodeEngine({ dataDirectory, onIncident: () => undefined });
  onTestFinished(() => engine.close());
  const ledger = makeUnitLedger((tenant, options) => engine.unit(ledgerUnit, tenant, options));
  const vault = makeUnitVault((tenant) => engine.unit(unit, tenant, { create: true }), { ledger });
  return { dataDirectory, engine, vault };
}

test('C-20: a key that is bound is its subject’s, and one of another scope is not', async () => {
  const { vault } = open();
  const [key, foreign] = [(await vault.allot(ref, 1))[0], (await vault.allot(other, 1))[0]];
  await vault.bind(ref, [{ subject: 'cus_ada', keyId: key?.keyId as string }]);
  await vault.bind(ref, [{ subject: 'cus_ada', keyId: foreign?.keyId as string }]);
  expect(await vault.keys(ref, ['cus_ada'])).toEqual({ cus_ada: { key: key?.key } });
  // The same name in another scope is another person.
  expect(await vault.keys(other, ['cus_ada'])).not.toEqual({ cus_ada: { key: foreign?.key } });
});

test('C-20: what a scope holds of a person is bound before it is looked at', async () => {
  const { vault } = open();
  const [key] = await vault.allot(ref, 1);
  const held = { subject: 'cus_ada', keyIds: [key?.keyId as string] };
  expect(await vault.keys(ref, [held])).toEqual({ cus_ada: { key: key?.key } });
  expect(await vault.keys(ref, ['cus_ada'])).toEqual({ cus_ada: { key: key?.key } });
});

test('C-20: a key is no second person’s', async () => {
  const { vault } = open();
  const [key] = await vault.allot(ref, 1);
  const keyId = key?.keyId as string;
  await vault.bind(ref, [{ subject: 'cus_ada', keyId }]);
  await expect(vault.bind(ref, [{ subject: 'cus_bob', keyId }])).rejects.toMatchObject({ code: 'internal' });
  await expect(vault.keys(ref, [{ subject: 'cus_bob', keyIds: [keyId] }])).rejects.toMatchObject({
    code: 'internal',
  });
});

test('C-20: erasing ends every key that a person has, also one that the vault hears of only then', async () => {
  const { vault, dataDirectory } = open();
  const made = await vault.keys(ref, ['cus_ada']);
  const [bound, held, later] = await vault.allot(ref, 3);
  await vault.bind(ref, [{ subject: 'cus_ada', keyId: bound?.keyId as string }]);
  expect(await vault.keys(ref, ['cus_ada'])).toEqual({
    cus_ada: { key: bound?.key, more: [(made.cus_ada as { key: string }).key] },
  });
  const receipt = await vault.shred(ref, 'cus_ada', [held?.keyId as string]);
  expect(await vault.keys(ref, ['cus_ada'])).toEqual({ cus_ada: { shredded: receipt } });
  // A state that comes back names another one: it ends as well.
  await vault.bind(ref, [{ subject: 'cus_ada', keyId: later?.keyId as string }]);
  expect(await vault.keys(ref, ['cus_ada'])).toEqual({ cus_ada: { shredded: receipt } });
  expect(liveKeys(dataDirectory)).toBe(0);
});

test('C-20: a tombstone is left also where there was no key', async () => {
  const { vault } = open();
  const receipt = await vault.shred(ref, 'cus_ada');
  expect(receipt).toMatchObject({ subject: 'cus_ada', keyDigest: null });
  const [key] = await vault.allot(ref, 1);
  const held = { subject: 'cus_ada', keyIds: [key?.keyId as string] };
  expect(await vault.keys(ref, [held])).toEqual({ cus_ada: { shredded: receipt } });
  expect(await vault.shredded(ref)).toEqual([receipt]);
});

test('C-20: what is handed back has ended, and what is bound is not handed back', async () => {
  const { vault, dataDirectory } = open();
  const [used, unused] = await vault.allot(ref, 2);
  await vault.bind(ref, [{ subject: 'cus_ada', keyId: used?.keyId as string }]);
  await vault.handBack(ref, [used?.keyId as string, unused?.keyId as string]);
  expect(await vault.keys(ref, ['cus_ada'])).toEqual({ cus_ada: { key: used?.key } });
  expect(liveKeys(dataDirectory)).toBe(1);
  // Its slot is written over by the next key, and the file does not grow.
  await vault.allot(ref, 1);
  const database = new DatabaseSync(join(dataDirectory, 'vault', `${tenantId}.sqlite`), { readOnly: true });
  expect(database.prepare('SELECT count(*) AS n FROM key_slots').get()).toEqual({ n: 2 });
  database.close();
});

test('C-20: keys are allotted, made and bound only once the archive has them', async () => {
  const { engine } = open();
  const gates: (() => void)[] = [];
  const vault = makeUnitVault((tenant) => engine.unit(unit, tenant, { create: true }), {
    archived: () => new Promise((resolve) => gates.push(resolve)),
  });
  const afterArchive = async <T>(call: Promise<T>): Promise<T> => {
    let isDone = false;
    void call.then(() => {
      isDone = true;
    });
    await expect.poll(() => gates.length).toBeGreaterThan(0);
    expect(isDone).toBe(false);
    gates.shift()?.();
    return call;
  };
  const [key] = await afterArchive(vault.allot(ref, 1));
  await afterArchive(vault.keys(ref, ['cus_ada']));
  await afterArchive(vault.bind(ref, [{ subject: 'cus_bob', keyId: key?.keyId as string }]));
  // No key is new here, and no binding: neither waits for the archive.
  await vault.keys(ref, ['cus_ada', 'cus_bob']);
  await vault.bind(ref, []);
});

test('C-20: a vault that is restored from before an erasure carries it out again, with the same receipt', async () => {
  const dataDirectory = place();
  const first = open(dataDirectory);
  const [key] = await first.vault.allot(ref, 1);
  const keyIds = [key?.keyId as string];
  const before = new DatabaseSync(join(dataDirectory, 'vault', `${tenantId}.sqlite`));
  before.exec(`VACUUM INTO '${join(dataDirectory, 'older')}'`);
  before.close();
  const receipt = await first.vault.shred(ref, 'cus_ada', keyIds);
  await first.engine.close();
  rmSync(join(dataDirectory, 'vault', `${tenantId}.sqlite`));
  const older = new DatabaseSync(join(dataDirectory, 'older'));
  older.exec(`VACUUM INTO '${join(dataDirectory, 'vault', `${tenantId}.sqlite`)}'`);
  older.close();
  const second = open(dataDirectory);
  expect(await second.vault.shredded(ref)).toEqual([receipt]);
  expect(await second.vault.keys(ref, [{ subject: 'cus_ada', keyIds }])).toEqual({
    cus_ada: { shredded: receipt },
  });
  expect(liveKeys(dataDirectory)).toBe(0);
});

function liveKeys(dataDirectory: string): number {
  const database = new DatabaseSync(join(dataDirectory, 'vault', `${tenantId}.sqlite`), { readOnly: true });
  const { n } = database.prepare(`SELECT count(*) AS n FROM key_slots WHERE wrapped NOT LIKE '-%'`).get() as {
    n: number;
  };
  database.close();
  return n;
}
