/**
 * The management contract: the calls of the control plane to a vertical under `/internal/*` (spec 4.4), as schemas that
 * both sides share. Reads are GET with `tenantId` and `scopeId` in the query, others are POST with both in the body
 * (design: vertical-host, "Wire of /internal/*").
 */
import { z } from 'zod';
import { eventId, invocationId, principalId, scopeId, tenantId, timestamp } from '../ids.ts';
import { permissionKey, roleKey } from '../manifest.ts';
import { entityRef, programRecord } from '../operations.ts';
import { pageOf, pageQuery } from '../pages.ts';
import { entitlementProjection } from './entitlements.ts';

/** The header that carries the platform secret (spec 5.6). */
export const PLATFORM_SECRET_HEADER = 'x-platform-secret';

/**
 * The scope of a management request beside its fields, for what carries the request to it. The vertical reads the fields
 * alone.
 */
export const MANAGED_TENANT_HEADER = 'x-freehold-tenant';
export const MANAGED_SCOPE_HEADER = 'x-freehold-scope';

/** The scope of a management call, with its tenant. */
export const scopeRef = z.object({ tenantId, scopeId });
export type ScopeRef = z.infer<typeof scopeRef>;
export const scopeRequest = z.strictObject(scopeRef.shape);

/** The number of settings in one delivery, and in one scope. */
export const CONFIG_KEYS_MAX = 100;

/** Settings to deliver; null removes a key. `platform:auth` is one of them. At most 100 in one delivery. */
export const configPatch = z
  .record(z.string().min(1).max(128), z.string().max(16_384).nullable())
  .refine((config) => Object.keys(config).length <= CONFIG_KEYS_MAX, `has more than ${CONFIG_KEYS_MAX} keys`);

export const provisionRequest = z.strictObject({
  ...scopeRef.shape,
  name: z.string().min(1).max(200),
  owner: z.strictObject({ email: z.email().optional(), name: z.string().max(200).optional() }).optional(),
  config: configPatch.optional(),
});
/** A warning about an accepted delivery: `code` is the vertical's word, `detail` a sentence for an operator. */
export const deliveryWarning = z
  .object({ code: z.string().regex(/^[a-z][a-z0-9_]{0,63}$/), detail: z.string().max(1_000) })
  .meta({ id: 'DeliveryWarning' });
export type DeliveryWarning = z.infer<typeof deliveryWarning>;

const deliveryWarnings = z.array(deliveryWarning).max(10);

export const provisionResponse = z.object({
  scopeId,
  /** `unchanged` when the scope existed already. */
  status: z.enum(['provisioned', 'unchanged']),
  ownerSeat: z.enum(['pending', 'claimed']).nullable(),
  /** About the settings that came with it. Left out when there is none. */
  warnings: deliveryWarnings.optional(),
});

/** Roles that the platform adds to the manifest's own: key → permission keys. */
export const projectedRoles = z.record(roleKey, z.array(permissionKey));

/**
 * Sets the projections of a scope. `roles` are all roles beside the manifest's own: unnamed ones are removed. Left out,
 * they are the vertical's own `roles` of the mount. `entitlements` are all of the tenant; a request with them and without
 * `roles` leaves the roles unchanged. `platformRoles` are all roles of the platform, beside the vertical's own of the
 * mount, which stay; for a key of both, the vertical's counts.
 */
export const reconcileRequest = z.strictObject({
  ...scopeRef.shape,
  roles: projectedRoles.optional(),
  platformRoles: projectedRoles.optional(),
  entitlements: entitlementProjection.optional(),
});
/** The projected keys, sorted; without what was not requested. */
export const reconcileResponse = z.object({
  scopeId,
  roles: z.array(roleKey).optional(),
  entitlements: z.array(z.string()).optional(),
});

/** The scope is deleted. Deleting it again is `not_found`, reason `unknown_scope`. */
export const deleteScopeResponse = z.object({ scopeId });

export const configureRequest = z.strictObject({ ...scopeRef.shape, config: configPatch });
export const configureResponse = z.object({
  keys: z.array(z.string()),
  /** Left out when there is none. */
  warnings: deliveryWarnings.optional(),
});

