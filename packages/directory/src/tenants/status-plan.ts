/** What a tenant's next state would stop or start again. */
import type { SqlValue } from '@freehold/store';
import { planned } from '../lib/handlers.ts';
import { requireStep, tenantsSetStatus } from './operations.ts';

/** What works while its tenant is active. The first `?` is the tenant. */
export const SERVED = {
  scopes: "SELECT count(*) AS n FROM scopes WHERE tenant = ? AND status = 'active'",
  hostnames: `SELECT count(*) AS n FROM hostnames h JOIN scopes s ON s.id = h.scope
    WHERE h.tenant = ? AND h.status = 'active' AND s.status = 'active'`,
  pushTokens: `SELECT count(*) AS n FROM tokens
    WHERE tenant = ? AND kind = 'push' AND revoked_at IS NULL AND expires_at > ?`,
  builders: 'SELECT count(*) AS n FROM staff WHERE tenant = ?',
} as const;

export const planTenantStatus = /* @__PURE__ */ planned<typeof tenantsSetStatus>(
  tenantsSetStatus,
  (context, call) => {
    const { db, now } = context;
    const { id, slug, status } = requireStep(context, call);
    const to = call.body.status;
    const count = (sql: string, ...params: SqlValue[]) => db.get<{ n: number }>(sql, id, ...params)?.n ?? 0;
    return {
      dryRun: true,
      tenant: id,
      slug,
      from: status,
      to,
      effect: status === 'active' ? 'stops' : to === 'active' ? 'resumes' : 'none',
      counts: {
        scopes: count(SERVED.scopes),
        hostnames: count(SERVED.hostnames),
        pushTokens: count(SERVED.pushTokens, now()),
        builders: count(SERVED.builders),
      },
    };
  },
);
