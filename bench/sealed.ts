/** The cost of sealing for one caller: making a person whose event is sealed, beside the same with a plain event. */
import { join } from 'node:path';
import { openNodeEngine } from '@freehold/engine-node';
import {
  defineOperations,
  defineVertical,
  makeScopeHost,
  makeScopeUnit,
  makeUnitVault,
  makeVaultUnit,
  type OperationContext,
  operation,
} from '@freehold/kernel';
import { makeKeyring } from '@freehold/store';
import { z } from 'zod';
import { compare, type Row } from './harness.ts';
import { principal, scopeIdOf, tenantId } from './notes.ts';

const input = z.strictObject({ name: z.string() });
const output = z.strictObject({ person: z.string() });
const NAME = 'Ada Lovelace, Saint James Square 12';

const create = (isSealed: boolean) =>
  operation({
    summary: 'Make a person',
    input,
    output,
    permission: 'person.make',
    newSubjects: () => (isSealed ? 1 : 0),
    run: (ctx: OperationContext, { name }) => {
      const id = ctx.newId('per');
      ctx.sql.run('INSERT INTO people (id, name) VALUES (?, ?)', id, name);
      ctx.emit({
        type: 'person.made',
        entity: { type: 'person', id },
        payload: { name },
        ...(isSealed ? { piiClass: 'direct', subject: id } : {}),
      });
      return { person: id };
    },
  });

const vertical = defineVertical({
  manifest: {
    slug: 'people',
    name: 'People',
    version: '1.0.0',
    permissions: { 'person.make': 'making people' },
    roles: { maker: { name: 'Maker', permissions: ['person.make'] } },
    ownerRole: 'maker',
    entities: { person: {} },
    env: {},
  },
  migrations: [
    {
      version: 1,
      name: 'people',
      sql: 'CREATE TABLE people (id TEXT PRIMARY KEY, name TEXT NOT NULL) STRICT, WITHOUT ROWID',
    },
  ],
  operations: defineOperations({ 'person/sealed': create(true), 'person/plain': create(false) }),
});

/** Opens one scope with a vault. Each side has its own, so that neither pays for the other's background work. */
async function openPeople(dataDirectory: string) {
  const engine = openNodeEngine({ dataDirectory, onIncident: (error) => console.error(error) });
  const vaultUnit = makeVaultUnit(makeKeyring(['the sealing key of the benchmarks, long enough']));
  const host = makeScopeHost({
    engine,
    unit: makeScopeUnit(vertical),
    vault: makeUnitVault((tenant) => engine.unit(vaultUnit, tenant, { create: true })),
  });
  const scopeId = scopeIdOf(0);
  await host.provisionScopeLocal({ tenantId, scopeId, name: 'Bench' });
  await host.scope(scopeId).assignRole({ principal, role: 'maker', by: 'platform' });
  return { engine, scope: host.scope(scopeId), stub: host.operations(scopeId, principal) };
}

export async function benchSealed(directory: string): Promise<Row[]> {
  const [sealed, plain] = await Promise.all(
    ['sealed', 'plain'].map((name) => openPeople(join(directory, name))),
  );
  if (!sealed || !plain) throw new Error('there are two sides');
  let made = 0;
  const row = await compare(
    {
      name: 'create a person with a sealed event, one caller',
      ours: async () => {
        await sealed.stub.invoke({ operation: 'person/sealed', input: { name: NAME } });
        made += 1;
      },
      peer: () => plain.stub.invoke({ operation: 'person/plain', input: { name: NAME } }),
      against: 'the same with a plain event',
    },
    0.9,
  );
  const tables = await sealed.scope.tables({});
  const rowsOf = (table: string): number | null => tables.find(({ name }) => name === table)?.rows ?? null;
  const [bound, unbound] = [rowsOf('_spine_subject_keys'), rowsOf('_spine_unbound_keys')];
  // A table is counted up to 100,000 rows.
  if (bound !== null && unbound !== null && bound + unbound !== made)
    throw new Error(`${made} people were made, and ${bound + unbound} keys were used`);
  await Promise.all([sealed.engine.close(), plain.engine.close()]);
  return [row];
}
