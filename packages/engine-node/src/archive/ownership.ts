/**
 * Ensures that one data directory continues an archive. The archive names its owner and the owner's term; each start
 * takes a new term. So a new disk with the old settings is refused, and so is an older copy of the owner's directory:
 * either would replace the only copy by a history that does not follow it.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PlatformError } from '@freehold/contracts';
import { makeDirectory, writeDurably } from '../lib/durable-file.ts';
import type { Archive } from './archive.ts';
import { contentsOf, OWNER, putObject, UNITS } from './objects.ts';

/** Returns the directory of the archive's state within a data directory. */
export function archiveDirectory(dataDirectory: string): string {
  return join(dataDirectory, '.archive');
}

export interface Ownership {
  /**
   * Takes the next term of an archive that is this directory's or has neither owner nor units; later calls check that
   * no other process has taken one since.
   * @throws PlatformError `conflict`, reason `archive_not_ours`.
   */
  require(): Promise<void>;
}

export function makeOwnership(archive: Archive, dataDirectory: string, newId: () => string): Ownership {
  let claimed: string | null = null;
  return {
    require: async () => {
      const found = await ownerOf(archive);
      if (claimed !== null) {
        if (found !== claimed) throw notOurs(TAKEN);
        return;
      }
      const id = ownerIdOf(dataDirectory, newId);
      if (found === null) {
        for await (const _unit of archive.list(UNITS)) throw notOurs(WITHOUT_OWNER);
      } else if (idOf(found) !== id) throw notOurs(ANOTHER);
      else requireKnownTerm(found, dataDirectory);
      await archive.tidy?.();
      claimed = await takeTerm(archive, dataDirectory, { newId, found });
    },
  };
}

/**
 * Requires that a directory on which no engine runs was the last one to continue an archive. Changes nothing.
 * @throws PlatformError `conflict`, reason `archive_not_ours`.
 */
export async function requireOwner(archive: Archive, dataDirectory: string): Promise<void> {
  const found = await ownerOf(archive);
  if (found === null) throw notOurs(WITHOUT_OWNER);
  const path = join(archiveDirectory(dataDirectory), 'id');
  if (!existsSync(path) || idOf(found) !== readFileSync(path, 'utf8')) throw notOurs(ANOTHER);
  requireKnownTerm(found, dataDirectory);
}

function requireKnownTerm(found: string, dataDirectory: string): void {
  const id = idOf(found);
  if (found !== id && !termsOf(dataDirectory).some((term) => found === `${id}.${term}`)) throw notOurs(OLDER);
}

/** Takes an archive for this directory, whatever its owner. */
export async function takeOwnership(
  archive: Archive,
  dataDirectory: string,
  newId: () => string,
): Promise<void> {
  await takeTerm(archive, dataDirectory, { newId, found: null });
}

/** A crash before the last write leaves two terms on disk, of which the archive has one. */
async function takeTerm(
  archive: Archive,
  dataDirectory: string,
  { newId, found }: { readonly newId: () => string; readonly found: string | null },
): Promise<string> {
  const id = ownerIdOf(dataDirectory, newId);
  const [former, next] = [found?.split('.')[1], newId()];
  writeDurably(termsPath(dataDirectory), former === undefined ? next : `${former}\n${next}`);
  await putObject(archive, OWNER, new TextEncoder().encode(`${id}.${next}`));
  writeDurably(termsPath(dataDirectory), next);
  return `${id}.${next}`;
}

async function ownerOf(archive: Archive): Promise<string | null> {
  const object = await archive.get(OWNER);
  return object && new TextDecoder().decode(contentsOf(OWNER, object));
}

/** An owner that an earlier version wrote has no term. */
function idOf(owner: string): string {
  return owner.split('.')[0] ?? '';
}

function ownerIdOf(dataDirectory: string, newId: () => string): string {
  const directory = archiveDirectory(dataDirectory);
  const path = join(directory, 'id');
  if (!existsSync(path)) {
    makeDirectory(directory);
    writeDurably(path, newId());
  }
  return readFileSync(path, 'utf8');
}

function termsPath(dataDirectory: string): string {
  return join(archiveDirectory(dataDirectory), 'term');
}

function termsOf(dataDirectory: string): readonly string[] {
  const path = termsPath(dataDirectory);
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [];
}

const WAYS =
  'Restore from it into an empty directory (npm start -- restore), or name an empty place for the archive.';
const ANOTHER = `The archive belongs to another data directory. ${WAYS}`;
const WITHOUT_OWNER = `The archive has data and no owner, so that it may be another installation's. ${WAYS}`;
const OLDER = `The archive was continued from another copy of this data directory, which would be replaced by an older state. ${WAYS}`;
const TAKEN =
  'Another process continues the archive: this one archives nothing more. Stop one of the two; only what the other one has stays archived.';

function notOurs(message: string): PlatformError {
  return new PlatformError('conflict', message, { reason: 'archive_not_ours' });
}
