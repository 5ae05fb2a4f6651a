/** Compares what the records of a restored data directory name with what is there: attachments, and databases of scopes. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import type { BlobStore } from '@freehold/store';
import { deployedPlace } from './deployed-copies.ts';

/** Something that records name and that is not there. */
export interface MissingItem {
  /** One line for people, without names of people or files: `scope scp_…: attachment att_… of order ord_…`. */
  readonly what: string;
  /** The path that it would have below the data directory. */
  readonly path: string;
}

const SCOPE_KIND = 'scope-';

/** Reads every database of a scope once. No engine has the directory open. */
export async function findMissing(
  dataDirectory: string,
  storeOf: (scopeId: string) => Pick<BlobStore, 'list'>,
): Promise<readonly MissingItem[]> {
  const kinds = readdirSync(dataDirectory).filter((name) => name.startsWith(SCOPE_KIND));
  const missing = missingScopes(dataDirectory, kinds);
  for (const scope of deployedScopes(dataDirectory))
    missing.push(...(await missingOfDeployed(dataDirectory, scope, storeOf)));
  for (const kind of kinds)
    for (const name of readdirSync(join(dataDirectory, kind))) {
      const scope = /^([a-zA-Z0-9_-]+)\.sqlite$/.exec(name)?.[1];
      if (scope)
        missing.push(...(await missingAttachments(join(dataDirectory, kind, name), scope, storeOf(scope))));
    }
  return missing;
}

/** Scopes of applications that run here. Those of applications elsewhere have their databases there. */
function missingScopes(dataDirectory: string, kinds: readonly string[]): MissingItem[] {
  const known = knownScopes(dataDirectory);
  const builtIn = rowsOf<{ slug: string }>(
    join(dataDirectory, 'directory', 'main.sqlite'),
    'verticals',
    'SELECT slug FROM verticals WHERE built_in IS NOT NULL',
  );
  // An application may have lost its only database, and earlier versions kept no record of what is compiled in.
  const here = new Set([...kinds, ...builtIn.map(({ slug }) => `${SCOPE_KIND}${slug}`)]);
  return known.flatMap(({ id, vertical }) => {
    const path = join(`${SCOPE_KIND}${vertical}`, `${id}.sqlite`);
    return here.has(`${SCOPE_KIND}${vertical}`) && !existsSync(join(dataDirectory, path))
      ? [{ what: `scope ${id}: its database`, path }]
      : [];
  });
}

interface KnownScope {
  readonly id: string;
  readonly vertical: string;
}

function knownScopes(dataDirectory: string): readonly KnownScope[] {
  return rowsOf<KnownScope>(
    join(dataDirectory, 'directory', 'main.sqlite'),
    'scopes',
    "SELECT id, vertical FROM scopes WHERE status NOT IN ('reaped', 'provisioning') ORDER BY id",
  );
}

/** The scopes of verticals that were deployed here, with the files of their databases. */
function deployedScopes(dataDirectory: string): readonly {
  readonly id: string;
  readonly directory: string;
  readonly object: string;
  readonly files: string[];
}[] {
  return knownScopes(dataDirectory).flatMap(({ id, vertical }) => {
    const place = deployedPlace(dataDirectory, { id, vertical });
    if (!place) return [];
    const directory = join(dataDirectory, place.directory);
    const names = existsSync(directory) ? readdirSync(directory) : [];
    const files = names.filter((name) => name.startsWith(place.object) && name.endsWith('.sqlite'));
    return [{ id, ...place, files }];
  });
}

async function missingOfDeployed(
  dataDirectory: string,
  { id, directory, object, files }: ReturnType<typeof deployedScopes>[number],
  storeOf: (scopeId: string) => Pick<BlobStore, 'list'>,
): Promise<MissingItem[]> {
  if (files.length === 0)
    return [{ what: `scope ${id}: its database`, path: join(directory, `${object}.*`) }];
  const found: MissingItem[] = [];
  for (const name of files)
    found.push(...(await missingAttachments(join(dataDirectory, directory, name), id, storeOf(id))));
  return found;
}

async function missingAttachments(
  database: string,
  scope: string,
  store: Pick<BlobStore, 'list'>,
): Promise<MissingItem[]> {
  const named = rowsOf<{ id: string; type: string; entity: string; digest: string }>(
    database,
    '_spine_attachments',
    `SELECT id, entity_type AS type, entity_id AS entity, digest FROM _spine_attachments
      WHERE removed_at IS NULL ORDER BY id`,
  );
  if (named.length === 0) return [];
  const present = new Set<string>();
  for await (const { digest } of store.list()) present.add(digest);
  return named
    .filter(({ digest }) => !present.has(digest))
    .map(({ id, type, entity, digest }) => ({
      what: `scope ${scope}: attachment ${id} of ${type} ${entity}`,
      path: join('blobs', scope, digest.slice(0, 2), digest),
    }));
}

/** The rows of a closed database; none where it or the table is missing. Immutable: nothing beside the file is made. */
function rowsOf<Row>(path: string, table: string, sql: string): readonly Row[] {
  if (!existsSync(path)) return [];
  const url = pathToFileURL(path);
  url.searchParams.set('immutable', '1');
  const database = new DatabaseSync(url, { readOnly: true });
  try {
    const found = database
      .prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?")
      .get(table);
    return found ? (database.prepare(sql).all() as unknown as Row[]) : [];
  } finally {
    database.close();
  }
}
