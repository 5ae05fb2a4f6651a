/** The directory's part in reaping a tenant. The effect outside it: `host-admin-tenants.ts`. */
import { PlatformError, type ScopeId } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { z } from 'zod';
import { logEnd } from '../changes/changes.ts';
import { requireMatch } from '../changes/conditions.ts';
import type { Disconnecting } from '../connections/disconnect.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import { operationRecord } from '../declarations/long-work.ts';
import type { ScopeRecord } from '../declarations/records.ts';
import {
  params,
  type TenantErasure,
  type TenantReaped,
  tag,
  tenantReapPlan,
} from '../declarations/tenants.ts';
import { type AuditEntry, type LongEndContext, longWork } from '../lib/handlers.ts';
import { requireNoWork } from '../long-work/operations.ts';
import { auditedOperation, loadOperation, loadUnfinished } from '../long-work/store.ts';
import { requireScope, type ScopeRow, scopeOfRow } from '../scopes/store.ts';
import { reapSubject, requireTenant, type TenantRow, updateTenantStatus } from '../tenants/store.ts';
import {
  countErasure,
  eraseConnection,
  eraseRest,
  eraseScope,
  eraseSecrets,
  planErasure,
} from './erasure.ts';

/** The work of a reap, kept for a restart too. */
export interface ReapWork {
  readonly tenant: string;
  /** The counts at the beginning. */
  readonly counts: TenantErasure;
  /** Whether every scope is copied first. */
  readonly backup: boolean;
}

/** The result of the effect. */
export interface ReapFacts {
  readonly backups: TenantReaped['backups'];
}

/** Where the bytes of a backup lie. */
export interface StoredCopy {
  readonly id: string;
  readonly address: string;
}

/** The field of the audit row with the addresses of the backups that stay. */
const KEPT = 'kept';

export const tenantsReap = adminOperation({
  name: 'tenants.reap',
  summary: 'Erase a tenant that is being deleted, for good',
  description:
    'Only from deleting. Every scope is erased in its application, host names come free, connections are revoked at their providers and removed with their credentials, push tokens, identities and entitlements end, the secrets of its applications are removed, and the keys of its persons are destroyed. A tombstone stays, so that its slug is never used again, and so do the logs. Backups of its scopes are deleted too; with backup they stay, every scope is copied once more, and nothing is erased unless all copies were made. A call after a failure resumes the work.',
  tag,
  method: 'POST',
  path: '/tenants/:tenant/reap',
  input: {
    params,
    query: z.strictObject({
      dryRun: z.boolean().default(false).describe('Answers what would be erased, and erases nothing'),
    }),
    body: z.strictObject({
      backup: z.boolean().default(false).describe('Whether a copy is kept. An erasure leaves none behind.'),
    }),
  },
  output: operationRecord,
  success: 202,
  plan: tenantReapPlan,
  builder: 'none',
  staff: 'administer',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: [
    'not_found',
    'conflict',
    'invalid_transition',
    'precondition_failed',
    'unsupported',
    'runtime_fault',
    'unavailable',
  ],
});

export const reapTenant = /* @__PURE__ */ longWork<typeof tenantsReap, ReapWork, ReapFacts>(tenantsReap, {
  plan: (context, { params, ifMatch }) => {
    const row = requireDeleting(context, params.tenant);
    requireMatch(ifMatch, String(row.revision));
    return planErasure(context.db, row);
  },
  begin: (context, { params, body, ifMatch }) => {
    const { db } = context;
    const row = requireDeleting(context, params.tenant);
    requireMatch(ifMatch, String(row.revision));
    requireNoWork(context, { tenant: row.id });
    const counts = countErasure(db, row.id);
    return {
      intent: {
        target: targetOf(row),
        before: statusOf(row),
        after: { status: 'reaped', backup: body.backup, ...counts },
      },
      work: { tenant: row.id, counts, backup: body.backup },
      subject: reapSubject(row.id),
      unit: 'scopes',
      total: counts.scopes,
    };
  },
  settle: (context, { tenant, counts }, { backups }) => {
    const { db } = context;
    const before = requireTenant(db, tenant);
    // The rows of earlier attempts come before the row of this end.
    const revision = context.revision + supersedeEarlier(context, tenant);
    const nowMs = context.now();
    eraseRest(db, { tenant, revision, nowMs });
    const after: TenantRow = { ...before, status: 'reaped', revision, updatedAtMs: nowMs };
    updateTenantStatus(db, after);
    const result: TenantReaped = { tenant: before.id, erased: counts, backups };
    return {
      result,
      audit: {
        target: targetOf(after),
        before: statusOf(before),
        after: { ...statusOf(after), ...counts, [KEPT]: backups.map(({ address }) => address) },
      },
      rerouted: true,
    };
  },
});

