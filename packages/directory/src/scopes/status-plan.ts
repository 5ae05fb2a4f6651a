/** What a scope's next state would stop or start again. */

import { planned } from '../lib/handlers.ts';
import { requireTenant } from '../tenants/store.ts';
import { requireStep, scopesSetStatus } from './status.ts';

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

/** Those that were made in the scope, and those that were let in. */
export const ACTING_CONNECTIONS = `SELECT count(*) AS n FROM connections c
   WHERE c.tenant = ? AND c.state = 'active' AND (c.scope = ?
     OR EXISTS (SELECT 1 FROM connection_grants g WHERE g.connection = c.id AND g.scope = ?))`;
