/** Where everything is kept a second time: a directory on another disk, or a bucket. */
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { makeS3Archive, type S3ArchiveOptions } from '@freehold/archive-s3';
import { type Archive, makeDirectoryArchive } from '@freehold/engine-node';
import { z } from 'zod';

export type ArchiveSettings =
  | { readonly kind: 'directory'; readonly path: string }
  | { readonly kind: 's3'; readonly options: S3ArchiveOptions };

const text = z.string().min(1).optional();

/** The variables of the environment. */
export const archiveEnvironment = {
  /** A directory on another disk that everything is kept in a second time. */
  FREEHOLD_ARCHIVE_DIRECTORY: text,
  /** The same in a bucket. The endpoint is that of the store, without the bucket. */
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

/** Without these there is no bucket to speak to. */
const NEEDED = [
  'FREEHOLD_ARCHIVE_S3_ENDPOINT',
  'FREEHOLD_ARCHIVE_S3_BUCKET',
  'FREEHOLD_ARCHIVE_S3_ACCESS_KEY_ID',
  'FREEHOLD_ARCHIVE_S3_SECRET_ACCESS_KEY',
] as const satisfies readonly (keyof Values)[];

/** What is wrong with them together, in one sentence; null when nothing is. */
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

/** Which archive it is, for people. Holds no credential. */
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
