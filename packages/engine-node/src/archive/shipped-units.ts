/**
 * The units of which the archive has a copy from this data directory, recorded on disk. A unit that is on the record and
 * has no database was lost: it is not made anew. One that is not on the record is new: it never replaces a copy.
 */
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeDirectory, publish, syncDirectory, writeDurably } from '../lib/durable-file.ts';
import { type UnitFiles, unitsIn } from '../lib/unit-files.ts';
import { archiveDirectory } from './ownership.ts';

const LEFT_OUT = '.left-out';

type UnitName = Pick<UnitFiles, 'kind' | 'key'>;

export interface ShippedUnits {
  has(unit: UnitName): boolean;
  /** Whether a restore left the unit out, so that a new one may replace what the archive has of it. */
  wasLeftOut(unit: UnitName): boolean;
  /** Durable when it returns; free for a unit that is on the record. */
  add(unit: UnitName): void;
  /** Called before a unit is removed. */
  delete(unit: UnitName): void;
}

export function openShippedUnits(dataDirectory: string): ShippedUnits {
  const directory = join(archiveDirectory(dataDirectory), 'shipped');
  if (!existsSync(directory))
    recordShipped(dataDirectory, { shipped: earlierUnits(dataDirectory), leftOut: [] });
  const names = new Set(readdirSync(directory));
  return {
    has: (unit) => names.has(nameOf(unit)),
    wasLeftOut: (unit) => names.has(`${nameOf(unit)}${LEFT_OUT}`),
    add: (unit) => {
      const name = nameOf(unit);
      if (names.has(name)) return;
      writeDurably(join(directory, name), '');
      names.add(name);
    },
    delete: (unit) => {
      const name = nameOf(unit);
      if (!names.delete(name)) return;
      rmSync(join(directory, name), { force: true });
      syncDirectory(directory);
    },
  };
}

/** Records the units of a new or restored data directory, in one step. */
export function recordShipped(
  dataDirectory: string,
  { shipped, leftOut }: { readonly shipped: readonly UnitName[]; readonly leftOut: readonly UnitName[] },
): void {
  const directory = join(archiveDirectory(dataDirectory), 'shipped');
  const staged = `${directory}.new`;
  rmSync(staged, { recursive: true, force: true });
  makeDirectory(staged);
  const names = [...shipped.map(nameOf), ...leftOut.map((unit) => `${nameOf(unit)}${LEFT_OUT}`)];
  for (const name of names) writeFileSync(join(staged, name), '', { mode: 0o600 });
  syncDirectory(staged);
  publish(staged, directory);
}

/**
 * Gives up a lost unit, so that a new one may replace what the archive has of it. No engine has the directory open.
 * Returns whether the archive had a copy, as far as the record says.
 */
export function giveUpUnit(dataDirectory: string, unit: UnitName): boolean {
  const directory = join(archiveDirectory(dataDirectory), 'shipped');
  if (!existsSync(join(directory, nameOf(unit)))) return false;
  writeDurably(join(directory, `${nameOf(unit)}${LEFT_OUT}`), '');
  rmSync(join(directory, nameOf(unit)));
  syncDirectory(directory);
  return true;
}

/** A directory that an earlier version archived has no record: its databases are the units that it shipped. */
function earlierUnits(dataDirectory: string): readonly UnitName[] {
  if (!existsSync(join(archiveDirectory(dataDirectory), 'id'))) return [];
  return unitsIn(dataDirectory);
}

function nameOf({ kind, key }: UnitName): string {
  return `${kind}.${key}`;
}
