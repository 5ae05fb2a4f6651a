/** The projection of a tenant's entitlements into its scopes (requirement C-03). */
import { z } from 'zod';
import { timestamp } from '../ids.ts';
import type { ScopeRef } from './shared.ts';

/** The number of entitlements of a tenant. */
export const ENTITLEMENTS_MAX = 100;

/** The name of a right: `reports`, `seats`, `invoices.export`. The vertical that checks it chooses the name. */
export const entitlementKey = z
  .string()
  .regex(
    /^[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)*$/,
    'must be lower-case words, with dots between them: invoices.export',
  )
  .max(64);

/** One entitlement. The scope itself ignores it from `expiresAt` on. */
export const projectedEntitlement = z.strictObject({
  plan: z.string().min(1).max(64).nullable(),
  quota: z.int().min(0).nullable(),
  expiresAt: timestamp.nullable(),
});

/**
 * All entitlements of a tenant: unnamed ones are removed. `revision` grows with every change, so that an overtaken
 * delivery changes nothing.
 */
export const entitlementProjection = z.strictObject({
  revision: z.int().min(0),
  items: z
    .record(entitlementKey, projectedEntitlement)
    .refine(
      (items) => Object.keys(items).length <= ENTITLEMENTS_MAX,
      `has more than ${ENTITLEMENTS_MAX} keys`,
    ),
});
export type EntitlementProjection = z.infer<typeof entitlementProjection>;

/** Beyond the contract: the entitlements of a tenant, for its operations. */
export interface ScopeEntitlements {
  /**
   * Replaces the values of `ctx.entitlement(key)`: `{ plan, quota }` until it expires, by the scope's own clock. A
   * projection with a lower revision than the last one changes nothing.
   */
  projectEntitlementsLocal(ref: ScopeRef, projection: EntitlementProjection): Promise<void>;
}
