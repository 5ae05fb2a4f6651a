/** Every kind of mutation that is made and killed, by the operation's name. */
import type { AdminOperationName } from '../../../../packages/directory/src/declarations/index.ts';
import type { Deed } from '../bench.ts';
import { connectionDeeds } from './connections.ts';
import { registryDeeds } from './registry.ts';
import { scopeDeeds } from './scopes.ts';
import { tenantDeeds } from './tenants.ts';

export const deeds: Readonly<Partial<Record<AdminOperationName, Deed>>> = {
  ...tenantDeeds,
  ...scopeDeeds,
  ...registryDeeds,
  ...connectionDeeds,
};

/** Audited operations that are not made here, each with the reason. */
export const notMade: Readonly<Partial<Record<AdminOperationName, string>>> = {
  'owner-recovery.mint':
    'it wants an owner who has signed in; in the directory it is what owner-claim.mint is, and each one that was cut off stays listed as unsettled, because it may have made an invite that a later one does not undo',
};

/** Replaces what everything else has done, so that it has a place of its own. */
export const alone: readonly AdminOperationName[] = ['directory.restore'];
