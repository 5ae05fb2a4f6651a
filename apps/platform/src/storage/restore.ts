/**
 * `npm start -- restore`: makes the data directory again from its archive, after the loss of a disk. Two things are in no
 * archive: the secrets, which are made anew, and the sealing key, which the operator has to bring.
 */
import { existsSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type Archive, makeNodeBlobStore, restoreDataDirectory } from '@freehold/engine-node';
import { generateIssuerKeys } from '@freehold/issuer';
import type { BlobStore } from '@freehold/store';
import { type ArchiveSettings, nameOfArchive, openArchive } from '../settings/archive-settings.ts';
import { type Settings, SettingsError } from '../settings/settings.ts';
import { restoreBlobs } from './blob-archive.ts';
import { layOutRestored } from './deployed-copies.ts';
import { changeOlderScope } from './older-scope.ts';
import { findMissing, type MissingItem } from './restore-check.ts';
import { readKeys, sealKeyFile } from './seal-keys.ts';
import { makeSecrets, writePrivately } from './secrets.ts';

export const RESTORE_USAGE =
  'npm start -- restore [--from DIRECTORY] [--seal-key FILE] [--skip-damaged] [--copy]';

export interface RestoreResult {
  /** For the operator. */
  readonly lines: readonly string[];
  /** False when the records name something that is not there, or a database was left out. */
  readonly isComplete: boolean;
}

/** Number of missing things that are shown; all of them are in the file {@link MISSING}. */
const SHOWN_MAX = 20;
/** The file of a restored data directory that lists what is missing. */
const MISSING = 'missing-after-restore';

/**
 * Restores, and compares the result with what its records name.
 * @throws SettingsError or PlatformError, with one sentence.
 */
export async function restore(
  args: readonly string[],
  settings: Pick<Settings, 'archive' | 'dataDirectory' | 'sealKeys'>,
): Promise<RestoreResult> {
  const { from, sealKey, skipDamaged, isCopy } = readArguments(args);
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
  const storeOf = (scopeId: string): BlobStore =>
    makeNodeBlobStore({ dataDirectory: into, scopeId, now: Date.now });
  let blobs = { restored: 0, damaged: 0 };
  let missing: readonly MissingItem[] = [];
  let deployed: Awaited<ReturnType<typeof layOutRestored>> = { laidOut: 0, failed: [] };
  const { units, skipped } = await restoreDataDirectory({
    archive,
    into,
    skipDamaged,
    takesOver: !isCopy,
    changeOlder: changeOlderScope,
    complete: async () => {
      // Earlier versions archived the marks of idle scopes, which are true of one moment.
      rmSync(join(into, 'rest'), { recursive: true, force: true });
      blobs = await restoreBlobs(archive, storeOf);
      await makeSecrets(into, generateIssuerKeys);
      if (keys !== null) writePrivately(sealKeyFile(into), `${keys.join('\n')}\n`);
    },
    check: async () => {
      deployed = await layOutRestored(into);
      missing = await findMissing(into, storeOf);
      const lines = missing.map(({ what, path }) => `${what}\t${path}\n`);
      if (lines.length > 0) writePrivately(join(into, MISSING), lines.join(''));
    },
  });
  const hasKey = keys !== null || settings.sealKeys !== undefined;
  return {
    lines: [
      `Restored ${units} databases and ${blobs.restored} attachments from ${nameOfArchive(source)} into ${into}.`,
      ...(blobs.damaged > 0
        ? [`Left out ${blobs.damaged} attachments that are damaged in the archive.`]
        : []),
      ...(deployed.laidOut > 0 ? [`Laid out the databases of ${deployed.laidOut} deployed instances.`] : []),
      ...deployed.failed.map(
        ({ key, why }) => `Not laid out: the databases of the deployed instance ${key}: ${why}`,
      ),
      ...skipped.map(({ kind, key, why }) => `Left out ${kind}/${key}: ${why}`),
      ...linesOfMissing(missing, into),
      ...(hasKey
        ? []
        : [
            `Before the start, put the sealing key into ${sealKeyFile(into)}, or set SEAL_KEY: it is in no archive.`,
          ]),
    ],
    isComplete: missing.length === 0 && skipped.length === 0 && deployed.failed.length === 0,
  };
}

function linesOfMissing(missing: readonly MissingItem[], into: string): readonly string[] {
  if (missing.length === 0) return [];
  const hidden = missing.length - SHOWN_MAX;
  return [
    `Missing: ${missing.length} things that the records name had not reached the archive.`,
    ...missing.slice(0, SHOWN_MAX).map(({ what }) => `  ${what}`),
    ...(hidden > 0 ? [`  and ${hidden} more`] : []),
    `All are in ${join(into, MISSING)}, with their paths: if the old disk can still be read, copy them from there. To go on without them, start the platform: an attachment without bytes answers blob_missing.`,
  ];
}

function readArguments(args: readonly string[]): {
  readonly from: ArchiveSettings | null;
  readonly sealKey: string | null;
  readonly skipDamaged: boolean;
  /** The archive stays with its owner. */
  readonly isCopy: boolean;
} {
  const options = {
    from: { type: 'string' },
    'seal-key': { type: 'string' },
    'skip-damaged': { type: 'boolean' },
    copy: { type: 'boolean' },
  } as const;
  try {
    const { values } = parseArgs({ args: [...args], options });
    if (values.from !== undefined && !existsSync(values.from))
      throw new SettingsError(`There is nothing to restore from: no directory ${resolve(values.from)}.`);
    return {
      from: values.from === undefined ? null : { kind: 'directory', path: resolve(values.from) },
      sealKey: values['seal-key'] ?? null,
      skipDamaged: values['skip-damaged'] ?? false,
      isCopy: values.copy ?? false,
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
