/**
 * `npm start -- restore`: makes the data directory again from its archive, after the loss of a disk. Two things are in no
 * archive: the secrets, which are made anew, and the sealing key, which the operator has to bring.
 */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type Archive, makeNodeBlobStore, restoreDataDirectory } from '@freehold/engine-node';
import { generateIssuerKeys } from '@freehold/issuer';
import { type ArchiveSettings, nameOfArchive, openArchive } from '../settings/archive-settings.ts';
import { type Settings, SettingsError } from '../settings/settings.ts';
import { restoreBlobs } from './blob-archive.ts';
import { readKeys, sealKeyFile } from './seal-keys.ts';
import { makeSecrets, writePrivately } from './secrets.ts';

export const RESTORE_USAGE = 'npm start -- restore [--from DIRECTORY] [--seal-key FILE] [--skip-damaged]';

/**
 * Restores, and returns the lines to show the operator.
 * @throws SettingsError or PlatformError, with one sentence.
 */
export async function restore(
  args: readonly string[],
  settings: Pick<Settings, 'archive' | 'dataDirectory' | 'sealKeys'>,
): Promise<readonly string[]> {
  const { from, sealKey, skipDamaged } = readArguments(args);
  const source = from ?? settings.archive;
  if (source === null)
    throw new SettingsError(
      'There is nothing to restore from: say --from DIRECTORY, or set FREEHOLD_ARCHIVE_DIRECTORY or FREEHOLD_ARCHIVE_S3_ENDPOINT and what belongs to it.',
    );
  const keys = sealKey === null ? null : readKeys(sealKey);
  if (sealKey !== null && keys === null)
    throw new SettingsError(`The sealing key cannot be read: there is no file ${sealKey}.`);
  const archive = openArchive(source);
  if (!(await hasUnits(archive)))
    throw new SettingsError(
      `There is nothing to restore: no data was ever archived in ${nameOfArchive(source)}.`,
    );

  const into = settings.dataDirectory;
  const { units, skipped } = await restoreDataDirectory({ archive, into, skipDamaged });
  const blobs = await restoreBlobs(archive, (scopeId) =>
    makeNodeBlobStore({ dataDirectory: into, scopeId, now: Date.now }),
  );
  await makeSecrets(into, generateIssuerKeys);
  if (keys !== null) writePrivately(sealKeyFile(into), `${keys.join('\n')}\n`);
  const hasKey = keys !== null || settings.sealKeys !== undefined;
  return [
    `Restored ${units} databases and ${blobs.restored} attachments from ${nameOfArchive(source)} into ${into}.`,
    ...(blobs.damaged > 0 ? [`Left out ${blobs.damaged} attachments that are damaged in the archive.`] : []),
    ...skipped.map(({ kind, key, why }) => `Left out ${kind}/${key}: ${why}`),
    ...(hasKey
      ? []
      : [
          `Before the start, put the sealing key into ${sealKeyFile(into)}, or set SEAL_KEY: it is in no archive.`,
        ]),
  ];
}

function readArguments(args: readonly string[]): {
  readonly from: ArchiveSettings | null;
  readonly sealKey: string | null;
  readonly skipDamaged: boolean;
} {
  const options = {
    from: { type: 'string' },
    'seal-key': { type: 'string' },
    'skip-damaged': { type: 'boolean' },
  } as const;
  try {
    const { values } = parseArgs({ args: [...args], options });
    if (values.from !== undefined && !existsSync(values.from))
      throw new SettingsError(`There is nothing to restore from: no directory ${resolve(values.from)}.`);
    return {
      from: values.from === undefined ? null : { kind: 'directory', path: resolve(values.from) },
      sealKey: values['seal-key'] ?? null,
      skipDamaged: values['skip-damaged'] ?? false,
    };
  } catch (error) {
    if (error instanceof SettingsError) throw error;
    throw new SettingsError(`This cannot be done so. Usage: ${RESTORE_USAGE}`);
  }
}

async function hasUnits(archive: Archive): Promise<boolean> {
  for await (const _key of archive.list('units/')) return true;
  return false;
}
