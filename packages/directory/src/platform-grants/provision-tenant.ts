/**
 * What a vertical does with a grant of the platform's. Who calls was settled before: the wiring names the vertical, from
 * a credential that it has checked. The grant is looked up in the transaction that uses it, so that taking it away acts
 * on the very next call.
 */
import { ID_PREFIXES, PlatformError, slug as slugSchema } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { z } from 'zod';
import { appendAdminLog, logHead } from '../audit/admin-log.ts';
import { PLATFORM_GRANTS, type PlatformGrant } from '../declarations/platform-grants.ts';
import type { LogHead, TenantRecord } from '../declarations/records.ts';
import type { Change } from '../lib/handlers.ts';
import { createTenant } from '../tenants/operations.ts';
import { loadGrant } from './store.ts';

export const tenantOrder = z.strictObject({
  /** The slug of the vertical that asks. */
  vertical: slugSchema,
  slug: slugSchema,
  name: z.string().min(1).max(200),
});
export type TenantOrder = z.infer<typeof tenantOrder>;

export interface ProvisionedTenant {
  readonly tenant: TenantRecord;
  /** False where there was one of this slug and name already. */
  readonly created: boolean;
  readonly head: LogHead | null;
}

/** The methods that only read: see `UnitDefinition.queries`. */
export const GRANT_QUERIES = ['platformGrant'] as const;

export const platformGrantMethods = (context: UnitContext) => ({
  platformGrant: ({
    vertical,
    grant,
  }: {
    readonly vertical: string;
    readonly grant: PlatformGrant;
  }): boolean => loadGrant(context.db, { vertical, name: grant }) !== undefined,

  /** Creates a tenant as a vertical, as the operation of that name does. The log names the vertical. */
  provisionTenant: ({ vertical, ...body }: TenantOrder): ProvisionedTenant => {
    requireGrant(context, vertical, 'tenant-provisioner');
    const requestId = context.newId(ID_PREFIXES.request);
    const actor = { kind: 'system', id: `vertical:${vertical}`, name: vertical } as const;
    const revision = (logHead(context.db)?.sequence ?? 0) + 1;
    const facts = { baseDomains: [], reservedHostnames: [], verticalKnown: true };
    const made = createTenant(
      { ...context, facts, resumes: null, revision },
      {
        operation: 'tenants.create',
        params: {},
        query: {},
        body,
        actor: { kind: 'service', id: actor.id, name: actor.name },
        requestId,
      },
    ) as Change<TenantRecord>;
    const call = { actor, token: null, requestId, action: 'tenants.create' };
    const head = made.audit && appendAdminLog(context, call, { ...made.audit, outcome: 'done' });
    return { tenant: made.value, created: made.status === 201, head };
  },
});

/** @throws PlatformError `forbidden`, reason `not_granted`. */
function requireGrant({ db }: UnitContext, vertical: string, name: PlatformGrant): void {
  if (loadGrant(db, { vertical, name })) return;
  throw new PlatformError('forbidden', `This vertical may not ${PLATFORM_GRANTS[name]}.`, {
    reason: 'not_granted',
  });
}
