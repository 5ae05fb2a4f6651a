/** Checks of a start, with one sentence each for the operator: settings, outside places, the archive, and a failed start. */
import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { PlatformError } from '@freehold/contracts';
import {
  type FileBudget,
  limitForUnits,
  type NodeEngine,
  storageFaultOf,
  unitsIn,
} from '@freehold/engine-node';
import { makeAddressList } from '../settings/address-list.ts';
import type { Settings } from '../settings/settings.ts';
import { isBesideData } from '../storage/anchor.ts';
import { within } from '../storage/storage.ts';

/** Warnings about settings that are valid, and probably not intended. */
export function warningsOf(settings: Settings): readonly string[] {
  const { publicUrl, trustedProxies, strayNames, mail, production } = settings;
  return [
    ...strayNames.map((name) => `${name} is no setting of the platform: docs/settings.md lists them.`),
    ...(publicUrl !== null && trustedProxies.length === 0
      ? [
          'FREEHOLD_PUBLIC_URL is set and FREEHOLD_TRUSTED_PROXIES is not: behind a proxy the address of no caller is known, and what is limited by address has one limit for all, or none.',
        ]
      : []),
    ...(mail === null && !production && !isOutboxReadable(settings)
      ? [
          'FREEHOLD_TRUSTED_PROXIES names this machine, so that a person at it cannot be told from a caller of the proxy, and the outbox is closed: set FREEHOLD_SMTP_URL to read mail elsewhere.',
        ]
      : []),
  ];
}

/** Whether a request from this machine can be told from one that a proxy on it relays. */
export function isOutboxReadable({ trustedProxies }: Settings): boolean {
  return !makeAddressList(trustedProxies)('127.0.0.1');
}

/**
 * Warnings about places outside the data directory that cannot be written: the operator should learn it at the start, and
 * not on the day of the first write. Writes nothing.
 */
export function warningsOfPlaces({
  anchor,
  backupsDirectory,
  production,
  dataDirectory,
}: Pick<Settings, 'anchor' | 'backupsDirectory' | 'production' | 'dataDirectory'>): readonly string[] {
  return [
    ...(production ? witnessWarnings(anchor, dataDirectory) : []),
    ...(anchor !== null && 'file' in anchor ? anchorWarnings(anchor.file) : []),
    ...(backupsDirectory !== undefined && !isWritable(nearest(backupsDirectory))
      ? [`FREEHOLD_BACKUPS: nothing can be backed up: ${backupsDirectory} cannot be written.`]
      : []),
  ];
}

/** A warning where the limit of open files keeps databases closed that would be open otherwise. */
export function warningsOfFiles(dataDirectory: string, { limit, openUnits }: FileBudget): readonly string[] {
  const needed = limitForUnits(Number.POSITIVE_INFINITY);
  // The databases are counted only where the count matters.
  const there = limit < needed ? unitsIn(dataDirectory).length : 0;
  if (there <= openUnits) return [];
  return [
    `this process may have ${limit} files open, which is enough for ${openUnits} databases at once, and there are ${there}: the least recently used are closed, and requests wait for databases to open. Raise the limit to ${limitForUnits(there)} (ulimit -n, or LimitNOFILE= of systemd).`,
  ];
}

/** A warning about push tokens from before kinds, which may do everything that a builder could then. */
export function warningsOfTokens(legacy: number): readonly string[] {
  if (legacy === 0) return [];
  const which = legacy === 1 ? '1 push token was' : `${legacy} push tokens were`;
  return [
    `${which} made before tokens had kinds, and may bind host names, mint owner claims and read rows of every scope of its tenant: list with \`freehold push-tokens list --kind legacy\`, and make tokens of a kind instead.`,
  ];
}

