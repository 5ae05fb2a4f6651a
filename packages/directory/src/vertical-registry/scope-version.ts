/** The version of each scope: bound to the scope, or the one on prod. */
import { PlatformError, scopeId, tenantId, toTimestamp } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import { z } from 'zod';
import { requireMatch } from '../changes/conditions.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import { type ScopeVersionRecord, scopeVersionRecord } from '../declarations/scopes.ts';
import { versionChoice } from '../declarations/verticals.ts';
import { type CallOf, type ChangeHandler, change, read } from '../lib/handlers.ts';
import { targetOf } from '../scopes/operations.ts';
import { requireScope, type ScopeRow } from '../scopes/store.ts';
import { notAdmitted, requireCompiledIn } from './reviews.ts';
import { loadBinding, requireOneOf, requireVersion, saveBinding } from './versions-store.ts';
import { loadVertical } from './verticals-store.ts';

const params = z.strictObject({ tenant: tenantId, scope: scopeId });

export const scopeVersionSet = adminOperation({
  name: 'scope-version.set',
  summary: 'Bind a scope to a version, or let it follow prod',
  description:
    'Exactly one of version, id and channel. A version must be admitted (reason version_not_admitted). With snapshot a copy of the scope is taken first; where that fails, nothing is bound. A vertical that is compiled into this platform runs on the one version that is (reason built_in_version).',
  tag: 'Scopes',
  method: 'PUT',
  path: '/tenants/:tenant/scopes/:scope/version',
  input: {
    params,
    body: z.strictObject({
      ...versionChoice,
      channel: z.enum(['prod']).optional().describe('Follow this channel'),
      snapshot: z.boolean().default(false).describe('Take a snapshot first'),
    }),
  },
  output: scopeVersionRecord,
  builder: 'own-tenant',
  pushToken: 'deploy',
  destructive: true,
  etag: true,
  problems: ['conflict', 'invalid_transition', 'unsupported', 'runtime_fault'],
});

export const scopeVersionGet = adminOperation({
  name: 'scope-version.get',
  summary: 'Get the version that a scope runs on',
  tag: 'Scopes',
  method: 'GET',
  path: '/tenants/:tenant/scopes/:scope/version',
  input: { params },
  output: scopeVersionRecord,
  builder: 'own-tenant',
  pushToken: 'deploy',
  etag: true,
});

export const readScopeVersion = /* @__PURE__ */ read(scopeVersionGet, ({ db }, { params }) => {
  return { value: scopeVersionOf(db, requireScope(db, params)) };
});

interface PlannedBinding {
  readonly scope: ScopeRow;
  /** The id of the version; null to follow prod. */
  readonly version: string | null;
  /** Whether this differs from the present binding. */
  readonly changes: boolean;
}

/**
 * Judges a binding before anything is written or copied.
 * @throws PlatformError `not_found`; `precondition_failed`; `invalid_transition`, reason `version_not_admitted` or
 * `scope_not_active`; `unsupported`, reason `built_in_version`.
 */
export function planBinding(
  db: SqlDatabase,
  { params, body, ifMatch }: Pick<CallOf<typeof scopeVersionSet>, 'params' | 'body' | 'ifMatch'>,
): PlannedBinding {
  const scope = requireScope(db, params);
  requireOneOf(body, ['version', 'id', 'channel']);
  requireMatch(ifMatch, scopeVersionOf(db, scope).etag);
  if (scope.status !== 'active' && scope.status !== 'suspended')
    throw new PlatformError('invalid_transition', `This scope is ${scope.status}.`, {
      reason: 'scope_not_active',
    });
  const version = body.channel === undefined ? choose(db, scope, body) : null;
  const present = loadBinding(db, scope.id)?.version ?? null;
  return { scope, version, changes: version !== present };
}

/** @param snapshot the copy that was taken before this binding, or null. */
export function bindScopeVersion(snapshot: string | null): ChangeHandler {
  return change(scopeVersionSet, (context, call) => {
    const { db, revision } = context;
    const { scope, version, changes } = planBinding(db, call);
    const before = scopeVersionOf(db, scope);
    if (!changes) return { value: before, audit: null };
    saveBinding(db, { scope: scope.id, version, snapshot, revision, boundAtMs: context.now() });
    const after = scopeVersionOf(db, scope);
    const audit = {
      target: targetOf(scope),
      before: { version: before.version, bound: before.bound },
      after: { version: after.version, bound: after.bound, snapshot },
    };
    return { value: after, audit, rerouted: true };
  });
}