/** The reason of a pending seat (design: identity, "Owner seat"). */
export const seatReason = z.enum(['never_opened', 'window_open', 'window_closed', 'claim_outstanding']);
export const ownerSeatResponse = z
  .object({
    state: z.enum(['pending', 'claimed']),
    /** Null exactly when the seat is claimed. */
    reason: seatReason.nullable(),
    windowEndsAt: timestamp.nullable(),
    claimedAt: timestamp.nullable(),
  })
  .meta({ id: 'OwnerSeat' });

/** `origin` is the address of the scope's application; the link leads there. */
export const ownerClaimRequest = z.strictObject({
  ...scopeRef.shape,
  origin: z.url({ protocol: /^https?$/ }),
});
export const ownerClaimResponse = z.object({ url: z.url(), expiresAt: timestamp }).meta({ id: 'OwnerClaim' });

/**
 * The recovery of an instance whose owner can no longer sign in (spec 3.1): an invite with the owner's role. `by` is the
 * operator and `why` the reason; the tenant's admin can read both.
 */
export const ownerRecoveryRequest = z.strictObject({
  ...ownerClaimRequest.shape,
  by: z.string().min(1).max(200),
  why: z.string().trim().regex(/\S/, 'must not be empty').max(500),
  recover: z.literal(true),
});
/**
 * The replacement of an owner: an invite with the owner's role that takes the seat from its holder when it is accepted.
 * The holder stays until then.
 */
export const ownerReplacementRequest = z.strictObject({
  ...ownerRecoveryRequest.omit({ recover: true }).shape,
  replace: z.literal(true),
});
export const ownerReplacementResponse = z
  .object({
    url: z.url(),
    expiresAt: timestamp,
    /** `mail`: the holder was told by mail. `log`: by the application's log of access alone. */
    notice: z.enum(['mail', 'log']),
  })
  .meta({ id: 'OwnerReplacement' });

/** The end of a recovery or a replacement that was not accepted. */
export const ownerRecoveryEndRequest = z.strictObject({
  ...scopeRef.shape,
  ...ownerRecoveryRequest.pick({ by: true, why: true }).shape,
});
/** `ended` is false when no such link waits. */
export const ownerRecoveryEndResponse = z.object({ ended: z.boolean() }).meta({ id: 'OwnerRecoveryEnd' });

export const ownerRecoveryResponse = z
  .object({ url: z.url(), expiresAt: timestamp })
  .meta({ id: 'OwnerRecovery' });

/**
 * Replaces the tenant's session secret. `by` is the operator, for the tenant's admin to read. Without `keepFormer`, every
 * session that was signed before ends now.
 */
export const sessionSecretRotateRequest = z.strictObject({
  ...scopeRef.shape,
  by: z.string().min(1).max(200),
  keepFormer: z.boolean(),
});
export const sessionSecretRotation = z
  .object({
    formerValidUntil: timestamp
      .nullable()
      .describe('Until when the former secret verifies; null when there is none, or none any more'),
  })
  .meta({ id: 'SessionSecretRotation' });

/** The class of a payload's personal data. All but `none` are sealed under a key per subject. */
export const piiClass = z.enum(['none', 'pseudonymous', 'direct']);

export const eventRecord = z
  .object({
    id: eventId,
    type: z.string(),
    entity: entityRef.nullable(),
    actor: z.string(),
    operation: z.string(),
    invocation: invocationId,
    /** The event that caused this one; null at the origin. */
    cause: eventId.nullable(),
    piiClass,
    subject: z.string().nullable(),
    payload: z.unknown(),
    /** The program through which the actor did it; left out for the actor's own hands. */
    program: programRecord.optional(),
    at: timestamp,
  })
  .meta({ id: 'Event' });
export type EventRecord = z.infer<typeof eventRecord>;

export const historyQuery = z.strictObject({
  ...scopeRef.shape,
  entityType: entityRef.shape.type.describe('What kind of record'),
  entityId: entityRef.shape.id.describe('Which record'),
  ...pageQuery,
});
export const prunedBefore = timestamp
  .optional()
  .describe('What is older was removed, as the retention of the scope says; left out while nothing was');
