/**
 * Tokens and their rights. A service token is software of the platform's operator and may do what its owner may; a push token
 * is software of a tenant's builder and has a kind (design: control-plane, "Actors" and "Changed since").
 */
import { scopeId, slug, timestamp } from '@freehold/contracts';
import { z } from 'zod';
import { staffRole } from './staff.ts';

export const serviceTokenRecord = z
  .object({
    id: z.string(),
    name: z.string(),
    prefix: z.string().describe('The beginning of the secret'),
    last4: z.string().describe('The end of the secret'),
    createdAt: timestamp,
    createdBy: z.string(),
    owner: z
      .string()
      .nullable()
      .describe(
        "The member of the staff whose rights it has; null for the platform operator's own, which may do everything",
      ),
    role: staffRole
      .nullable()
      .describe('The role that its owner has at this moment; null without an owner, and when the owner left'),
    status: z
      .enum(['active', 'suspended', 'expired', 'revoked'])
      .describe('Only an active one works. suspended: its owner is not on the roster any more'),
    expiresAt: timestamp,
    lastUsedAt: timestamp.nullable().describe('Accurate to a minute'),
    revokedAt: timestamp.nullable(),
    etag: z.string().describe('The version of this record; send it back in If-Match'),
  })
  .meta({ id: 'ServiceToken' });

export type ServiceTokenRecord = z.infer<typeof serviceTokenRecord>;

/** The kinds of push tokens, from the least to the most. Each may do what those before it may. */
const KINDS = ['deploy', 'read', 'operate', 'legacy'] as const;
export type PushTokenKind = (typeof KINDS)[number];

/** The kinds that can be made. `legacy` is that of tokens from before kinds. */
export const newPushTokenKind = z
  .enum(['deploy', 'read', 'operate'])
  .describe(
    'deploy: versions, promotion, waves and logs of verticals that its tenant owns. read: also looks into scopes of its tenant whose vertical its tenant owns, rows included. operate: also everything else that a builder may do, such as settings, owner claims and host names.',
  );

export const pushTokenKind = z
  .enum(KINDS)
  .describe('legacy: made before tokens had kinds. It keeps what it could do, and ends at its expiry');

const NARROWED_MAX = 100;

/** The verticals and scopes that a token is narrowed to. */
export const narrowing = {
  verticals: z.array(slug).min(1).max(NARROWED_MAX),
  scopes: z.array(scopeId).min(1).max(NARROWED_MAX),
};

/** The rights of a push token in its tenant. */
export interface TokenRights {
  readonly kind: PushTokenKind;
  /** The only verticals that it reaches; null for all of them. */
  readonly verticals: readonly string[] | null;
  /** The only scopes that it reaches; null for all of them. */
  readonly scopes: readonly string[] | null;
}

/** Whether a kind may do what takes at least the other one. */
export function isAtLeast(kind: PushTokenKind, least: PushTokenKind): boolean {
  return KINDS.indexOf(kind) >= KINDS.indexOf(least);
}

/** Whether one token may do everything that the other may. */
export function covers(one: TokenRights, other: TokenRights): boolean {
  const within = (inner: readonly string[] | null, outer: readonly string[] | null): boolean =>
    outer === null || (inner?.every((each) => outer.includes(each)) ?? false);
  return (
    isAtLeast(one.kind, other.kind) &&
    within(other.verticals, one.verticals) &&
    within(other.scopes, one.scopes)
  );
}

/** The default life of a token, in days. */
export const PUSH_TOKEN_DAYS_DEFAULT = 90;
/** The longest life of a token, in days. */
export const TOKEN_DAYS_MAX = 365;

/** The default overlap, in hours, in which a replaced token goes on working. */
export const OVERLAP_HOURS_DEFAULT = 24;
/** A week: a program that has not changed over by then was forgotten. */
const OVERLAP_HOURS_MAX = 168;

export const rotation = z.strictObject({
  overlapHours: z
    .int()
    .min(0)
    .max(OVERLAP_HOURS_MAX)
    .default(OVERLAP_HOURS_DEFAULT)
    .describe('For how long the replaced token goes on working; it never works longer than it did'),
  expiresInDays: z.int().min(1).max(TOKEN_DAYS_MAX).default(PUSH_TOKEN_DAYS_DEFAULT),
});
