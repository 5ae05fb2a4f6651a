/** Making, listing and deleting backups of scopes and of the directory. */
import {
  EXPORT_MEDIA_TYPES,
  exportFormat,
  ID_PREFIXES,
  PlatformError,
  pageOf,
  pageQuery,
  scopeId,
  tenantId,
  timestamp,
  toTimestamp,
} from '@freehold/contracts';
import type { SqlDatabase, UnitContext } from '@freehold/store';
import { z } from 'zod';
import type { Actor } from '../access/actors.ts';
import { adminOperation, dryRunQuery, planCount } from '../declarations/admin-operation.ts';
import { type BackupRecord, backupId, backupRecord, tag } from '../declarations/backups.ts';
import { operationRecord } from '../declarations/long-work.ts';
import type { LogTarget, ScopeRecord } from '../declarations/records.ts';
import { type AuditEntry, change, delegated, longWork, planned, read } from '../lib/handlers.ts';
import { targetOf } from '../scopes/operations.ts';
import { requireScope, type ScopeRow, scopeOfRow } from '../scopes/store.ts';
import { scopeSubject } from '../scopes/target.ts';
import { loadTenant } from '../tenants/store.ts';
import type { BackupOrder, WrittenBackup } from './backup-store.ts';
import { receiveCopy } from './imports.ts';
import { backedUpPage, type ScheduledCopy, scheduledOf, type UnitOfBackups } from './schedule.ts';
import { forgetBackup, listBackups, othersBeside, requireBackup, saveBackup } from './store.ts';

const params = z.strictObject({ tenant: tenantId, scope: scopeId });

/** 16 GiB: the most that a scope may weigh. */
const UPLOAD_BYTES_MAX = 16 * 1024 * 1024 * 1024;

const keeping =
  'The bytes go to the place that the operator keeps backups in, are read back and compared. Without such a place this is unsupported (reason no_backup_store).';

const backupDeletePlan = z
  .object({
    dryRun: z.literal(true),
    backup: backupRecord.describe('Its bytes and its record go'),
    others: planCount.describe('How many other backups of the same stay'),
    newest: timestamp.nullable().describe('When the newest of these was made; null: this is the only one'),
  })
  .meta({ id: 'BackupDeletePlan' });

export interface ScopeBackupWork {
  readonly scope: ScopeRecord;
  readonly order: BackupOrder;
  readonly format: BackupRecord['format'];
  /** Default: `taken`. */
  readonly origin?: ScheduledOrigin;
}

export interface DirectoryBackupWork extends BackupOrder {
  /** Default: `taken`. */
  readonly origin?: ScheduledOrigin;
}

type ScheduledOrigin = Extract<BackupRecord['origin'], 'scheduled'>;

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
  builder: 'own-tenant',
  pushToken: 'read',
  problems: ['not_found'],
});

export const readScopeBackups = /* @__PURE__ */ read(scopeBackupsList, ({ db }, { params, query }) => {
  const { id } = requireScope(db, params);
  return { value: listBackups(db, { ...query, scope: id }) };
});

export const directoryBackupsList = adminOperation({
  name: 'directory-backups.list',
  summary: 'List the backups of the directory, newest first',
  tag,
  method: 'GET',
  path: '/directory/backups',
  input: { query: z.strictObject(pageQuery) },
  output: pageOf(backupRecord),
});

export const readDirectoryBackups = /* @__PURE__ */ read(directoryBackupsList, ({ db }, { query }) => ({
  value: listBackups(db, { ...query, kind: 'directory' }),
}));

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
  problems: ['not_found', 'conflict', 'invalid_transition', 'unsupported'],
});

export const backUpScope = /* @__PURE__ */ longWork<
  typeof scopeBackupsCreate,
  ScopeBackupWork,
  WrittenBackup
>(scopeBackupsCreate, {
  begin: (context, { params, body, actor }) => {
    const row = requireCopied(context.db, params);
    if (actor.kind === 'system') requireKept(context.db, row);
    const work = { ...scopeBackupWork(context, row, body.format), ...originFor(actor) };
    return {
      intent: {
        target: targetOf(row),
        before: null,
        after: { backup: work.order.id, format: body.format },
      },
      work,
      subject: scopeSubject(row.id),
      unit: 'bytes',
    };
  },
  settle: (context, { scope, origin }, written) => {
    const backup = scopeBackup(context, scope, written, origin ?? 'taken');
    saveBackup(context.db, backup);
    return {
      result: backup,
      audit: { target: targetOf(scope), before: null, after: backupFields(backup) },
    };
  },
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
  problems: ['conflict', 'unsupported'],
});

