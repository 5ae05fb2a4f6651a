/**
 * The roster: the platform's staff, the builders of its tenants, what they may do, and the tokens that their programs hold
 * (spec 5.5).
 */
import { idSchema, tenantId, timestamp } from '@freehold/contracts';
import { z } from 'zod';

/** `stf_…` */
export const STAFF_PREFIX = 'stf';

export const memberId = idSchema(STAFF_PREFIX);

/**
 * What somebody on the roster may do: an admin everything, an operator everything but what decides who is staff and what
 * cannot be taken back, an auditor only reads.
 */
export const staffRole = z.enum(['admin', 'operator', 'auditor']);

export type StaffRole = z.infer<typeof staffRole>;

/** What somebody can be on the roster: one of the staff, or the builder of one tenant, who may what its push tokens may. */
export const rosterRole = z.enum([...staffRole.options, 'builder']);

export type RosterRole = z.infer<typeof rosterRole>;

/** An address is one person whatever its capitals: issuers write it as its owner once did. */
export const email = z.email().max(254).toLowerCase();

export const etag = z.string().describe('The version of this record; send it back in If-Match');

export const staffRecord = z
  .object({
    id: z.string(),
    email: z.string(),
    name: z.string(),
    role: rosterRole,
    tenant: tenantId.nullable().describe('Whose builder this is; null for staff'),
    status: z
      .enum(['invited', 'active'])
      .describe('invited until the first sign-in, which binds the address to one subject at the issuer'),
    issuer: z.string().nullable(),
    subject: z.string().nullable().describe('Who that is at the issuer; null until the first sign-in'),
    createdAt: timestamp,
    updatedAt: timestamp,
    lastSignInAt: timestamp.nullable(),
    etag,
  })
  .meta({ id: 'StaffMember' });

export type StaffRecord = z.infer<typeof staffRecord>;

export const staffTokenRecord = z
  .object({
    id: z.string(),
    member: z.string().describe('Whose rights it has'),
    client: z.string().describe('The program that asked for it'),
    prefix: z.string().describe('How the secret begins'),
    last4: z.string().describe('How the secret ends'),
    createdAt: timestamp,
    expiresAt: timestamp,
    lastUsedAt: timestamp.nullable().describe('Accurate to a minute'),
    etag,
  })
  .meta({ id: 'StaffToken' });

export type StaffTokenRecord = z.infer<typeof staffTokenRecord>;

export const member = z.strictObject({ member: memberId });
