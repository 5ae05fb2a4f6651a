/** The operations about backups (spec 4.3; design: control-plane-routes, "Copies and erasure"). */
import {
  EXPORT_MEDIA_TYPES,
  exportFormat,
  ID_PREFIXES,
  idSchema,
  pageOf,
  pageQuery,
  scopeId,
  tenantId,
  timestamp,
} from '@freehold/contracts';
import { z } from 'zod';
import { adminOperation } from './admin-operation.ts';
import { dryRunQuery, planCount } from './dry-run.ts';
import { operationRecord } from './long-work.ts';

const tag = 'Backups';
const params = z.strictObject({ tenant: tenantId, scope: scopeId });
export const backupId = idSchema(ID_PREFIXES.backup);
/** 16 GiB: what a scope may weigh, and what nobody uploads by accident. */
const UPLOAD_BYTES_MAX = 16 * 1024 * 1024 * 1024;

export const backupRecord = z
  .object({
    id: backupId,
    kind: z.enum(['scope', 'directory']),
    origin: z
      .enum(['taken', 'scheduled', 'reap', 'upload'])
      .describe(
        'taken: asked for, and kept until somebody deletes it. scheduled: made by the platform itself, and deleted by it when newer ones take its place. reap: made before the scope was deleted. upload: a copy that came from outside',
      ),
    tenant: z.string().nullable(),
    scope: z.string().nullable(),
    vertical: z.string().nullable(),
    format: exportFormat,
    bytes: z.int(),
    sha256: z
      .string()
      .describe('Of its bytes, in hexadecimal; they were read back and compared when it was written'),
    address: z.string().describe('Where it lies in the place that the operator keeps backups in'),
    bookmark: z.string().nullable().describe('The moment that it shows, where the engine has bookmarks'),
    at: timestamp,
  })
  .meta({ id: 'Backup' });
export type BackupRecord = z.infer<typeof backupRecord>;

const keeping =
  'The bytes go to the place that the operator keeps backups in, are read back and compared. Without such a place this is unsupported (reason no_backup_store).';

export const backupDeletePlan = z
  .object({
    dryRun: z.literal(true),
    backup: backupRecord.describe('Its bytes and its record go'),
    others: planCount.describe('How many other backups of the same stay'),
    newest: timestamp.nullable().describe('When the newest of these was made; null: this is the only one'),
  })
  .meta({ id: 'BackupDeletePlan' });

export const scopeBackupsList = adminOperation({
  name: 'scope-backups.list',
  summary: 'List the backups of a scope, newest first',
  description: 'Those of a scope that was reaped are still there.',
  tag,
  method: 'GET',
  path: '/tenants/:tenant/scopes/:scope/backups',
  shortPath: '/scopes/:scope/backups',
  input: { params, query: z.strictObject(pageQuery) },
  output: pageOf(backupRecord),
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
  problems: ['not_found'],
});

export const scopeBackupsCreate = adminOperation({
  name: 'scope-backups.create',
  summary: 'Back a scope up',
  description: `A copy of one moment, outside of the platform's own data. ${keeping} Its result is the backup.`,
  tag,
  method: 'POST',
  path: '/tenants/:tenant/scopes/:scope/backups',
  shortPath: '/scopes/:scope/backups',
  input: {
    params,
    body: z.strictObject({
      format: exportFormat.default('ndjson').describe('ndjson can be read and restored anywhere'),
    }),
  },
  output: operationRecord,
  success: 202,
  builder: 'own-tenant',
  audit: 'audit',
  problems: ['not_found', 'conflict', 'invalid_transition', 'unsupported'],
});

export const scopeBackupsDelete = adminOperation({
  name: 'scope-backups.delete',
  summary: 'Delete a backup of a scope',
  tag,
  method: 'DELETE',
  path: '/tenants/:tenant/scopes/:scope/backups/:backup',
  shortPath: '/scopes/:scope/backups/:backup',
  input: { params: z.strictObject({ ...params.shape, backup: backupId }), query: dryRunQuery },
  output: z.null(),
  plan: backupDeletePlan,
  success: 204,
  builder: 'none',
  staff: 'administer',
  audit: 'audit',
  destructive: true,
  problems: ['not_found', 'unsupported'],
});

export const importsCreate = adminOperation({
  name: 'imports.create',
  summary: 'Bring a copy of a scope in from outside',
  description: `An export, as its bytes. Nothing is restored by this: say { from: { export } } to scopes.restore. ${keeping} It is listed among the backups of the scope.`,
  tag,
  method: 'POST',
  path: '/tenants/:tenant/scopes/:scope/imports',
  input: { params },
  upload: { mediaTypes: Object.values(EXPORT_MEDIA_TYPES), bytesMax: UPLOAD_BYTES_MAX },
  output: backupRecord,
  success: 201,
  builder: 'none',
  audit: 'audit',
  problems: ['not_found', 'unsupported', 'unavailable'],
});

