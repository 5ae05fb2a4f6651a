/** Backups inside the directory: which there are, and what is to be made. Their effects: `host-admin-backups.ts`. */
import { ID_PREFIXES, PlatformError, toTimestamp } from '@freehold/contracts';
import type { SqlDatabase, UnitContext } from '@freehold/store';
import {
  type BackupRecord,
  directoryBackupsCreate,
  directoryBackupsDelete,
  directoryBackupsList,
  importsCreate,
  scopeBackupsCreate,
  scopeBackupsDelete,
  scopeBackupsList,
} from '../declarations/backups.ts';
import type { LogTarget, ScopeRecord } from '../declarations/records.ts';
import { type AuditEntry, change, delegated, read } from '../lib/handlers.ts';
import { longWork } from '../long-work/handlers.ts';
import { targetOf } from '../scopes/operations.ts';
import { requireScope, type ScopeRow, scopeOfRow } from '../scopes/store.ts';
import { forgetBackup, listBackups, requireBackup, saveBackup } from './store.ts';
import type { BackupOrder, WrittenBackup } from './write-backup.ts';

/** What a backup of a scope needs to know. */
export interface ScopeBackupWork {
  readonly scope: ScopeRecord;
  readonly order: BackupOrder;
  readonly format: BackupRecord['format'];
}

export const readScopeBackups = read(scopeBackupsList, ({ db }, { params, query }) => {
  const { id } = requireScope(db, params);
  return { value: listBackups(db, { ...query, scope: id }) };
});

export const readDirectoryBackups = read(directoryBackupsList, ({ db }, { query }) => ({
  value: listBackups(db, { ...query, kind: 'directory' }),
}));

export const backUpScope = longWork<typeof scopeBackupsCreate, ScopeBackupWork, WrittenBackup>(
  scopeBackupsCreate,
  {
    begin: (context, { params, body }) => {
      const row = requireCopied(context.db, params);
      const work = scopeBackupWork(context, row, body.format);
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
    settle: (context, { scope }, written) => {
      const backup = scopeBackup(context, scope, written, 'taken');
      saveBackup(context.db, backup);
      return {
        result: backup,
        audit: { target: targetOf(scope), before: null, after: backupFields(backup) },
      };
    },
  },
);

export const backUpDirectory = longWork<typeof directoryBackupsCreate, BackupOrder, WrittenBackup>(
  directoryBackupsCreate,
  {
    begin: (context) => {
      const id = context.newId(ID_PREFIXES.backup);
      const work = { id, address: `directory/${id}.ndjson` };
      const intent = { target: NOBODY, before: null, after: { backup: id } };
      return { intent, work, subject: 'directory', unit: 'bytes' };
    },
    settle: (context, _work, written) => {
      const about = { tenant: null, scope: null, vertical: null };
      const backup = backupOf(context, written, { kind: 'directory', origin: 'taken', ...about });
      saveBackup(context.db, backup);
      return { result: backup, audit: { target: NOBODY, before: null, after: backupFields(backup) } };
    },
  },
);

export const deleteBackup = delegated<typeof scopeBackupsDelete, BackupRecord, null>(scopeBackupsDelete, {
  begin: ({ db }, { params }) => {
    const row = requireScope(db, params);
    const backup = requireBackup(db, params.backup, { scope: row.id });
    return {
      intent: { target: targetOf(row), before: backupFields(backup), after: null },
      prepared: backup,
    };
  },
  settle: ({ db }, { params }) => {
    forgetBackup(db, params.backup);
    const target = targetOf(requireScope(db, params));
    return { status: 204, value: null, audit: { target, before: null, after: { backup: params.backup } } };
  },
});

export const deleteDirectoryBackup = delegated<typeof directoryBackupsDelete, BackupRecord, null>(
  directoryBackupsDelete,
  {
    begin: ({ db }, { params }) => {
      const backup = requireBackup(db, params.backup, { scope: null });
      return { intent: { target: NOBODY, before: backupFields(backup), after: null }, prepared: backup };
    },
    settle: ({ db }, { params }) => {
      forgetBackup(db, params.backup);
      const audit = { target: NOBODY, before: null, after: { backup: params.backup } };
      return { status: 204, value: null, audit };
    },
    // The intent says in `before` which one it was about; another one's deletion says nothing of it.
    supersedes: () => false,
  },
);

/** The bytes are in the store already; this is what makes them known. */
export const importCopy = change(importsCreate, (context, call) => {
  const row = requireCopied(context.db, call.params);
  // Put there by the host administration, which received the bytes.
  const written = { ...call.body, ...call.stored } as unknown as WrittenBackup;
  const backup = scopeBackup(context, scopeOfRow(row), written, 'upload');
  saveBackup(context.db, backup);
  return {
    status: 201,
    value: backup,
    audit: { target: targetOf(row), before: null, after: backupFields(backup) },
  };
});

/** The methods of the unit. */
export function backupMethods(context: UnitContext) {
  return {
    /** Makes a backup known before the work that it is a part of has ended: it stays, whatever becomes of that. */
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
    forgetBackup: ({ id }: { readonly id: string }): null => {
      forgetBackup(context.db, id);
      return null;
    },
  };
}

/** What work on one scope locks. */
export function scopeSubject(scope: string): string {
  return `scope:${scope}`;
}

export function scopeBackupWork(
  context: Pick<UnitContext, 'newId'>,
  row: ScopeRow,
  format: BackupRecord['format'],
): ScopeBackupWork {
  const id = context.newId(ID_PREFIXES.backup);
  return { scope: scopeOfRow(row), order: { id, address: `scopes/${row.id}/${id}.${format}` }, format };
}

/** What a log says of a backup. */
export function backupFields(backup: BackupRecord): NonNullable<AuditEntry['after']> {
  const { id, origin, format, bytes, sha256, address } = backup;
  return { backup: id, origin, format, bytes, sha256, address };
}

const NOBODY: LogTarget = { tenant: null, scope: null, vertical: null, other: null };

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

/** An archived scope is still there; one that is being made, or was reaped, has nothing to copy. */
function requireCopied(db: SqlDatabase, ref: { readonly tenant: string; readonly scope: string }): ScopeRow {
  const row = requireScope(db, ref);
  if (row.status !== 'provisioning' && row.status !== 'reaped') return row;
  throw new PlatformError('invalid_transition', `This scope is ${row.status}.`, {
    reason: 'scope_not_active',
  });
}
