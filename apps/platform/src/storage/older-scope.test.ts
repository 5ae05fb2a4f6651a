/** A person who was erased stays erased when an older scope comes back from the archive (spec C-20). */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openNodeEngine } from '@freehold/engine-node';
import {
  defineOperations,
  defineVertical,
  makeScopeHost,
  makeScopeUnit,
  makeUnitVault,
  makeVaultUnit,
  operation,
} from '@freehold/kernel';
import { makeKeyring } from '@freehold/store';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { owner, scopeId, shop, tenant } from '../../../../packages/kernel/test/shop.ts';
import { openArchive } from '../settings/archive-settings.ts';
import { parseSettings } from '../settings/settings.ts';
import { recover } from './recover.ts';
import { restore } from './restore.ts';

const ref = { tenantId: tenant, scopeId: scopeId as never };

/** Keeps names in a table of its own, each under its person. */
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
        return null;
      },
    }),
    'person/list': operation({
      summary: 'List names',
      input: z.strictObject({}),
      output: z.array(z.string()),
      permission: 'box.list',
      readOnly: true,
      run: (ctx) => ctx.sql.all<{ label: string }>('SELECT label FROM boxes').map(({ label }) => label),
    }),
  }),
  onShred: ({ sql }, person) => sql.run('DELETE FROM boxes WHERE label = ?', person),
});
const unit = makeScopeUnit(vertical);
const vaultUnit = makeVaultUnit(makeKeyring(['the sealing key of these tests, long enough']));

function settingsOf(home: string, name: string) {
  return parseSettings({
    FREEHOLD_DATA: join(home, name),
    FREEHOLD_ARCHIVE_DIRECTORY: join(home, 'archive'),
  });
}

function startOn({ dataDirectory, archive }: ReturnType<typeof settingsOf>) {
  const engine = openNodeEngine({
    dataDirectory,
    onIncident: (error) => {
      throw error;
    },
    ...(archive ? { archive: { archive: openArchive(archive), intervalMs: 60_000 } } : {}),
  });
  onTestFinished(() => engine.close());
  const vault = makeUnitVault((tenantId) => engine.unit(vaultUnit, tenantId, { create: true }));
  const host = makeScopeHost({ engine, unit, vault });
  const scope = host.scope(scopeId);
  const invoke = (name: string, input: object) => scope.invoke({ principal: owner, operation: name, input });
  return { engine, host, scope, invoke, names: async () => (await invoke('person/list', {})).output };
}

/** A platform that erased a person; the archive has the vault of then, and the scope of before. */
async function erasedSince() {
  const home = mkdtempSync(join(tmpdir(), 'freehold-older-scope-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const settings = settingsOf(home, 'data');
  const { engine, host, scope, invoke } = startOn(settings);
  await host.provisionScopeLocal({ ...ref, name: 'Acme' });
  await scope.assignRole({ principal: owner, role: 'owner', by: 'platform' });
  for (const name of ['cus_ada', 'cus_grace']) await invoke('person/note', { name });
  await engine.flushArchive();
  const path = join('units', unit.kind, scopeId);
  cpSync(join(home, 'archive', path), join(home, 'before'), { recursive: true });
  await host.shredSubjectLocal({ ...ref, subject: 'cus_ada' });
  await engine.close();
  rmSync(join(home, 'archive', path), { recursive: true });
  cpSync(join(home, 'before'), join(home, 'archive', path), { recursive: true });
  return { home, settings };
}

test('by a restore of the data directory', async () => {
  const { home } = await erasedSince();
  const settings = settingsOf(home, 'new');
  await restore([], settings);
  const first = startOn(settings);
  expect(await first.names()).toEqual(['cus_grace']);
  await first.invoke('person/note', { name: 'cus_new' });
  await first.engine.close();
  // The history leads on, and with it the archive.
  await restore([], settingsOf(home, 'third'));
  expect(await startOn(settingsOf(home, 'third')).names()).toEqual(['cus_grace', 'cus_new']);
});

test('by a recovery of the scope', async () => {
  const { settings } = await erasedSince();
  rmSync(join(settings.dataDirectory, unit.kind), { recursive: true });
  expect((await recover([`${unit.kind}/${scopeId}`], settings))[0]).toContain('as it had arrived there');
  expect(await startOn(settings).names()).toEqual(['cus_grace']);
});
