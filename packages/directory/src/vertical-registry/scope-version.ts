/** Binding a scope to a version of its vertical, as far as the directory is concerned. */

import { PlatformError, scopeId, tenantId } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import { z } from 'zod';
import { adminOperation } from '../declarations/admin-operation.ts';
import { scopeVersionRecord } from '../declarations/scope-version.ts';
import { versionChoice } from '../declarations/verticals.ts';
import { type CallOf, type ChangeHandler, change, read } from '../lib/handlers.ts';
import { requireMatch } from '../lib/preconditions.ts';
import { targetOf } from '../scopes/operations.ts';
import { requireScope, type ScopeRow } from '../scopes/store.ts';
import { notAdmitted, requireCompiledIn } from './reviews.ts';
import { loadBinding, saveBinding, scopeVersionOf } from './scope-versions-store.ts';
import { requireOneOf, requireVersion } from './versions-store.ts';
import { loadVertical } from './verticals-store.ts';

const tag = 'Scopes';

const params = z.strictObject({ tenant: tenantId, scope: scopeId });

export const scopeVersionSet = adminOperation({
  name: 'scope-version.set',
  summary: 'Bind a scope to a version, or let it follow prod',
  description:
    'Exactly one of version, id and channel. A version must be admitted (reason version_not_admitted). With snapshot a copy of the scope is taken first; where that fails, nothing is bound. A vertical that is compiled into this platform runs on the one version that is (reason built_in_version).',
  tag,
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
  success: 200,
  builder: 'own-tenant',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['conflict', 'invalid_transition', 'unsupported', 'runtime_fault'],
});

export const scopeVersionGet = adminOperation({
  name: 'scope-version.get',
  summary: 'Get the version that a scope runs on',
  tag,
  method: 'GET',
  path: '/tenants/:tenant/scopes/:scope/version',
  input: { params },
  output: scopeVersionRecord,
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
  etag: true,
});

export const readScopeVersion = /* @__PURE__ */ read(scopeVersionGet, ({ db }, { params }) => {
  const value = scopeVersionOf(db, requireScope(db, params));
  return { value, etag: value.etag };
});

/** What a binding would do. */
export interface PlannedBinding {
  readonly scope: ScopeRow;
  /** The id of the version; null to follow prod. */
  readonly version: string | null;
  /** Whether the scope is bound otherwise now. */
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

/** @param snapshot the copy that was taken for this binding. */
export function bindScopeVersion(snapshot: string | null): ChangeHandler {
  return change(scopeVersionSet, (context, call) => {
    const { db, revision } = context;
    const { scope, version, changes } = planBinding(db, call);
    const before = scopeVersionOf(db, scope);
    if (!changes) return { status: 200, value: before, etag: before.etag, audit: null };
    saveBinding(db, scope.id, { version, snapshot, revision, boundAtMs: context.now() });
    const after = scopeVersionOf(db, scope);
    const audit = {
      target: targetOf(scope),
      before: { version: before.version, bound: before.bound },
      after: { version: after.version, bound: after.bound, snapshot },
    };
    return { status: 200, value: after, etag: after.etag, audit, rerouted: true };
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
  // What an owner admitted for itself is admitted for its own scopes alone.
  const isJudged = version.reviewedBy === 'platform' || scope.tenant === vertical.ownerTenant;
  if (version.status === 'admitted' && !isJudged) throw notAdmitted({ ...version, status: 'pending' });
  if (version.status !== 'admitted') throw notAdmitted(version);
  return version.id;
}
