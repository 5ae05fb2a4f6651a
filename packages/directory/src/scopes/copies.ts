/**
 * A scope's copies and its way back in time, as far as the directory is concerned: an intent before, an outcome after,
 * and which snapshots there are. Their effects: `host-admin-copies.ts`.
 */
import { PlatformError, type Restored, type Rewound, type SnapshotRecord } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import { scopeSubject } from '../backups/operations.ts';
import { requireBackup } from '../backups/store.ts';
import type { BackupRecord } from '../declarations/backups.ts';
import type { ScopeRecord } from '../declarations/records.ts';
import {
  scopesRestore,
  scopesRewind,
  snapshotsDelete,
  snapshotsList,
  snapshotsTake,
} from '../declarations/scopes.ts';
import { type CallOf, delegated, read } from '../lib/handlers.ts';
import { longWork } from '../long-work/handlers.ts';
import { targetOf } from './operations.ts';
import { forgetSnapshot, listSnapshots, requireSnapshot, saveSnapshot } from './snapshot-store.ts';
import { requireScope, type ScopeRow, scopeOfRow } from './store.ts';

export const readSnapshots = read(snapshotsList, ({ db }, { params, query }) => {
  const { id } = requireScope(db, params);
  return { value: listSnapshots(db, { ...query, scope: id }) };
});

export const takeSnapshot = delegated<typeof snapshotsTake, ScopeRecord, SnapshotRecord>(snapshotsTake, {
  begin: ({ db }, { params, body }) => {
    const row = requireReachable(db, params);
    return {
      intent: { target: targetOf(row), before: null, after: { name: body.name ?? null } },
      prepared: scopeOfRow(row),
    };
  },
  settle: ({ db }, { params }, snapshot) => {
    const row = requireScope(db, params);
    saveSnapshot(db, row.id, snapshot);
    const target = { ...targetOf(row), other: snapshot.id };
    return {
      status: 201,
      value: snapshot,
      audit: {
        target,
        before: null,
        after: { name: snapshot.name, bytes: snapshot.bytes, digest: snapshot.digest },
      },
    };
  },
});

export const deleteSnapshot = delegated<typeof snapshotsDelete, ScopeRecord, null>(snapshotsDelete, {
  begin: ({ db }, { params }) => {
    const row = requireReachable(db, params);
    const { name, digest } = requireSnapshot(db, row.id, params.snapshot);
    const target = { ...targetOf(row), other: params.snapshot };
    const after = { snapshot: params.snapshot };
    return { intent: { target, before: { name, digest }, after }, prepared: scopeOfRow(row) };
  },
  settle: ({ db }, { params }) => {
    const row = requireScope(db, params);
    forgetSnapshot(db, row.id, params.snapshot);
    const target = { ...targetOf(row), other: params.snapshot };
    return { status: 204, value: null, audit: { target, before: null, after: null } };
  },
  // That one snapshot was deleted says nothing of another one of the same scope.
  supersedes: ({ params }, earlier) => earlier?.snapshot === params.snapshot,
});

/** What a restore needs to know. */
export interface RestoreWork {
  readonly scope: ScopeRecord;
  readonly from: { readonly snapshot: string } | { readonly backup: BackupRecord };
  /** What the log says of it. */
  readonly logged: { readonly from: Readonly<Record<string, string>>; readonly digest: string };
}

export const restoreScope = longWork<typeof scopesRestore, RestoreWork, Restored>(scopesRestore, {
  begin: ({ db }, { params, body }) => {
    const row = requireReachable(db, params);
    const { from, digest } = requireCopy(db, row.id, body.from);
    const logged = { from: body.from as Record<string, string>, digest };
    return {
      intent: { target: targetOf(row), before: null, after: logged },
      work: { scope: scopeOfRow(row), from, logged },
      subject: scopeSubject(row.id),
      unit: 'bytes',
    };
  },
  settle: (_context, { scope, logged: { from } }, restored) => ({
    result: restored,
    audit: {
      target: targetOf(scope),
      before: null,
      after: { from, tables: restored.tables, rows: restored.rows, undo: restored.undo },
    },
  }),
});

export const rewindScope = delegated<typeof scopesRewind, ScopeRecord, Rewound>(scopesRewind, {
  begin: ({ db }, { params, body }) => {
    const row = requireReachable(db, params);
    return {
      intent: { target: targetOf(row), before: null, after: { to: body } },
      prepared: scopeOfRow(row),
    };
  },
  settle: ({ db }, { params }, rewound) => ({
    status: 200,
    value: rewound,
    audit: { target: targetOf(requireScope(db, params)), before: null, after: { ...rewound } },
  }),
});

/** The copy that a restore names. @throws PlatformError `not_found`. */
export function requireCopy(
  db: SqlDatabase,
  scope: string,
  { snapshot, backup, export: uploaded }: CallOf<typeof scopesRestore>['body']['from'],
): { readonly from: RestoreWork['from']; readonly digest: string } {
  if (snapshot !== undefined) {
    const { digest } = requireSnapshot(db, scope, snapshot);
    return { from: { snapshot }, digest };
  }
  const record = requireBackup(db, String(backup ?? uploaded), { scope });
  // Who says export means what came from outside, and is not to be handed something else.
  if (uploaded !== undefined && record.origin !== 'upload')
    throw new PlatformError('not_found', 'There is no such export here.', { reason: 'unknown_export' });
  return { from: { backup: record }, digest: record.sha256 };
}

/** A suspended scope is what one restores; one that is not there yet, or no longer, has nothing to copy. */
export function requireReachable(
  db: SqlDatabase,
  ref: { readonly tenant: string; readonly scope: string },
): ScopeRow {
  const row = requireScope(db, ref);
  if (row.status === 'active' || row.status === 'suspended') return row;
  throw new PlatformError('invalid_transition', `This scope is ${row.status}.`, {
    reason: 'scope_not_active',
  });
}
