/** Settings of the archive (a directory on another disk, or a bucket) and of the backups that the platform makes by itself. */
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { makeS3Archive, type S3ArchiveOptions } from '@freehold/archive-s3';
import type { BackupPolicy } from '@freehold/directory';
import { type Archive, makeDirectoryArchive } from '@freehold/engine-node';
import { z } from 'zod';

export type ArchiveSettings =
  | { readonly kind: 'directory'; readonly path: string }
  | { readonly kind: 's3'; readonly options: S3ArchiveOptions };

const text = z.string().min(1).optional();

/** The variables of the environment. */
export const archiveEnvironment = {
  /** A directory on another disk for a second copy of everything. */
  FREEHOLD_ARCHIVE_DIRECTORY: text,
  /** The same in a bucket. The endpoint does not name the bucket. */
  FREEHOLD_ARCHIVE_S3_ENDPOINT: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .optional(),
  FREEHOLD_ARCHIVE_S3_BUCKET: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'must be the name of a bucket')
    .optional(),
  FREEHOLD_ARCHIVE_S3_ACCESS_KEY_ID: text,
  FREEHOLD_ARCHIVE_S3_SECRET_ACCESS_KEY: text,
  FREEHOLD_ARCHIVE_S3_SESSION_TOKEN: text,
  FREEHOLD_ARCHIVE_S3_REGION: text,
  FREEHOLD_ARCHIVE_S3_PREFIX: z
    .string()
    .regex(/^[\w.-]+(?:\/[\w.-]+)*\/?$/, 'must be a path of letters, digits, _, - and .')
    .optional(),
} as const;

const environment = z.object(archiveEnvironment);
type Values = z.infer<typeof environment>;

/** A bucket needs all of these. */
const NEEDED = [
  'FREEHOLD_ARCHIVE_S3_ENDPOINT',
  'FREEHOLD_ARCHIVE_S3_BUCKET',
  'FREEHOLD_ARCHIVE_S3_ACCESS_KEY_ID',
  'FREEHOLD_ARCHIVE_S3_SECRET_ACCESS_KEY',
] as const satisfies readonly (keyof Values)[];

/** The first contradiction between them, in one sentence; null when there is none. */
export function findArchiveFault(values: Values, dataDirectory: string): string | null {
  const { FREEHOLD_ARCHIVE_DIRECTORY: directory } = values;
  const given = s3Names(values);
  if (directory !== undefined && given.length > 0)
    return `FREEHOLD_ARCHIVE_DIRECTORY cannot be used: there is one archive, and ${given[0]} names another; unset one of them.`;
  if (directory !== undefined && isInside(dataDirectory, resolve(directory)))
    return 'FREEHOLD_ARCHIVE_DIRECTORY cannot be used: it lies in the data directory, and would be lost with it.';
  if (directory !== undefined && isInside(resolve(directory), dataDirectory))
    return 'FREEHOLD_ARCHIVE_DIRECTORY cannot be used: the data directory lies in it; give the archive a directory of its own.';
  const missing = given.length === 0 ? undefined : NEEDED.find((name) => values[name] === undefined);
  return missing === undefined
    ? null
    : `${missing} is missing: an archive in a bucket needs it beside ${given[0]}.`;
}

/** @param values without a fault. */
export function archiveOf(values: Values): ArchiveSettings | null {
  if (values.FREEHOLD_ARCHIVE_DIRECTORY !== undefined)
    return { kind: 'directory', path: resolve(values.FREEHOLD_ARCHIVE_DIRECTORY) };
  const [endpoint, bucket, accessKeyId, secretAccessKey] = NEEDED.map((name) => values[name]);
  if (!endpoint || !bucket || !accessKeyId || !secretAccessKey) return null;
  const prefix = values.FREEHOLD_ARCHIVE_S3_PREFIX?.replace(/\/?$/, '/');
  const [region, sessionToken] = [
    values.FREEHOLD_ARCHIVE_S3_REGION,
    values.FREEHOLD_ARCHIVE_S3_SESSION_TOKEN,
  ];
  return {
    kind: 's3',
    options: {
      endpoint,
      bucket,
      accessKeyId,
      secretAccessKey,
      ...(prefix === undefined ? {} : { prefix }),
      ...(region === undefined ? {} : { region }),
      ...(sessionToken === undefined ? {} : { sessionToken }),
    },
  };
}

