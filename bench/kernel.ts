/**
 * One operation (a permission check, a row, an event, its invocation) against the same SQL on bare `node:sqlite` at
 * the same durability: one caller, and 64 that share a commit. And how long provisioning a scope takes.
 */
import { join } from 'node:path';
import { compare, type Row, within } from './harness.ts';
import { openBare, openNotes, scopeIdOf, tenantId } from './notes.ts';

const CONCURRENT = 64;

export async function benchKernel(directory: string): Promise<Row[]> {
  const { engine, host, stub } = await openNotes(join(directory, 'kernel'));
  const invoke = () => stub.invoke({ operation: 'note/write', input: { text: 'a short note' } });
  const bare = openBare(join(directory, 'bare.sqlite'));

  let provisioned = 0;
  const rows = [
    await compare(
      {
        name: `invoke, ${CONCURRENT} concurrent callers`,
        ours: () => Promise.all(Array.from({ length: CONCURRENT }, invoke)),
        peer: () => bare(CONCURRENT),
        against: 'the same SQL, bare, in groups of 64',
        batch: CONCURRENT,
      },
      0.6,
    ),
    await compare(
      {
        name: 'invoke, one caller',
        ours: invoke,
        peer: () => bare(1),
        against: 'the same SQL, bare, one a commit',
      },
      0.6,
    ),
    await within('provision a scope', 10, () => {
      provisioned += 1;
      return host.provisionScopeLocal({ tenantId, scopeId: scopeIdOf(provisioned), name: 'Bench' });
    }),
  ];
  await engine.close();
  return rows;
}