/** Ends earlier attempts of unknown outcome, whose work is now done. Returns how many there were. */
function supersedeEarlier(context: LongEndContext, tenant: string): number {
  const operation = loadUnfinished(context.db, reapSubject(tenant));
  if (!operation) throw new TypeError('a reap ends that is not there');
  const earlier = context.db.all<{ sequence: number }>(EARLIER_ATTEMPTS, tenant, context.intent);
  for (const { sequence } of earlier)
    logEnd(context, auditedOperation(operation), sequence, { outcome: 'superseded' });
  return earlier.length;
}

export const EARLIER_ATTEMPTS = `SELECT o.sequence FROM open_intents o CROSS JOIN admin_log l ON l.sequence = o.sequence
   WHERE l.action = 'tenants.reap' AND l.tenant = ? AND o.sequence < ? ORDER BY o.sequence`;

/** The most rows of one answer. */
const PAGE = 50;

/** The methods of the unit that the effect calls on its way. */
export const reapMethods = (context: UnitContext) => ({
  /** Scopes of a tenant that were not erased yet, by id. A query. */
  scopesToErase: ({
    tenant,
    after,
  }: {
    readonly tenant: string;
    readonly after: string;
  }): readonly ScopeRecord[] =>
    context.db
      .all<{ id: ScopeId }>(SCOPES_TO_ERASE, tenant, after, PAGE)
      .map(({ id }) => scopeOfRow(requireScope(context.db, { tenant, scope: id }) satisfies ScopeRow)),

  /** Connections of a tenant with what revoking them takes. A query. */
  connectionsToErase: ({ tenant }: { readonly tenant: string }): readonly Disconnecting[] =>
    context.db.all<Disconnecting & Record<string, never>>(CONNECTIONS_TO_ERASE, tenant, PAGE),

  /** The scope is gone from its vertical. */
  scopeErased: ({
    run,
    tenant,
    scope,
  }: {
    readonly run: string;
    readonly tenant: string;
    readonly scope: string;
  }): null => {
    const intent = loadOperation(context.db, run)?.intent;
    if (intent === undefined) throw new TypeError('only a reap erases a scope');
    requireScope(context.db, { tenant, scope });
    eraseScope(context.db, { scope, revision: intent, nowMs: context.now() });
    return null;
  },

  /** Backups of a tenant, of one of its scopes or of all. A query. */
  backupsToErase: ({
    tenant,
    scope,
  }: {
    readonly tenant: string;
    readonly scope?: string;
  }): readonly StoredCopy[] =>
    scope === undefined
      ? context.db.all<StoredCopy & Record<string, never>>(BACKUPS_OF_TENANT_TO_ERASE, tenant, PAGE)
      : context.db.all<StoredCopy & Record<string, never>>(BACKUPS_TO_ERASE, scope, PAGE),

  /** The secrets of the tenant's applications are gone. Returns these applications. */
  secretsErased: ({ run, tenant }: { readonly run: string; readonly tenant: string }): readonly string[] => {
    if (loadOperation(context.db, run)?.tenant !== tenant) throw new TypeError('only a reap erases secrets');
    return eraseSecrets(context.db, tenant);
  },

  connectionErased: ({ connection }: { readonly connection: string }): null => {
    eraseConnection(context.db, connection);
    return null;
  },
});

export const SCOPES_TO_ERASE =
  "SELECT id FROM scopes WHERE tenant = ? AND id > ? AND status <> 'reaped' ORDER BY id LIMIT ?";
export const BACKUPS_TO_ERASE = 'SELECT id, address FROM backups WHERE scope = ? ORDER BY id LIMIT ?';
export const BACKUPS_OF_TENANT_TO_ERASE =
  'SELECT id, address FROM backups WHERE tenant = ? ORDER BY id LIMIT ?';
export const CONNECTIONS_TO_ERASE = `SELECT c.tenant, c.id AS connection, c.provider, k.sealed, c.revision
   FROM connections c LEFT JOIN connection_credentials k ON k.connection = c.id
   WHERE c.tenant = ? ORDER BY c.id LIMIT ?`;

function requireDeleting({ db }: UnitContext, tenant: string): TenantRow {
  const row = requireTenant(db, tenant);
  if (row.status === 'deleting') return row;
  throw new PlatformError(
    'invalid_transition',
    row.status === 'reaped'
      ? 'This tenant was reaped already.'
      : `This tenant is ${row.status}. Only one that is being deleted is reaped.`,
  );
}

function targetOf(row: TenantRow): AuditEntry['target'] {
  return { tenant: row.id, scope: null, vertical: null, other: null };
}

function statusOf({ slug, status }: TenantRow): NonNullable<AuditEntry['after']> {
  return { slug, status };
}