export const historyResponse = pageOf(eventRecord).extend({ prunedBefore });

export const denialRecord = z
  .object({
    id: z.string(),
    actor: z.string(),
    permission: permissionKey,
    entity: entityRef.nullable(),
    /** Null when the refusal was outside of an operation. */
    operation: z.string().nullable(),
    /** The program through which it was attempted. */
    program: programRecord.optional(),
    at: timestamp,
  })
  .meta({ id: 'Denial' });
export type DenialRecord = z.infer<typeof denialRecord>;

export const denialsQuery = z.strictObject({
  ...scopeRef.shape,
  actor: z.string().max(128).optional().describe('Only of this actor'),
  permission: permissionKey.optional().describe('Only for want of this permission'),
  ...pageQuery,
});
export const denialsResponse = pageOf(denialRecord).extend({ prunedBefore });

export const denialsSummaryQuery = z.strictObject({
  ...scopeRef.shape,
  groupBy: z.enum(['actor', 'operation']).default('actor').describe('What to count by'),
});
export const denialBucket = z.object({
  actor: z.string().optional(),
  permission: permissionKey.optional(),
  operation: z.string().nullable().optional(),
  count: z.int(),
  lastAt: timestamp,
});
/** Buckets by (actor, permission), or by operation, as `groupBy` says (spec 4.3.7). */
export const denialsSummaryResponse = z
  .object({
    groupBy: z.enum(['actor', 'operation']),
    total: z.int(),
    buckets: z.array(denialBucket),
    prunedBefore,
  })
  .meta({ id: 'DenialsSummary' });

export const migrationRecord = z.object({
  set: z.string(),
  version: z.int(),
  name: z.string(),
  digest: z.string(),
  appliedAt: timestamp,
});
export const migrationsResponse = z.object({ items: z.array(migrationRecord) });

export const eventRef = z.strictObject({ ...scopeRef.shape, event: eventId });
/** A walk from one event; `truncated` when it was cut at its bound. */
export const walkResponse = z.object({ items: z.array(eventRecord), truncated: z.boolean() });

export const assignmentRequest = z.strictObject({ ...scopeRef.shape, principal: principalId, role: roleKey });

export type ProvisionRequest = z.infer<typeof provisionRequest>;
export type ProvisionResponse = z.infer<typeof provisionResponse>;
export type ReconcileRequest = z.infer<typeof reconcileRequest>;
export type ReconcileResponse = z.infer<typeof reconcileResponse>;
export type DeleteScopeResponse = z.infer<typeof deleteScopeResponse>;
export type ConfigureRequest = z.infer<typeof configureRequest>;
export type OwnerSeat = z.infer<typeof ownerSeatResponse>;
export type OwnerClaim = z.infer<typeof ownerClaimResponse>;
export type OwnerRecoveryRequest = z.infer<typeof ownerRecoveryRequest>;
export type OwnerRecovery = z.infer<typeof ownerRecoveryResponse>;
export type OwnerReplacementRequest = z.infer<typeof ownerReplacementRequest>;
export type OwnerReplacement = z.infer<typeof ownerReplacementResponse>;
export type OwnerRecoveryEndRequest = z.infer<typeof ownerRecoveryEndRequest>;
export type OwnerRecoveryEnd = z.infer<typeof ownerRecoveryEndResponse>;
export type SessionSecretRotateRequest = z.infer<typeof sessionSecretRotateRequest>;
export type SessionSecretRotation = z.infer<typeof sessionSecretRotation>;
export type HistoryQuery = z.infer<typeof historyQuery>;
export type DenialsQuery = z.infer<typeof denialsQuery>;
export type DenialsSummaryQuery = z.infer<typeof denialsSummaryQuery>;
export type DenialsSummary = z.infer<typeof denialsSummaryResponse>;
export type MigrationRecord = z.infer<typeof migrationRecord>;
export type EventWalk = z.infer<typeof walkResponse>;
