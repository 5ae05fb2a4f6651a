/** Restores a whole data directory from its archive, after the loss of the disk. */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { PlatformError } from '@freehold/contracts';
import { makeDirectory, syncDirectory, writeDurably } from '../lib/durable-file.ts';
import { Fault } from '../lib/fault.ts';
import { unitFiles } from '../lib/unit-files.ts';
import { removeFiles } from '../units/swap.ts';
import { addCommit, type ChangeOlder } from './add-commit.ts';
import type { Archive } from './archive.ts';
import { fetchUnit } from './fetch-unit.ts';
import { partsOfKey, UNITS } from './objects.ts';
import { takeOwnership } from './ownership.ts';
import { PRESENT, type SealArchive } from './ship-unit.ts';
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
  /** Changes fetched units: they are older than what other units know of them. Default: no change. */
  readonly changeOlder?: ChangeOlder;
  /** Adds to the directory what the archive has beside the units, before the directory counts as restored. */
  readonly complete?: () => Promise<void>;
  /** Looks at what was restored, at the end: units may have been fetched again after `complete`. */
  readonly check?: () => Promise<void>;
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
  let units = await listUnits(archive);
  const skipped = new Map<string, string>();
  const fetchAll = async (wanted: Iterable<ArchivedUnit>): Promise<void> => {
    const waiting = [...wanted];
    const lanes = Array.from({ length: CONCURRENCY }, async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        const { kind, key, names } = next;
        const files = unitFiles(into, kind, key);
        const why = await fetchUnit({ archive, files, names, openArchive }).then(
          (isThere) => (isThere ? null : 'its first copy never arrived in the archive'),
          (error: unknown) => reasonToSkip(error, skipDamaged),
        );
        const change = why === null && options.changeOlder?.(kind);
        if (change) await addCommit(files, change);
        if (why === null) continue;
        skipped.set(nameOf(next), why);
        removeFiles(files);
      }
    });
    const settled = await Promise.allSettled(lanes);
    for (const each of settled) if (each.status === 'rejected') throw each.reason;
  };
  await fetchAll(units.values());
  await options.complete?.();
  if (options.takesOver ?? true) {
    await takeOwnership(archive, into, newId);
    // The directory that owned the archive until now may have shipped more while this one was fetched.
    const fetched = units;
    units = await listUnits(archive);
    const changed = [...fetched.values(), ...units.values()].filter(
      (unit) => !isSame(fetched.get(nameOf(unit)), units.get(nameOf(unit))),
    );
    for (const unit of changed) {
      removeFiles(unitFiles(into, unit.kind, unit.key));
      skipped.delete(nameOf(unit));
    }
    await fetchAll(new Set(changed.flatMap((unit) => units.get(nameOf(unit)) ?? [])));
  }
  await options.check?.();
  const leftOut = [...units].flatMap(([name, { kind, key }]) => {
    const why = skipped.get(name);
    return why === undefined ? [] : [{ kind, key, why }];
  });
  const shipped = [...units.values()].filter((unit) => !skipped.has(nameOf(unit)));
  recordShipped(into, { shipped, leftOut });
  rmSync(unfinishedPath(into));
  syncDirectory(into);
  return { units: units.size - leftOut.length, skipped: leftOut };
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

function nameOf({ kind, key }: ArchivedUnit): string {
  return `${kind}/${key}`;
}

/** Whether nothing was shipped in between. The name of a unit without history stays when its contents change. */
function isSame(before: ArchivedUnit | undefined, after: ArchivedUnit | undefined): boolean {
  if (!before || !after || after.names.includes(PRESENT)) return false;
  return before.names.toSorted().join('\n') === after.names.toSorted().join('\n');
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
