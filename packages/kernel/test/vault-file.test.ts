/** A destroyed key is nowhere in the vault's files, wherever SQLite may have moved it before (spec C-20). */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeKeyring } from '@freehold/store';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openNodeEngine } from '../../engine-node/src/index.ts';
import { makeVaultUnit } from '../src/index.ts';

/** Thousands of commits, none of which has to survive the machine. */
const MEMORY = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

const tenant = 'tnt_01j00000000000000000000001';
const unitOfKeys = makeVaultUnit(makeKeyring(['a sealing key that is long enough for a test']));

/** Every database file below a directory, and the logs beside them. */
function filesOf(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile() && each.name.includes('.sqlite'))
    .map((each) => join(each.parentPath, each.name));
}

test('C-20: no file of the vault holds a key that was destroyed', { timeout: 60_000 }, async () => {
  const step = fc.record({ who: fc.nat({ max: 5_000 }), scope: fc.nat({ max: 3 }), destroys: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 150, maxLength: 250 }), async (steps) => {
      const dataDirectory = mkdtempSync(join(MEMORY, 'freehold-vault-file-'));
      const engine = openNodeEngine({ dataDirectory, onIncident: () => undefined });
      try {
        const vault = engine.unit(unitOfKeys, tenant, { create: true });
        const living = new Map<string, { scopeId: string; subject: string }>();
        for (const { who, scope, destroys } of steps) {
          const scopeId = `scp_01j0000000000000000000000${scope}`;
          const [first] = living.values();
          if (destroys && first) {
            await vault.shred(first);
            living.delete(`${first.scopeId} ${first.subject}`);
          } else {
            const subject = `cus_${who}`;
            const { [subject]: found } = (
              await vault.supply({ scopeId, subjects: [{ subject, keyIds: [] }] })
            ).keys;
            // An erased person stays erased.
            if (found && 'key' in found) living.set(`${scopeId} ${subject}`, { scopeId, subject });
          }
        }
        // The log as well, before closing empties it.
        const found = filesOf(dataDirectory).flatMap(keysIn);
        await engine.close();
        const remaining = new Set(filesOf(dataDirectory).flatMap(keysOf));
        expect(remaining.size).toBe(living.size);
        expect(found.filter((each) => !remaining.has(each))).toEqual([]);
      } finally {
        await engine.close();
        rmSync(dataDirectory, { recursive: true });
      }
    }),
    { numRuns: 40 },
  );
});

/** Returns every text in the form of a sealed key in the bytes of a file. */
function keysIn(file: string): string[] {
  return readFileSync(file, 'latin1').match(/v1\.[\w-]{16}\.[\w-]{79}/g) ?? [];
}

/** The sealed keys that a database holds, as SQLite sees it. */
function keysOf(file: string): string[] {
  if (!file.endsWith('.sqlite') || !file.includes('/vault')) return [];
  const database = new DatabaseSync(file, { readOnly: true });
  const rows = database.prepare(`SELECT wrapped FROM key_slots WHERE wrapped NOT LIKE '-%'`).all();
  database.close();
  return rows.flatMap(({ wrapped }) => String(wrapped).match(/v1\.[\w-]{16}\.[\w-]{79}/g) ?? []);
}

test('C-20: who was erased is a list of one scope, and the same id in another scope keeps its key', async () => {
  const dataDirectory = mkdtempSync(join(MEMORY, 'freehold-vault-scopes-'));
  const engine = openNodeEngine({ dataDirectory, onIncident: () => undefined });
  try {
    const vault = engine.unit(unitOfKeys, tenant, { create: true });
    const [one, other] = ['scp_01j00000000000000000000001', 'scp_01j00000000000000000000002'] as const;
    for (const scopeId of [one, other])
      (await vault.supply({ scopeId, subjects: [{ subject: 'cus_ada', keyIds: [] }] })).keys;
    const receipt = await vault.shred({ scopeId: one, subject: 'cus_ada' });
    expect(await vault.shredded({ scopeId: one })).toEqual([receipt]);
    expect(await vault.shredded({ scopeId: other })).toEqual([]);
    expect(
      (await vault.supply({ scopeId: other, subjects: [{ subject: 'cus_ada', keyIds: [] }] })).keys,
    ).toMatchObject({
      cus_ada: { key: expect.any(String) },
    });
  } finally {
    await engine.close();
    rmSync(dataDirectory, { recursive: true });
  }
});