function choose(
  db: SqlDatabase,
  scope: ScopeRow,
  choice: { readonly id?: string | undefined; readonly version?: string | undefined },
): string {
  const vertical = loadVertical(db, scope.vertical);
  const version = requireVersion(db, scope.vertical, choice);
  if (!vertical) throw new TypeError('a version belongs to a vertical');
  requireCompiledIn(db, vertical, version);
  // A version that only its owner admitted counts for the owner's scopes alone.
  const isJudged = version.reviewedBy === 'platform' || scope.tenant === vertical.ownerTenant;
  if (version.status === 'admitted' && !isJudged) throw notAdmitted({ ...version, status: 'pending' });
  if (version.status !== 'admitted') throw notAdmitted(version);
  return version.id;
}

/** The version of a scope. Its ETag changes with the binding, and with prod while the scope follows that. */
export function scopeVersionOf(
  db: SqlDatabase,
  { id, vertical }: Pick<ScopeRow, 'id' | 'vertical'>,
): ScopeVersionRecord {
  const binding = loadBinding(db, id);
  const bound = binding !== undefined && binding.version !== null;
  const prod = db.get<{ serving: string | null; promotion: number }>(
    'SELECT serving, promotion FROM verticals WHERE slug = ?',
    vertical,
  );
  const version = db.get<{ id: string; version: string }>(
    'SELECT id, version FROM vertical_versions WHERE id = ?',
    (bound ? binding.version : prod?.serving) ?? null,
  );
  return {
    scope: id,
    vertical,
    version: version?.version ?? null,
    id: version?.id ?? null,
    bound,
    boundAt: bound ? toTimestamp(binding.boundAtMs) : null,
    snapshot: (bound ? binding.snapshot : null) as ScopeVersionRecord['snapshot'],
    etag: `${binding?.revision ?? 0}.${bound ? 0 : (prod?.promotion ?? 0)}`,
  };
}

/** Releases every scope that is bound to another version of the vertical. @returns how many. */
export function releaseOthers(
  db: SqlDatabase,
  { vertical, keep, revision, nowMs }: { vertical: string; keep: string; revision: number; nowMs: number },
): number {
  const { count } = db.get<{ count: number }>(OTHERS_BOUND, vertical, keep) ?? { count: 0 };
  if (count > 0)
    db.run(
      `UPDATE scope_versions SET version = NULL, snapshot = NULL, revision = ?, bound_at = ? WHERE version IN
         (SELECT id FROM vertical_versions WHERE vertical = ? AND id <> ?)`,
      ...[revision, nowMs, vertical, keep],
    );
  return count;
}

export const OTHERS_BOUND = `SELECT count(*) AS count FROM vertical_versions v CROSS JOIN scope_versions b
  ON b.version = v.id WHERE v.vertical = ? AND v.id <> ?`;

/** The version on prod, by vertical. */
export function servingVersions(db: SqlDatabase): Readonly<Record<string, string>> {
  return recordOf(
    db.all<KeyedVersion>(
      'SELECT v.slug AS key, r.version FROM verticals v JOIN vertical_versions r ON r.id = v.serving',
    ),
  );
}

/** The version on prod of one vertical, or null. */
export function servingVersionOf(db: SqlDatabase, vertical: string): string | null {
  const row = db.get<{ version: string }>(
    'SELECT r.version FROM verticals v JOIN vertical_versions r ON r.id = v.serving WHERE v.slug = ?',
    vertical,
  );
  return row?.version ?? null;
}

/** The versions of bound scopes, by scope. */
export function boundVersions(db: SqlDatabase): Readonly<Record<string, string>> {
  return recordOf(
    db.all<KeyedVersion>(
      'SELECT b.scope AS key, r.version FROM scope_versions b JOIN vertical_versions r ON r.id = b.version',
    ),
  );
}

interface KeyedVersion {
  readonly key: string;
  readonly version: string;
}

function recordOf(rows: readonly KeyedVersion[]): Readonly<Record<string, string>> {
  return Object.fromEntries(rows.map(({ key, version }) => [key, version]));
}
