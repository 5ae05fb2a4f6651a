/** The directory's part in reaping a scope. The effect outside it: `host-admin-scopes.ts`. */
import { PlatformError } from '@freehold/contracts';
import type { SqlDatabase, UnitContext } from '@freehold/store';
import { z } from 'zod';
import { backupFields, type ScopeBackupWork, scopeBackupWork } from '../backups/operations.ts';
import { countBackups } from '../backups/store.ts';
import { requireMatch } from '../changes/conditions.ts';
import type { Disconnecting } from '../connections/disconnect.ts';
import { actsElsewhere, connectionsOfScope } from '../connections/store.ts';
import { countSnapshots } from '../copies/snapshot-store.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import type { BackupRecord } from '../declarations/backups.ts';
import { operationRecord } from '../declarations/long-work.ts';
import { type ScopeRecord, scopeRecord } from '../declarations/records.ts';
import { effectProblems, params, tag } from '../declarations/scopes.ts';
import { longWork } from '../lib/handlers.ts';
import { targetOf } from '../scopes/operations.ts';
import { requireScope, type ScopeRow, scopeOfRow, updateScopeStatus } from '../scopes/store.ts';
import { scopeSubject } from '../scopes/target.ts';
import { forgetScope } from './forget-scope.ts';

const reapPlan = z
  .object({
    dryRun: z.literal(true),
    scope: scopeRecord,
    hostnames: z.array(z.string()).describe('They are unbound'),
    snapshots: z.int().describe('How many are deleted with the scope'),
    backups: z.int().describe('How many there are; they stay'),
    connections: z
      .array(z.string())
      .describe('They are disconnected; those that act in another scope too stay, and are of that one then'),
    backup: z.boolean().describe('Whether a full backup is taken first'),
  })
  .meta({ id: 'ScopeReapPlan' });

/** The work of a reap, kept for a restart too. */
export interface ReapScopeWork {
  readonly scope: ScopeRecord;
  /** Null: without a backup. */
  readonly backup: ScopeBackupWork | null;
}

/** The result of the effect. */
export interface ReapScopeFacts {
  readonly backup: BackupRecord | null;
  /** The connections that were disconnected. */
  readonly disconnected: readonly string[];
}

export const scopesReap = adminOperation({
  name: 'scopes.reap',
  summary: 'Delete a scope for good',
  description:
    'Only from archived. Takes a full backup first, unless backup is false, and names its address in the log; a backup that fails leaves the scope as it is (runtime_fault, reason backup_failed). Then the vertical deletes everything, the host names are unbound, connections that act nowhere else are disconnected, and the record stays as a tombstone, whose slug is not used again. With dryRun, answers what would be touched.',
  tag,
  method: 'POST',
  path: '/tenants/:tenant/scopes/:scope/reap',
  input: {
    params,
    query: z.strictObject({
      dryRun: z.boolean().optional().describe('True answers the plan, and changes nothing'),
    }),
    body: z.strictObject({
      backup: z.boolean().default(true).describe('False deletes without a backup'),
    }),
  },
  output: operationRecord,
  plan: reapPlan,
  success: 202,
  builder: 'none',
  staff: 'administer',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: effectProblems,
});

export const reapScope = /* @__PURE__ */ longWork<typeof scopesReap, ReapScopeWork, ReapScopeFacts>(
  scopesReap,
  {
    plan: ({ db }, { params, body, ifMatch }) => {
      const row = requireArchived(db, params);
      requireMatch(ifMatch, String(row.revision));
      return {
        dryRun: true,
        scope: scopeOfRow(row),
        hostnames: hostnamesOf(db, row.id),
        snapshots: countSnapshots(db, row.id),
        backups: countBackups(db, row.id),
        connections: leavingConnections(db, row.id).map(({ connection }) => connection),
        backup: body.backup,
      };
    },
    begin: (context, { params, body, ifMatch }) => {
      const row = requireArchived(context.db, params);
      requireMatch(ifMatch, String(row.revision));
      const backup = body.backup ? scopeBackupWork(context, row, 'ndjson') : null;
      return {
        intent: {
          target: targetOf(row),
          before: { status: row.status },
          after: { status: 'reaped', backup: backup?.order.id ?? null },
        },
        work: { scope: scopeOfRow(row), backup },
        subject: scopeSubject(row.id),
        unit: 'bytes',
      };
    },
    settle: (context, { scope }, { backup, disconnected }) => {
      const { db, revision } = context;
      const before = requireScope(db, { tenant: scope.tenant, scope: scope.id });
      const hostnames = hostnamesOf(db, scope.id);
      const nowMs = context.now();
      const { erased, moved } = forgetScope(db, { scope: scope.id, revision, nowMs });
      const connections = { disconnected: [...new Set([...disconnected, ...erased])], moved };
      const after: ScopeRow = {
        ...requireScope(db, { tenant: scope.tenant, scope: scope.id }),
        status: 'reaped',
        revision,
        updatedAtMs: nowMs,
      };
      updateScopeStatus(db, after);
      return {
        result: { scope: scopeOfRow(after), backup, hostnames, connections },
        audit: {
          target: targetOf(after),
          before: { status: before.status },
          after: { status: after.status, hostnames, connections, backup: backup && backupFields(backup) },
        },
        rerouted: true,
      };
    },
  },
);

/** The methods of the unit. */
export function reapScopeMethods({ db }: UnitContext) {
  return {
    /** The connections that go with a scope, with the sealed credentials to revoke. A query. */
    connectionsLeaving: ({ scope }: { readonly scope: string }): readonly Disconnecting[] =>
      leavingConnections(db, scope),
  };
}

function leavingConnections(db: SqlDatabase, scope: string): Disconnecting[] {
  return connectionsOfScope(db, scope).filter(
    ({ connection }) => actsElsewhere(db, { connection, scope }) === null,
  );
}

function requireArchived(
  db: SqlDatabase,
  ref: { readonly tenant: string; readonly scope: string },
): ScopeRow {
  const row = requireScope(db, ref);
  if (row.status === 'archived') return row;
  throw new PlatformError(
    'invalid_transition',
    `Only an archived scope can be reaped; this one is ${row.status}.`,
    { reason: 'scope_not_archived' },
  );
}

function hostnamesOf(db: SqlDatabase, scope: string): string[] {
  return db
    .all<{ hostname: string }>('SELECT hostname FROM hostnames WHERE scope = ? ORDER BY hostname', scope)
    .map(({ hostname }) => hostname);
}