export const backUpDirectory = /* @__PURE__ */ longWork<
  typeof directoryBackupsCreate,
  DirectoryBackupWork,
  WrittenBackup
>(directoryBackupsCreate, {
  begin: (context, { actor }) => {
    const id = context.newId(ID_PREFIXES.backup);
    const work = { id, address: `directory/${id}.ndjson`, ...originFor(actor) };
    const intent = { target: NO_PRINCIPAL, before: null, after: { backup: id } };
    return { intent, work, subject: 'directory', unit: 'bytes' };
  },
  settle: (context, { origin }, written) => {
    const about = { tenant: null, scope: null, vertical: null };
    const backup = backupOf(context, written, { kind: 'directory', origin: origin ?? 'taken', ...about });
    saveBackup(context.db, backup);
    return { result: backup, audit: { target: NO_PRINCIPAL, before: null, after: backupFields(backup) } };
  },
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
  staff: 'administer',
  destructive: true,
  problems: ['not_found', 'unsupported'],
});

export const deleteBackup = /* @__PURE__ */ delegated<typeof scopeBackupsDelete, BackupRecord, null>(
  scopeBackupsDelete,
  {
    begin: ({ db }, { params }) => {
      const row = requireScope(db, params);
      const backup = requireBackup(db, params.backup, { scope: row.id });
      return {
        intent: { target: targetOf(row), before: backupFields(backup), after: { backup: backup.id } },
        prepared: backup,
      };
    },
    settle: ({ db }, { params }) => {
      forgetBackup(db, params.backup);
      const target = targetOf(requireScope(db, params));
      return { value: null, audit: { target, before: null, after: { backup: params.backup } } };
    },
    supersedes: isAboutSame,
  },
);

export const directoryBackupsDelete = adminOperation({
  name: 'directory-backups.delete',
  summary: 'Delete a backup of the directory',
  description:
    'A copy of the directory names the people and tenants that it knew when it was made, reaped ones included: delete it where they have to be forgotten altogether.',
  tag,
  method: 'DELETE',
  path: '/directory/backups/:backup',
  input: { params: z.strictObject({ backup: backupId }), query: dryRunQuery },
  output: z.null(),
  plan: backupDeletePlan,
  success: 204,
  staff: 'administer',
  destructive: true,
  problems: ['not_found', 'unsupported'],
});

export const deleteDirectoryBackup = /* @__PURE__ */ delegated<
  typeof directoryBackupsDelete,
  BackupRecord,
  null
>(directoryBackupsDelete, {
  begin: ({ db }, { params }) => {
    const backup = requireBackup(db, params.backup, { scope: null });
    const after = { backup: backup.id };
    return { intent: { target: NO_PRINCIPAL, before: backupFields(backup), after }, prepared: backup };
  },
  settle: ({ db }, { params }) => {
    forgetBackup(db, params.backup);
    const audit = { target: NO_PRINCIPAL, before: null, after: { backup: params.backup } };
    return { value: null, audit };
  },
  supersedes: isAboutSame,
});

export const planBackupDelete = /* @__PURE__ */ planned<typeof scopeBackupsDelete>(
  scopeBackupsDelete,
  ({ db }, { params }) => {
    const { id } = requireScope(db, params);
    return deletion(db, requireBackup(db, params.backup, { scope: id }));
  },
);

export const planDirectoryBackupDelete = /* @__PURE__ */ planned<typeof directoryBackupsDelete>(
  directoryBackupsDelete,
  ({ db }, { params }) => deletion(db, requireBackup(db, params.backup, { scope: null })),
);

/** The plan of a deletion. */
function deletion(db: SqlDatabase, backup: BackupRecord) {
  const { others, newest } = othersBeside(db, backup);
  return { dryRun: true, backup, others, newest: newest === null ? null : toTimestamp(newest) } as const;
}

/** A deletion settles only earlier deletions of the same backup. */
function isAboutSame(
  { params }: { readonly params: { readonly backup: string } },
  earlier: AuditEntry['after'],
): boolean {
  return earlier?.backup === params.backup;
}

export const importsCreate = adminOperation({
  name: 'imports.create',
  summary: 'Bring a copy of a scope in from outside',
  description: `An export, as its bytes. The application checks it at once as a restore does: a damaged copy, one of another application and one of another tenant are refused, and leave nothing. Nothing is restored by this: say { from: { export } } to scopes.restore. ${keeping} It is listed among the backups of the scope.`,
  tag,
  method: 'POST',
  path: '/tenants/:tenant/scopes/:scope/imports',
  input: { params },
  upload: { mediaTypes: Object.values(EXPORT_MEDIA_TYPES), bytesMax: UPLOAD_BYTES_MAX },
  output: backupRecord,
  success: 201,
  problems: ['not_found', 'unsupported', 'unavailable'],
});

