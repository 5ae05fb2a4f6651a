/** Stages a backup of the directory, line by line, until the directory replaces its rows by it in one transaction. */
import { createHash } from 'node:crypto';
import { PlatformError } from '@freehold/contracts';
import type { UnitStub } from '@freehold/store';
import { z } from 'zod';
import { type BackupDeps, openBackup, requireStore, verifyBackup } from '../backups/backup-store.ts';
import type { incomingMethods } from '../backups/imports.ts';
import { DIRECTORY_KEY } from '../lib/feature.ts';
import type { CallOf } from '../lib/handlers.ts';
import type { LongEffect, LongRun } from '../long-work/effects.ts';
import type { directoryRestore, restoreMethods } from './operations.ts';
import { addressOfBackup, type RestoreDirectoryWork, type StagedTable, unknownBackup } from './operations.ts';

const BATCH_ROWS = 500;

const header = z.object({
  freehold: z.literal(1),
  kind: z.literal('directory'),
  key: z.literal(DIRECTORY_KEY),
  tables: z.array(z.object({ name: z.string(), columns: z.array(z.string()), rows: z.int() })),
});
const rowLine = z.object({ t: z.int(), r: z.array(z.unknown()) });
const trailer = z.object({ end: z.literal(true), sha256: z.string() });

interface RestoreDeps extends BackupDeps {
  readonly directory: UnitStub<
    ReturnType<typeof restoreMethods> & Pick<ReturnType<typeof incomingMethods>, 'rememberedBackup'>
  >;
}

/** It never commits: until the directory has replaced its rows, in one transaction, nothing is changed. */
export const restoreDirectoryEffect: LongEffect<RestoreDirectoryWork, null, RestoreDeps> = {
  check: async ({ backups, directory }, call) => {
    const store = requireStore(backups);
    const { backup: id } = (call as unknown as CallOf<typeof directoryRestore>).body;
    // A backup that is remembered and missing is damage, and no mistake of the caller.
    if (await directory.rememberedBackup({ id })) return;
    const body = await store.open(addressOfBackup(id));
    if (!body) throw unknownBackup();
    await body.cancel();
  },
  run: async (deps, work, run) => {
    const store = requireStore(deps.backups);
    if (work.record) await verifyBackup(store, work.record, run);
    const body = work.record ? await openBackup(store, work) : await store.open(work.address);
    if (!body) throw unknownBackup();
    await stage(deps, body, run);
    return null;
  },
  cleanUp: async ({ directory }) => void (await directory.clearStaged()),
};

async function stage(
  { directory }: RestoreDeps,
  body: ReadableStream<Uint8Array>,
  run: LongRun,
): Promise<void> {
  await directory.clearStaged();
  const hash = createHash('sha256');
  let tables: StagedTable[] | null = null;
  let total = 0;
  let sealed = false;
  let done = 0;
  let batch: { table: StagedTable; values: string }[] = [];
  const flush = async (): Promise<void> => {
    await directory.stageRows({ from: done, rows: batch });
    done += batch.length;
    batch = [];
    run.progress({ done, total, unit: 'rows' });
  };
  for await (const line of linesOf(body)) {
    if (sealed) throw damaged();
    const value = parse(line);
    const end = trailer.safeParse(value);
    if (end.success) {
      if (end.data.sha256 !== hash.digest('hex')) throw damaged();
      sealed = true;
      continue;
    }
    hash.update(`${line}\n`);
    if (tables === null) {
      const head = header.safeParse(value);
      if (!head.success) throw foreign();
      tables = head.data.tables.map(({ name, columns }) => ({ name, columns }));
      total = head.data.tables.reduce((sum, { rows }) => sum + rows, 0);
      continue;
    }
    const row = rowLine.safeParse(value);
    const table = row.success ? tables[row.data.t] : undefined;
    if (!row.success || !table || row.data.r.length !== table.columns.length) throw damaged();
    batch.push({ table, values: JSON.stringify(row.data.r) });
    if (batch.length >= BATCH_ROWS) await flush();
  }
  await flush();
  if (!sealed || done !== total) throw damaged();
}

async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let rest = '';
  for await (const chunk of body) {
    const pieces = (rest + decode(decoder, chunk)).split('\n');
    rest = pieces.pop() ?? '';
    yield* pieces;
  }
  if (rest !== '') throw damaged();
}

function decode(decoder: TextDecoder, chunk: Uint8Array): string {
  try {
    return decoder.decode(chunk, { stream: true });
  } catch (cause) {
    throw damaged(cause);
  }
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw damaged(cause);
  }
}

function damaged(cause?: unknown): PlatformError {
  return new PlatformError('validation_failed', 'The backup is damaged.', { reason: 'copy_damaged', cause });
}

function foreign(): PlatformError {
  return new PlatformError('validation_failed', 'This is no backup of a directory.', {
    reason: 'copy_foreign',
  });
}
