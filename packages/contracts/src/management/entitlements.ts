/** What a tenant is entitled to, as the platform tells its scopes (requirement C-03). */
import { z } from 'zod';
import { timestamp } from '../ids.ts';
import type { ScopeRef } from './shared.ts';

/** How many entitlements a tenant may have. */
export const ENTITLEMENTS_MAX = 100;

/** What is bought or given: `reports`, `seats`, `invoices.export`. The vertical that asks for it decides the words. */
export const entitlementKey = z
  .string()
  .regex(
    /^[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)*$/,
    'must be lower-case words, with dots between them: invoices.export',
  )
  .max(64);

/** What stands under one key. It is over from `expiresAt` on, and then as if it were not there: the scope sees to that itself. */
export const projectedEntitlement = z.strictObject({
  plan: z.string().min(1).max(64).nullable(),
  quota: z.int().min(0).nullable(),
  expiresAt: timestamp.nullable(),
});

/**
 * All that a tenant is entitled to: what is not named is taken away. `revision` grows with every change, so that of two
 * deliveries that overtook each other the older one changes nothing.
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

/** Beyond the contract: what a tenant has bought or been given, where its operations can read it. */
export interface ScopeEntitlements {
  /**
   * Replaces what `ctx.entitlement(key)` answers: `{ plan, quota }` until it expires, by the scope's own clock. A
   * projection with a revision below the one that was projected last changes nothing.
   */
  projectEntitlementsLocal(ref: ScopeRef, projection: EntitlementProjection): Promise<void>;
}
