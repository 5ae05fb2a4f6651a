/**
 * The work of a scope against the same SQL on bare `node:sqlite` at the same durability: one operation (a permission
 * check, a row, an event, its invocation) by one caller and by 64 that share a commit; operations that invoke
 * operations; deliveries. And the time to provision a scope.
 */
import { join } from 'node:path';
import type { ScopeStub } from '@freehold/kernel';
import { openBareNotes } from './bare-notes.ts';
import { compare, compareRounds, type Row, within } from './harness.ts';
import { openNotes, scopeIdOf, tenantId } from './notes.ts';

const CONCURRENT = 64;
const NESTED = 3;
/** The events that wait at the start of a round of deliveries, and the number of deliveries in one commit. */
const WAITING = 4_000;
const DELIVERED_PER_COMMIT = 50;
const TEXT = 'a short note';

export async function benchKernel(directory: string): Promise<Row[]> {
  return [...(await benchInvoke(directory)), ...(await benchDeliveries(directory))];
}

async function benchInvoke(directory: string): Promise<Row[]> {
  const { engine, host, scope, stub } = await openNotes(join(directory, 'kernel'));
  const bare = openBareNotes(join(directory, 'bare.sqlite'));
  const callers = (work: () => Promise<unknown>) => () =>
    Promise.all(Array.from({ length: CONCURRENT }, work));
  const texts = Array.from({ length: NESTED }, () => TEXT);
  let notes = 0;
  const write = async (): Promise<void> => {
    await stub.invoke({ operation: 'note/write', input: { text: TEXT } });
    notes += 1;
  };
  const writeEach = async (): Promise<void> => {
    await stub.invoke({ operation: 'note/write-each', input: { texts } });
    notes += NESTED;
  };

  let provisioned = 0;
  const rows = [
    await compare(
      {
        name: `invoke, ${CONCURRENT} concurrent callers`,
        ours: callers(write),
        peer: () => bare.write(CONCURRENT),
        against: 'the same SQL, bare, in groups of 64',
        batch: CONCURRENT,
      },
      0.7,
    ),
    await compare(
      {
        name: 'invoke, one caller',
        ours: write,
        peer: () => bare.write(1),
        against: 'the same SQL, bare, one a commit',
      },
      0.6,
    ),
    await compare(
      {
        name: `invoke that invokes ${NESTED}, ${CONCURRENT} callers`,
        ours: callers(writeEach),
        peer: () => bare.writeEach(CONCURRENT, NESTED),
        against: 'the same SQL and savepoints, bare, in groups of 64',
        batch: CONCURRENT * (1 + NESTED),
      },
      0.7,
    ),
    await within('provision a scope', 10, () => {
      provisioned += 1;
      return host.provisionScopeLocal({ tenantId, scopeId: scopeIdOf(provisioned), name: 'Bench' });
    }),
  ];
  const written = await rowsOf(scope, 'notes');
  if (written !== notes && written !== null)
    throw new Error(`${notes} notes were written, and ${written} are there`);
  await engine.close();
  bare.close();
  return rows;
}

async function benchDeliveries(directory: string): Promise<Row[]> {
  const { engine, scope, stub } = await openNotes(join(directory, 'deliveries'), { indexing: true });
  const bare = openBareNotes(join(directory, 'bare-deliveries.sqlite'));
  const ours = async (): Promise<number> => {
    const input = { text: TEXT, times: WAITING };
    await stub.invoke({ operation: 'note/write-many', input });
    return timed(async () => {
      let settled = 0;
      for (let done = -1; done !== 0; settled += done) done = (await scope.work({})).settled;
      return settled;
    });
  };
  const peer = async (): Promise<number> => {
    bare.fill(WAITING);
    return timed(async () => {
      let settled = 0;
      for (let done = -1; done !== 0; settled += done) done = bare.deliver(DELIVERED_PER_COMMIT);
      return settled;
    });
  };
  await ours();
  await peer();
  const row = await compareRounds(
    { name: 'deliveries to a subscription', ours, peer, against: 'the same SQL, bare, 50 a commit' },
    0.5,
  );
  const brought = await rowsOf(scope, 'indexed');
  if (brought !== bare.rows('indexed') || (await rowsOf(scope, '_spine_deliveries')) !== 0)
    throw new Error(`${brought} notes are indexed, and ${bare.rows('indexed')} on the bare side`);
  await engine.close();
  bare.close();
  return [row];
}

/** Returns the number of rows of a table; null for more than the scope counts, which is 100,000. */
async function rowsOf(scope: ScopeStub, table: string): Promise<number | null | undefined> {
  return (await scope.tables({})).find(({ name }) => name === table)?.rows;
}

/** Returns deliveries a second. @throws Error when some were not made. */
async function timed(work: () => Promise<number>): Promise<number> {
  const startedMs = performance.now();
  const settled = await work();
  const ms = performance.now() - startedMs;
  if (settled !== WAITING) throw new Error(`${settled} of ${WAITING} deliveries were brought`);
  return (1_000 * settled) / ms;
}