/** Makes a copy known whose bytes are in the store already. */
export const importCopy = /* @__PURE__ */ change(importsCreate, (context, call) => {
  const row = requireCopied(context.db, call.params);
  // The host administration received the bytes, and filled these fields in.
  const written = { ...call.body, ...call.stored } as unknown as WrittenBackup;
  receiveCopy(context.db, written.id);
  const backup = scopeBackup(context, scopeOfRow(row), written, 'upload');
  saveBackup(context.db, backup);
  return { value: backup, audit: { target: targetOf(row), before: null, after: backupFields(backup) } };
});

export type BackupMethods = ReturnType<typeof backupMethods>;

export function backupMethods(context: UnitContext) {
  return {
    /** Makes the backup of a reap known before the reap has ended, so that it stays whatever the outcome. */
    keepBackup: ({
      scope,
      written,
    }: {
      readonly scope: ScopeRecord;
      readonly written: WrittenBackup;
    }): BackupRecord => {
      const backup = scopeBackup(context, scope, written, 'reap');
      saveBackup(context.db, backup);
      return backup;
    },
    /** A page of scopes, by id, with the times of their scheduled backups. */
    unitsToBackUp: ({ after }: { readonly after: string | null }): readonly UnitOfBackups[] =>
      backedUpPage(context.db, { after, nowMs: context.now() }),

    /** The scheduled backups of a scope, or of the directory, newest first. */
    scheduledBackups: ({ scope }: { readonly scope: string | null }): readonly ScheduledCopy[] =>
      scheduledOf(context.db, scope),

    forgetBackup: ({ id }: { readonly id: string }): null => {
      forgetBackup(context.db, id);
      return null;
    },
  };
}

export function scopeBackupWork(
  context: Pick<UnitContext, 'newId'>,
  row: ScopeRow,
  format: BackupRecord['format'],
): ScopeBackupWork {
  const id = context.newId(ID_PREFIXES.backup);
  return { scope: scopeOfRow(row), order: { id, address: `scopes/${row.id}/${id}.${format}` }, format };
}

/** The fields of a backup in the admin log. */
export function backupFields(backup: BackupRecord): NonNullable<AuditEntry['after']> {
  const { id, origin, format, bytes, sha256, address } = backup;
  return { backup: id, origin, format, bytes, sha256, address };
}

const NO_PRINCIPAL: LogTarget = { tenant: null, scope: null, vertical: null, other: null };

function scopeBackup(
  context: Pick<UnitContext, 'now'>,
  scope: ScopeRecord,
  written: WrittenBackup,
  origin: BackupRecord['origin'],
): BackupRecord {
  const { tenant, vertical } = scope;
  return backupOf(context, written, { kind: 'scope', origin, tenant, scope: scope.id, vertical });
}

function backupOf(
  context: Pick<UnitContext, 'now'>,
  { id, address, format, bytes, sha256, bookmark }: WrittenBackup,
  about: Pick<BackupRecord, 'kind' | 'origin' | 'tenant' | 'scope' | 'vertical'>,
): BackupRecord {
  return { id, ...about, format, bytes, sha256, address, bookmark, at: toTimestamp(context.now()) };
}

/** Only backups that the platform orders by itself expire. */
function originFor({ kind }: Actor): { readonly origin?: ScheduledOrigin } {
  return kind === 'system' ? { origin: 'scheduled' } : {};
}

/** A new copy of a tenant that is being deleted would outlive the erasure. */
function requireKept(db: SqlDatabase, { tenant }: ScopeRow): void {
  const status = loadTenant(db, tenant)?.status;
  if (status === 'active' || status === 'suspended') return;
  throw new PlatformError('invalid_transition', `This tenant is ${status ?? 'gone'}.`, {
    reason: 'tenant_not_active',
  });
}

/** An archived scope can be copied; a scope that is being made, or was reaped, has no data. */
function requireCopied(db: SqlDatabase, ref: { readonly tenant: string; readonly scope: string }): ScopeRow {
  const row = requireScope(db, ref);
  if (row.status !== 'provisioning' && row.status !== 'reaped') return row;
  throw new PlatformError('invalid_transition', `This scope is ${row.status}.`, {
    reason: 'scope_not_active',
  });
}
