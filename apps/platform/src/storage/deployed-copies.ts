/** Databases of deployed instances in a data directory on which no platform runs: restored, or to be recovered. */
import { existsSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { PlatformError } from '@freehold/contracts';
import { lockDataDirectory, requireFinished } from '@freehold/engine-node';
import { bundleUnit, copyUnit, layOut, objectIdOf } from '@freehold/runtime-workerd';
import type { UnitContext } from '@freehold/store';
import { markOlder } from './older-scope.ts';

export const DEPLOYED_FOLDER = 'runtime';

/**
 * Lays out the databases of deployed instances from their copies.
 * @returns their number, and what kept copies from being laid out.
 */
export async function layOutRestored(
  dataDirectory: string,
): Promise<{ readonly laidOut: number; readonly failed: readonly { key: string; why: string }[] }> {
  const failed: { key: string; why: string }[] = [];
  let laidOut = 0;
  for (const object of keysOf(dataDirectory, copyUnit.kind)) {
    const url = pathToFileURL(join(dataDirectory, copyUnit.kind, `${object}.sqlite`));
    url.searchParams.set('immutable', '1');
    const database = new DatabaseSync(url, { readOnly: true });
    try {
      const { state, pages } = methodsOver(database);
      const copy = {
        state: async (input: Parameters<typeof state>[0]) => state(input),
        pages: async (input: Parameters<typeof pages>[0]) => pages(input),
      };
      const folder = join(dataDirectory, DEPLOYED_FOLDER);
      if (await layOut({ folder, object, copy, changeOlder: markOlder, now: Date.now })) laidOut += 1;
    } catch (error) {
      failed.push({ key: object, why: error instanceof Error ? error.message : 'it failed' });
    } finally {
      database.close();
    }
  }
  return { laidOut, failed };
}

/** The folder and the object of a scope of a vertical that was deployed; null for another vertical. */
export function deployedPlace(
  dataDirectory: string,
  { id, vertical }: { readonly id: string; readonly vertical: string },
): { readonly directory: string; readonly object: string } | null {
  if (!existsSync(join(dataDirectory, bundleUnit.kind, `${vertical}.sqlite`))) return null;
  return { directory: join(DEPLOYED_FOLDER, vertical, 'objects', 'scopes'), object: objectIdOf(id) };
}

/**
 * Puts the databases of a deployed instance aside, which the next start makes again from their copy.
 * @returns the paths that they have now.
 * @throws PlatformError `not_found` where there is no copy or no database; `conflict` while the platform runs.
 */
export function putAsideDeployed(dataDirectory: string, scope: string, nowMs: number): readonly string[] {
  requireFinished(dataDirectory);
  const unlock = lockDataDirectory(dataDirectory);
  try {
    const object = objectIdOf(scope);
    if (!existsSync(join(dataDirectory, copyUnit.kind, `${object}.sqlite`)))
      throw new PlatformError(
        'not_found',
        `There is no copy of the databases of ${scope} here. If the archive has one, bring it back first: npm start -- recover ${copyUnit.kind}/${object}.`,
        { reason: 'no_copy' },
      );
    const stamp = new Date(nowMs).toISOString().replace(/[-:]|\.\d+/g, '');
    return filesOf(dataDirectory, object).map((path) => {
      const aside = `${path}.damaged-${stamp}`;
      renameSync(path, aside);
      return aside;
    });
  } finally {
    unlock();
  }
}

/** With their logs: SQLite finds them beside a database of the same name. */
function filesOf(dataDirectory: string, object: string): readonly string[] {
  const folder = join(dataDirectory, DEPLOYED_FOLDER);
  const verticals = existsSync(folder) ? readdirSync(folder) : [];
  return verticals.flatMap((vertical) => {
    const directory = join(folder, vertical, 'objects', 'scopes');
    // A preview has the same instance, on data of its own.
    if (vertical.startsWith('-') || !existsSync(directory)) return [];
    return readdirSync(directory)
      .filter((name) => name.startsWith(`${object}.`) && !name.includes('.damaged-'))
      .map((name) => join(directory, name));
  });
}

/** The unit reads the restored file as it reads an open one. */
function methodsOver(database: DatabaseSync): ReturnType<typeof copyUnit.open> {
  const db = {
    get: (sql: string, ...values: SQLInputValue[]) => database.prepare(sql).get(...values),
    all: (sql: string, ...values: SQLInputValue[]) => database.prepare(sql).all(...values),
  };
  return copyUnit.open({ db } as unknown as UnitContext);
}

function keysOf(dataDirectory: string, kind: string): readonly string[] {
  const directory = join(dataDirectory, kind);
  if (!existsSync(directory)) return [];
  return readdirSync(directory).flatMap((name) => /^([0-9a-f]{64})\.sqlite$/.exec(name)?.[1] ?? []);
}