/** Without a witness elsewhere, the person who changes the admin log decides whether it verifies. */
function witnessWarnings(anchor: Settings['anchor'], dataDirectory: string): readonly string[] {
  if (anchor === null)
    return [
      'FREEHOLD_ANCHOR_FILE is not set: NOTHING WITNESSES THE ADMIN LOG. A person who can write the data directory can cut off its end, and no verification notices. Name a file on another disk, or an address (FREEHOLD_ANCHOR_URL): docs/operator.md begins with it.',
    ];
  return isBesideData({ anchor, dataDirectory }) && 'file' in anchor
    ? [
        `FREEHOLD_ANCHOR_FILE: ${anchor.file} lies beside the data: a person who changes the log there can change its witness too, and admin-log verify never answers more than unanchored. Name a file on another disk.`,
      ]
    : [];
}

/** The platform does not make the witness's directory: where it is missing, its disk is probably not mounted. */
function anchorWarnings(file: string): readonly string[] {
  const directory = dirname(file);
  const fault = !isDirectory(directory)
    ? `there is no directory ${directory}; make it, or mount its disk`
    : isDirectory(file)
      ? `${file} is a directory; name a file in it`
      : !isWritable(directory)
        ? `${directory} cannot be written`
        : null;
  return fault === null ? [] : [`FREEHOLD_ANCHOR_FILE: nothing witnesses the admin log: ${fault}.`];
}

/** The path itself, or the nearest directory above it that exists. */
function nearest(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearest(dirname(path));
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function isWritable(directory: string): boolean {
  if (!isDirectory(directory)) return false;
  try {
    accessSync(directory, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** The time that a start waits for the archive's first answer. */
const PATIENCE_MS = 3_000;
/** Codes of a file system for a place that is missing, not ours, or full. */
const UNWRITABLE = new Set(['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'EROFS', 'ENOSPC']);

/**
 * Returns a warning about the archive, or null when it answers. Either way the platform goes on shipping to it.
 * @throws PlatformError `conflict`, reason `archive_not_ours`: the settings name the archive of another data directory.
 */
export async function checkArchive(
  engine: Pick<NodeEngine, 'flushArchive' | 'archiveStatus'>,
  patienceMs = PATIENCE_MS,
): Promise<string | null> {
  const failure = await within(
    patienceMs,
    engine.flushArchive().then(
      () => null,
      (error: unknown) => error,
    ),
  );
  const { state, lastError } = engine.archiveStatus();
  if (state === 'refused')
    throw failure instanceof PlatformError
      ? failure
      : new PlatformError('conflict', 'The archive belongs to another data directory.', {
          reason: 'archive_not_ours',
        });
  if (state !== 'failing') return null;
  const code = failure instanceof Error && 'code' in failure ? String(failure.code) : '';
  const fault = UNWRITABLE.has(code)
    ? `its directory cannot be written (${code}); mount it, or make room. It is tried again.`
    : (lastError ?? 'it failed.');
  return `nothing is archived at the moment: ${fault}`;
}

/** With less than this no database opens: a write-ahead log and its index may take a megabyte each. */
const ROOM_BYTES = 2 * 1024 * 1024;

/**
 * One sentence for a start that failed on a full disk, on a directory that cannot be written, or on a damaged database;
 * null for every other error. The error of a failed commit does not say why, so the free space of the disk decides.
 */
export function startFailureOf(
  error: unknown,
  dataDirectory: string,
  freeBytes: (directory: string) => number = freeBytesOf,
): string | null {
  if (!(error instanceof Error)) return null;
  const { reason } = error as { readonly reason?: unknown };
  const fault = typeof reason === 'string' ? reason : storageFaultOf(error);
  if (fault === 'storage_full' || (fault === 'commit_failed' && freeBytes(dataDirectory) < ROOM_BYTES))
    return `The disk of the data directory ${dataDirectory} is full. Make room, and start again: what was stored before is as it was.`;
  if (fault === 'storage_read_only')
    return `The data directory ${dataDirectory} cannot be written. Mount it for writing, or give it to the platform's user, and start again: what was stored before is as it was.`;
  if (fault === 'unit_unreadable')
    return 'A database that the start needs cannot be read. A line above names it, and the command that brings it back.';
  return null;
}

/** The bytes that an ordinary user may still write there; infinite when the directory cannot be asked. */
function freeBytesOf(directory: string): number {
  try {
    const { bavail, bsize } = statfsSync(directory);
    return bavail * bsize;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