export function openArchive(settings: ArchiveSettings): Archive {
  return settings.kind === 'directory'
    ? makeDirectoryArchive(settings.path)
    : makeS3Archive(settings.options);
}

/** The name of the archive, for people. Holds no credential. */
export function nameOfArchive(settings: ArchiveSettings): string {
  if (settings.kind === 'directory') return settings.path;
  const { endpoint, bucket, prefix = '' } = settings.options;
  return `${new URL(endpoint).host}/${bucket}/${prefix}`;
}

function s3Names(values: Values): string[] {
  return Object.keys(archiveEnvironment).filter(
    (name) => name.startsWith('FREEHOLD_ARCHIVE_S3_') && values[name as keyof Values] !== undefined,
  );
}

/** Whether a path is the directory or lies below it. */
export function isInside(directory: string, path: string): boolean {
  const way = relative(directory, path);
  return !isAbsolute(way) && way.split(sep)[0] !== '..';
}

const HOUR_MS = 3_600_000;
/** Each backup is a copy of everything; the archive sends changes, and serves shorter intervals. */
const EVERY_MIN_MS = HOUR_MS;
const EVERY_MAX_MS = 31 * 24 * HOUR_MS;
const EVERY_WORDS = 'must be a number of hours or days such as 12h or 1d, from 1h to 31d, or off';

const count = (fallback: number, min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,3}$/, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be a whole number from ${min} to ${max}`)
    .default(fallback);

export const backupEnvironment = {
  /** The interval of backups of everything. Unset: daily where a place for backups is named, and else never. */
  FREEHOLD_BACKUPS_EVERY: z
    .string()
    .transform((text, ctx): number | null => {
      const [, amount, unit] = /^(\d{1,3})(h|d)$/.exec(text) ?? [];
      const ms = Number(amount) * (unit === 'd' ? 24 : 1) * HOUR_MS;
      if (text === 'off') return null;
      if (ms >= EVERY_MIN_MS && ms <= EVERY_MAX_MS) return ms;
      ctx.addIssue({ code: 'custom', message: EVERY_WORDS });
      return z.NEVER;
    })
    .optional(),
  /** The newest of these backups is kept for each of so many days, and of so many weeks. */
  FREEHOLD_BACKUPS_KEEP_DAILY: count(7, 1, 366),
  FREEHOLD_BACKUPS_KEEP_WEEKLY: count(4, 0, 520),
};

/** Null for never. The default directory beside the data directory does not count as a named place. */
export function backupPolicyOf(values: {
  readonly FREEHOLD_BACKUPS?: string | undefined;
  readonly FREEHOLD_ARCHIVE_S3_ENDPOINT?: string | undefined;
  readonly FREEHOLD_BACKUPS_EVERY?: number | null | undefined;
  readonly FREEHOLD_BACKUPS_KEEP_DAILY: number;
  readonly FREEHOLD_BACKUPS_KEEP_WEEKLY: number;
}): BackupPolicy | null {
  const isNamed = values.FREEHOLD_BACKUPS !== undefined || values.FREEHOLD_ARCHIVE_S3_ENDPOINT !== undefined;
  const { FREEHOLD_BACKUPS_EVERY: everyMs = isNamed ? 24 * HOUR_MS : null } = values;
  if (everyMs === null) return null;
  return {
    everyMs,
    keepDaily: values.FREEHOLD_BACKUPS_KEEP_DAILY,
    keepWeekly: values.FREEHOLD_BACKUPS_KEEP_WEEKLY,
  };
}
