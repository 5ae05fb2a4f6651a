/**
 * The roster: the platform's staff, the builders of its tenants, their roles, and the tokens of their programs (spec 5.5).
 */
import {
  idSchema,
  PROGRAM_HOST,
  PROGRAM_HOSTS_MAX,
  PROGRAM_POLICIES,
  tenantId,
  timestamp,
} from '@freehold/contracts';
import { z } from 'zod';

/** `stf_…` */
export const STAFF_PREFIX = 'stf';

export const memberId = idSchema(STAFF_PREFIX);

/**
 * The role of a member of the staff. An admin may do everything. An operator may not change the roster or do what cannot be
 * undone. An auditor only reads.
 */
export const staffRole = z.enum(['admin', 'operator', 'auditor']);

export type StaffRole = z.infer<typeof staffRole>;

/** The role of a member of the roster: one of the staff, or builder of one tenant, with the rights of its push tokens. */
export const rosterRole = z.enum([...staffRole.options, 'builder']);

export type RosterRole = z.infer<typeof rosterRole>;

/** Capitals make no difference: issuers spell an address as its owner once did. */
export const email = z.email().max(254).toLowerCase();

export const etag = z.string().describe('The version of this record; send it back in If-Match');

export const staffRecord = z
  .object({
    id: z.string(),
    email: z.string(),
    name: z.string(),
    role: rosterRole,
    tenant: tenantId.nullable().describe('The tenant of a builder; null for staff'),
    status: z
      .enum(['invited', 'active'])
      .describe('invited until the first sign-in, which binds the address to one subject at the issuer'),
    issuer: z.string().nullable(),
    subject: z.string().nullable().describe('The subject at the issuer; null until the first sign-in'),
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
    member: z.string().describe('The member whose rights it has'),
    client: z.string().describe('The program that asked for it'),
    prefix: z.string().describe('The beginning of the secret'),
    last4: z.string().describe('How the secret ends'),
    createdAt: timestamp,
    expiresAt: timestamp,
    lastUsedAt: timestamp.nullable().describe('Accurate to a minute'),
    etag,
  })
  .meta({ id: 'StaffToken' });

export type StaffTokenRecord = z.infer<typeof staffTokenRecord>;

export const staffProgramRecord = z
  .object({
    id: z.string(),
    member: z.string().describe('The member that it acts for'),
    name: z.string().describe('As the program calls itself'),
    host: z.string().nullable().describe('The host name, or private-use scheme, that it comes from'),
    access: z
      .enum(['all', 'read', 'some'])
      .describe('What it may do of what its member may: some is reading, and what its permissions name'),
    permissions: z.array(z.string()).describe('With the access some: operate, administer or deploy'),
    createdAt: timestamp,
    expiresAt: timestamp,
    lastUsedAt: timestamp.nullable().describe('Accurate to a minute'),
    lastUsedFrom: z.string().nullable().describe('The network address of that use'),
  })
  .meta({ id: 'StaffProgram' });

export type StaffProgramRecord = z.infer<typeof staffProgramRecord>;

/** As an owner sets it for an instance. */
const programPolicyFields = {
  programs: z
    .enum(PROGRAM_POLICIES)
    .describe('Which programs are let in: any, those of the listed hosts, or none'),
  hosts: z
    .array(z.string().max(253).regex(PROGRAM_HOST))
    .max(PROGRAM_HOSTS_MAX)
    .describe('The host names, or private-use schemes, that programs come from; they count with listed'),
};

export const programPolicyBody = z.strictObject({
  ...programPolicyFields,
  hosts: programPolicyFields.hosts.default([]),
});

export const programPolicyRecord = z
  .object({
    ...programPolicyFields,
    updatedAt: timestamp.nullable().describe('Null until it is set'),
    etag,
  })
  .meta({ id: 'ProgramPolicy' });

export type ProgramPolicyRecord = z.infer<typeof programPolicyRecord>;

export const member = z.strictObject({ member: memberId });