export const directoryBackupsList = adminOperation({
  name: 'directory-backups.list',
  summary: 'List the backups of the directory, newest first',
  tag,
  method: 'GET',
  path: '/directory/backups',
  input: { query: z.strictObject(pageQuery) },
  output: pageOf(backupRecord),
  success: 200,
  builder: 'none',
  audit: 'none',
});

export const directoryBackupsCreate = adminOperation({
  name: 'directory-backups.create',
  summary: 'Back the directory up',
  description: `Everything the platform knows, its logs with it, and nothing of what is inside scopes. ${keeping} Its result is the backup.`,
  tag,
  method: 'POST',
  path: '/directory/backups',
  input: { body: z.strictObject({}) },
  output: operationRecord,
  success: 202,
  builder: 'none',
  audit: 'audit',
  problems: ['conflict', 'unsupported'],
});

export const directoryBackupsDelete = adminOperation({
  name: 'directory-backups.delete',
  summary: 'Delete a backup of the directory',
  description:
    'A copy of the directory holds who belonged to it when it was made, tenants that were reaped since included: whoever has to be forgotten altogether is forgotten here too.',
  tag,
  method: 'DELETE',
  path: '/directory/backups/:backup',
  input: { params: z.strictObject({ backup: backupId }), query: dryRunQuery },
  output: z.null(),
  plan: backupDeletePlan,
  success: 204,
  builder: 'none',
  staff: 'administer',
  audit: 'audit',
  destructive: true,
  problems: ['not_found', 'unsupported'],
});

const lost = z
  .object({ tenants: z.int(), scopes: z.int() })
  .describe('How many are there now and not in the backup: nothing leads to them afterwards');

const takenAway = z.object({
  action: z.string().describe('The operation that took it away'),
  at: timestamp,
  tenant: z.string().nullable(),
  scope: z.string().nullable(),
  vertical: z.string().nullable(),
  other: z.string().nullable().describe('What else it was about: a host name, a key, an id'),
});
export type TakenAway = z.infer<typeof takenAway>;

export const directoryRestorePlan = z
  .object({
    dryRun: z.literal(true),
    backup: backupRecord
      .nullable()
      .describe('Null for one that this directory does not remember, and that is looked for in its place'),
    keeps: z.array(z.string()).describe('Tables whose rows stay'),
    keptAway: z
      .object({
        count: z.int(),
        items: z.array(takenAway).describe('The first 200 of them'),
      })
      .describe('What was taken away since, by the log, and stays so where the backup holds it'),
  })
  .meta({ id: 'DirectoryRestorePlan' });

export const directoryRestored = z
  .object({
    backup: backupId,
    tables: z.int(),
    rows: z.int(),
    lost,
    keptAway: z
      .array(z.object({ action: z.string(), count: z.int() }))
      .describe(
        'What the backup held and was taken away since: how many rows, by the operation that took it away',
      ),
    epoch: z.int().describe('How often the directory was restored'),
    previousHead: z.object({ sequence: z.int(), hash: z.string() }),
  })
  .meta({ id: 'DirectoryRestored' });
export type DirectoryRestored = z.infer<typeof directoryRestored>;

export const directoryRestore = adminOperation({
  name: 'directory.restore',
  summary: 'Replace what the directory knows by a backup',
  description:
    'Whole or not at all. The logs stay, and what happened stays: usage, issues, sweep runs, long work and the list of backups. Tokens stay as they are, so that none that was revoked works again; tenants and scopes that were reaped stay reaped. Whatever was taken away since the backup stays taken away (host names that were unbound, tenants and scopes that were suspended, grants, identities and entitlements that were deleted, versions that were rejected): keptAway counts it. A row of the admin log begins a new epoch and names the head before it. With dryRun, answers which tables would be kept, and what stays taken away. Its result is a DirectoryRestored. A backup that this directory does not remember is looked for where it would lie, so that a new installation can be given an old directory.',
  tag,
  method: 'POST',
  path: '/directory/restore',
  input: {
    query: z.strictObject({
      dryRun: z.boolean().optional().describe('True answers the plan, and changes nothing'),
    }),
    body: z.strictObject({ backup: backupId.describe('A backup of the directory') }),
  },
  output: operationRecord,
  plan: directoryRestorePlan,
  success: 202,
  builder: 'none',
  staff: 'administer',
  audit: 'audit',
  destructive: true,
  problems: ['not_found', 'conflict', 'unsupported'],
});
