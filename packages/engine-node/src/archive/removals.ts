/**
 * Units whose removal must be repeated in the archive. They are recorded on disk, so that it continues after a
 * restart.
 */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { makeDirectory, syncDirectory, writeDurably } from '../lib/durable-file.ts';
import { type UnitFiles, unitFiles } from '../lib/unit-files.ts';
import type { Archive } from './archive.ts';
import { unitPrefix } from './objects.ts';
import { archiveDirectory } from './ownership.ts';

export interface Removals {
  /** Durable when it returns. */
  add(files: UnitFiles): void;
  has(files: UnitFiles): boolean;
  all(): readonly UnitFiles[];
  /** Deletes every object of a unit from the archive, then its record. */
  carryOut(archive: Archive, files: UnitFiles): Promise<void>;
}

export function makeRemovals(dataDirectory: string): Removals {
  const directory = join(archiveDirectory(dataDirectory), 'removed');
  const pathOf = ({ kind, key }: UnitFiles): string => join(directory, `${kind}.${key}`);
  const names = (): string[] => (existsSync(directory) ? readdirSync(directory) : []);
  const pending = new Set(names());

  return {
    add: (files) => {
      makeDirectory(directory);
      writeDurably(pathOf(files), '');
      pending.add(`${files.kind}.${files.key}`);
    },
    has: ({ kind, key }) => pending.has(`${kind}.${key}`),
    all: () =>
      [...pending].flatMap((name) => {
        const [kind, key] = name.split('.');
        return kind && key ? [unitFiles(dataDirectory, kind, key)] : [];
      }),
    carryOut: async (archive, files) => {
      for await (const key of archive.list(unitPrefix(files))) await archive.delete(key);
      rmSync(pathOf(files), { force: true });
      syncDirectory(directory);
      pending.delete(`${files.kind}.${files.key}`);
    },
  };
}
