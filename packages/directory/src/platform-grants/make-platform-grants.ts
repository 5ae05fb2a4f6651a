/** The platform's grants for the wiring: what a door for verticals, or the platform's mail, asks before it acts. */
import { parseInput } from '@freehold/contracts';
import type { UnitStub } from '@freehold/store';
import type { PlatformGrant } from '../declarations/platform-grants.ts';
import type { LogHead } from '../declarations/records.ts';
import type { DirectoryMethods } from '../unit.ts';
import { type ProvisionedTenant, type TenantOrder, tenantOrder } from './provision-tenant.ts';

export interface PlatformGrants {
  /** Whether a vertical has a grant now. Not to be kept: it can be taken away at any time. */
  hasPlatformGrant(vertical: string, grant: PlatformGrant): Promise<boolean>;
  /**
   * Creates a tenant as a vertical. Idempotent by slug, as `tenants.create` is. The caller answers for it that the
   * vertical is the one that it names.
   * @throws PlatformError `forbidden`, reason `not_granted`; `validation_failed`; `conflict`.
   */
  provisionTenant(order: TenantOrder): Promise<Omit<ProvisionedTenant, 'head'>>;
}

export function makePlatformGrants({
  directory,
  publish,
}: {
  readonly directory: UnitStub<DirectoryMethods>;
  readonly publish: (head: LogHead) => Promise<void>;
}): PlatformGrants {
  return {
    hasPlatformGrant: (vertical, grant) => directory.platformGrant({ vertical, grant }),
    provisionTenant: async (order) => {
      const { head, ...provisioned } = await directory.provisionTenant(
        parseInput('The tenant', tenantOrder, order),
      );
      if (head) await publish(head);
      return provisioned;
    },
  };
}
