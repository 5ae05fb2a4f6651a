/**
 * Ensures one data directory per archive. Otherwise a platform that starts on an empty disk with the old settings
 * would replace the only copy.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PlatformError } from '@freehold/contracts';
import { makeDirectory, writeDurably } from '../lib/durable-file.ts';
import type { Archive } from './archive.ts';
import { getObject, OWNER, putObject } from './objects.ts';

/** Returns the directory of the archive's state within a data directory. */
export function archiveDirectory(dataDirectory: string): string {
  return join(dataDirectory, '.archive');
}

/**
 * Takes an archive without an owner for this directory.
 * @throws PlatformError `conflict`, reason `archive_not_ours`, when it belongs to another one.
 */
export async function requireOwnership(
  archive: Archive,
  dataDirectory: string,
  newId: () => string,
): Promise<void> {
  const own = ownerIdOf(dataDirectory, newId);
  const owner = await ownerOf(archive);
  if (owner === own) return;
  if (owner !== null)
    throw new PlatformError(
      'conflict',
      'The archive belongs to another data directory. Restore from it, or give this one a place of its own.',
      { reason: 'archive_not_ours' },
    );
  await takeOwnership(archive, dataDirectory, newId);
}

/** Takes an archive for this directory, whatever its owner. */
export async function takeOwnership(
  archive: Archive,
  dataDirectory: string,
  newId: () => string,
): Promise<void> {
  await putObject(archive, OWNER, new TextEncoder().encode(ownerIdOf(dataDirectory, newId)));
}

async function ownerOf(archive: Archive): Promise<string | null> {
  for await (const key of archive.list(OWNER))
    if (key === OWNER) return new TextDecoder().decode(await getObject(archive, OWNER));
  return null;
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
