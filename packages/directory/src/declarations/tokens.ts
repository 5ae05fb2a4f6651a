/** Service tokens: software of the platform's operator, which may do what its owner may (design: control-plane, "Actors"). */
import { timestamp } from '@freehold/contracts';
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
