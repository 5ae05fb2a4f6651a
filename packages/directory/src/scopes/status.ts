/** The states of a scope. Reaping one: `reap/`. */
import { PlatformError, scopeId } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { z } from 'zod';
import { requireMatch } from '../changes/conditions.ts';
import { adminOperation, dryRunQuery, planCount, servingEffect } from '../declarations/admin-operation.ts';
import { type ScopeRecord, scopeRecord, scopeStatus } from '../declarations/records.ts';
import { params, tag } from '../declarations/scopes.ts';
import { type CallOf, change, planned } from '../lib/handlers.ts';
import { requireIdle } from '../long-work/operations.ts';
import { requireTenant } from '../tenants/store.ts';
import { targetOf } from './operations.ts';
import { requireScope, type ScopeRow, scopeOfRow, updateScopeStatus } from './store.ts';
import { scopeSubject } from './target.ts';

export const scopeStatusPlan = z
  .object({
    dryRun: z.literal(true),
    scope: scopeId,
    from: scopeStatus,
    to: scopeStatus,
    effect: servingEffect.describe(
      'The effect on its requests, timers, deliveries and sessions. none also where its tenant is not active',
    ),
    hostnames: z.array(z.string()).describe('Its active names'),
    connections: planCount.describe('How many active ones may act in it'),
  })
  .meta({ id: 'ScopeStatusPlan' });

type Status = ScopeRecord['status'];

/** The states that may follow each state. Provisioning ends by itself, and only a reap leads to `reaped`. */
const TRANSITIONS: Readonly<Record<Status, readonly Status[]>> = {
  provisioning: [],
  active: ['suspended', 'archived'],
  suspended: ['active', 'archived'],
  archived: ['active'],
  reaped: [],
};

export const scopesSetStatus = adminOperation({
  name: 'scopes.set-status',
  summary: 'Suspend, resume, archive or unarchive a scope',
  description:
    'active ⇄ suspended; active or suspended → archived → active. Every other step is an invalid_transition. A scope that is not active serves no requests; an archived one takes no settings and is not copied back, and can be reaped. With dryRun, answers what would stop or go on.',
  tag,
  method: 'PUT',
  path: '/tenants/:tenant/scopes/:scope/status',
  input: {
    params,
    query: dryRunQuery,
    body: z.strictObject({ status: z.enum(['active', 'suspended', 'archived']) }),
  },
  output: scopeRecord,
  plan: scopeStatusPlan,
  success: 200,
  builder: 'none',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['not_found', 'conflict', 'invalid_transition', 'precondition_failed'],
});

export const setScopeStatus = /* @__PURE__ */ change(scopesSetStatus, (context, call) => {
  const { body } = call;
  const { db } = context;
  const before = requireStep(context, call);
  const after: ScopeRow = {
    ...before,
    status: body.status,
    revision: context.revision,
    updatedAtMs: context.now(),
  };
  updateScopeStatus(db, after);
  const value = scopeOfRow(after);
  const audit = {
    target: targetOf(after),
    before: { status: before.status },
    after: { status: after.status },
  };
  return { status: 200, value, etag: value.etag, audit, rerouted: true };
});

export const planScopeStatus = /* @__PURE__ */ planned<typeof scopesSetStatus>(
  scopesSetStatus,
  (context, call) => {
    const { db } = context;
    const { id, tenant, status } = requireStep(context, call);
    const to = call.body.status;
    const isServed = requireTenant(db, tenant).status === 'active';
    const effect = status === 'active' ? 'stops' : to === 'active' ? 'resumes' : 'none';
    return {
      dryRun: true,
      scope: id,
      from: status,
      to,
      effect: isServed ? effect : 'none',
      hostnames: db.all<{ hostname: string }>(ACTIVE_NAMES, id).map(({ hostname }) => hostname),
      connections: db.get<{ n: number }>(ACTING_CONNECTIONS, tenant, id, id)?.n ?? 0,
    };
  },
);

export const ACTIVE_NAMES =
  "SELECT hostname FROM hostnames WHERE scope = ? AND status = 'active' ORDER BY claim";

/** Counts the connections that were made in the scope or have a grant in it. */
export const ACTING_CONNECTIONS = `SELECT count(*) AS n FROM connections c
   WHERE c.tenant = ? AND c.state = 'active' AND (c.scope = ?
     OR EXISTS (SELECT 1 FROM connection_grants g WHERE g.connection = c.id AND g.scope = ?))`;

/** The scope, where the call may change its status. @throws PlatformError as declared. */
function requireStep(
  context: Pick<UnitContext, 'db'>,
  { params, body, ifMatch }: Pick<CallOf<typeof scopesSetStatus>, 'params' | 'body' | 'ifMatch'>,
): ScopeRow {
  const before = requireScope(context.db, params);
  requireMatch(ifMatch, String(before.revision));
  if (!TRANSITIONS[before.status].includes(body.status))
    throw new PlatformError(
      'invalid_transition',
      `A scope that is ${before.status} cannot become ${body.status}.`,
    );
  // A scope that is being reaped or restored must not change under the work.
  requireIdle(context, scopeSubject(before.id));
  return before;
}
