/** Restores a whole data directory from its archive, after the loss of the disk. */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { PlatformError } from '@freehold/contracts';
import { makeDirectory, syncDirectory, writeDurably } from '../lib/durable-file.ts';
import { Fault } from '../lib/fault.ts';
import { unitFiles } from '../lib/unit-files.ts';
import type { Archive } from './archive.ts';
import { fetchUnit } from './fetch-unit.ts';
import { partsOfKey, UNITS } from './objects.ts';
import { takeOwnership } from './ownership.ts';
import type { SealArchive } from './ship-unit.ts';
import { recordShipped } from './shipped-units.ts';

export interface RestoreOptions {
  readonly archive: Archive;
  /** A directory that does not exist, is empty, or is left over from an interrupted restore. */
  readonly into: string;
  /** The inverse of the `sealArchive` that the engine had. */
  readonly openArchive?: SealArchive;
  /** True skips units with damaged or missing objects instead of failing. Default false. */
  readonly skipDamaged?: boolean;
  /** False restores a copy: the archive stays with its owner. Default true. */
  readonly takesOver?: boolean;
  /** Adds to the directory what the archive has beside the units, before the directory counts as restored. */
  readonly complete?: () => Promise<void>;
  /** Default: `crypto.randomUUID`. */
  readonly newId?: () => string;
}

export interface RestoreReport {
  readonly units: number;
  /** The skipped units with the reason. */
  readonly skipped: readonly { readonly kind: string; readonly key: string; readonly why: string }[];
}

const CONCURRENCY = 4;

/**
 * Restores every unit at its last archived commit, with its history and its snapshots, and makes the new directory the
 * archive's owner. Until it is done, no engine opens the directory.
 * @throws PlatformError `conflict`, reason `directory_not_empty`; `unavailable`, reason `archive_damaged`, naming the
 * object; and errors of the archive.
 */
export async function restoreDataDirectory(options: RestoreOptions): Promise<RestoreReport> {
  const { archive, into, openArchive = (bytes) => bytes, skipDamaged = false } = options;
  const { newId = () => crypto.randomUUID() } = options;
  prepare(into);
  const units = await listUnits(archive);
  const waiting = [...units.values()];
  const skipped: { kind: string; key: string; why: string }[] = [];
  const lanes = Array.from({ length: CONCURRENCY }, async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { kind, key, names } = next;
      const files = unitFiles(into, kind, key);
      const why = await fetchUnit({ archive, files, names, openArchive }).then(
        (isThere) => (isThere ? null : 'its first copy never arrived in the archive'),
        (error: unknown) => reasonToSkip(error, skipDamaged),
      );
      if (why === null) continue;
      skipped.push({ kind, key, why });
      for (const path of [files.database, files.history, files.snapshots])
        rmSync(path, { recursive: true, force: true });
    }
  });
  const settled = await Promise.allSettled(lanes);
  for (const each of settled) if (each.status === 'rejected') throw each.reason;
  await options.complete?.();
  const left = new Set(skipped.map(({ kind, key }) => `${kind}/${key}`));
  const shipped = [...units].filter(([name]) => !left.has(name)).map(([, unit]) => unit);
  recordShipped(into, { shipped, leftOut: skipped });
  if (options.takesOver ?? true) await takeOwnership(archive, into, newId);
  rmSync(unfinishedPath(into));
  syncDirectory(into);
  return { units: units.size - skipped.length, skipped };
}

/** @throws PlatformError `unavailable`, reason `data_directory_unfinished`, for a directory that is being restored. */
export function requireFinished(dataDirectory: string): void {
  if (existsSync(unfinishedPath(dataDirectory)))
    throw new PlatformError(
      'unavailable',
      `The data directory ${dataDirectory} is being restored, or its restore was interrupted. Finish it first.`,
      { reason: 'data_directory_unfinished' },
    );
}

interface ArchivedUnit {
  readonly kind: string;
  readonly key: string;
  readonly names: string[];
}

async function listUnits(archive: Archive): Promise<Map<string, ArchivedUnit>> {
  const units = new Map<string, ArchivedUnit>();
  for await (const object of archive.list(UNITS)) {
    const found = partsOfKey(object);
    if (!found) continue;
    const { kind, key, name } = found;
    const unit = units.get(`${kind}/${key}`) ?? { kind, key, names: [] };
    unit.names.push(name);
    units.set(`${kind}/${key}`, unit);
  }
  return units;
}

function prepare(into: string): void {
  makeDirectory(into);
  const names = readdirSync(into);
  if (names.length > 0 && !existsSync(unfinishedPath(into)))
    throw new PlatformError('conflict', `The directory ${into} is not empty. Restore into a new one.`, {
      reason: 'directory_not_empty',
    });
  for (const name of names) if (name !== UNFINISHED) rmSync(join(into, name), { recursive: true });
  writeDurably(unfinishedPath(into), '');
}

const UNFINISHED = 'restoring';

function unfinishedPath(directory: string): string {
  return join(directory, UNFINISHED);
}

function reasonToSkip(error: unknown, skipDamaged: boolean): string {
  if (!(error instanceof Fault)) throw error;
  if (skipDamaged) return error.message;
  throw new PlatformError('unavailable', error.message, { reason: 'archive_damaged', cause: error });
}
