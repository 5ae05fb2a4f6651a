/**
 * The roster: the platform's staff, the builders of its tenants, what they may do, and the tokens that their programs hold
 * (spec 5.5).
 */
import {
  ID_PREFIXES,
  idSchema,
  pageOf,
  pageQuery,
  type TokenId,
  tenantId,
  timestamp,
} from '@freehold/contracts';
import { z } from 'zod';
import { adminOperation } from './admin-operation.ts';
import { dryRunQuery, planCount } from './dry-run.ts';

const tag = 'Staff';

/** `stf_…` */
export const STAFF_PREFIX = 'stf';
const memberId = idSchema(STAFF_PREFIX);

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
const email = z.email().max(254).toLowerCase();
const etag = z.string().describe('The version of this record; send it back in If-Match');

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

const member = z.strictObject({ member: memberId });

export const staffList = adminOperation({
  name: 'staff.list',
  summary: 'List the staff and the builders',
  tag,
  method: 'GET',
  path: '/staff',
  input: {
    query: z.strictObject({
      tenant: tenantId.optional().describe('Only builders of this tenant'),
      ...pageQuery,
    }),
  },
  output: pageOf(staffRecord),
  success: 200,
  builder: 'none',
  audit: 'none',
});

export const staffGet = adminOperation({
  name: 'staff.get',
  summary: 'Read one member of the roster',
  tag,
  method: 'GET',
  path: '/staff/:member',
  input: { params: member },
  output: staffRecord,
  success: 200,
  builder: 'none',
  audit: 'none',
  etag: true,
  problems: ['not_found'],
});

export const staffPut = adminOperation({
  name: 'staff.put',
  summary: 'Put somebody on the roster, or change their name or role',
  description:
    'Somebody new is told by nobody but you: they sign in with that address, which their issuer must say is verified. A builder belongs to one tenant, and may in it what its push tokens may. An address is on the roster once. Whoever becomes a builder, ceases to be one, or becomes that of another tenant begins anew under another id: their sessions and tokens end, and service tokens that they own are suspended. Nobody can take the role of admin from themselves while they are the only one.',
  tag,
  method: 'PUT',
  path: '/staff',
  input: {
    body: z.strictObject({
      email,
      name: z.string().trim().regex(/\S/, 'must not be empty').max(100),
      role: rosterRole,
      tenant: tenantId.optional().describe('Whose builder this is: with the role builder, and with no other'),
    }),
  },
  output: staffRecord,
  success: 200,
  builder: 'none',
  staff: 'administer',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['not_found', 'conflict', 'invalid_transition', 'precondition_failed'],
});

export const staffRemovePlan = z
  .object({
    dryRun: z.literal(true),
    member: staffRecord,
    serviceTokens: planCount.describe('Service tokens that they own and that work now: these stop'),
    programs: planCount.describe('Programs that act for them and work now'),
    sessions: planCount.describe('Browsers in which they are signed in'),
  })
  .meta({ id: 'StaffRemovePlan' });

export const staffRemove = adminOperation({
  name: 'staff.remove',
  summary: 'Remove somebody from the roster',
  description:
    'Their sessions and tokens stop working with their next request, and so do the service tokens that they own (service-tokens.list shows these): another admin takes one over by replacing it, before or afterwards. Putting them back begins anew: they sign in again, and every program asks again. The only admin cannot remove themselves. With dryRun, answers how much stops.',
  tag,
  method: 'DELETE',
  path: '/staff/:member',
  input: { params: member, query: dryRunQuery },
  output: z.null(),
  plan: staffRemovePlan,
  success: 204,
  builder: 'none',
  staff: 'administer',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['not_found', 'conflict', 'precondition_failed'],
});

export const staffTokensList = adminOperation({
  name: 'staff-tokens.list',
  summary: 'List the tokens of programs that act for staff and builders',
  description:
    'Admins see all of them, everybody else their own. A service token sees what its owner does, one that nobody owns all.',
  tag,
  method: 'GET',
  path: '/staff-tokens',
  input: {
    query: z.strictObject({
      member: memberId.optional().describe('Only tokens of this member'),
      ...pageQuery,
    }),
  },
  output: pageOf(staffTokenRecord),
  success: 200,
  builder: 'none',
  audit: 'none',
});

export const staffTokensRevoke = adminOperation({
  name: 'staff-tokens.revoke',
  summary: 'Revoke the token of a program that acts for somebody on the roster',
  description:
    'It stops working at once. Admins may revoke any, everybody else their own. A service token may what its owner may, one that nobody owns any.',
  tag,
  method: 'DELETE',
  path: '/staff-tokens/:token',
  input: { params: z.strictObject({ token: idSchema<TokenId>(ID_PREFIXES.token) }) },
  output: z.null(),
  success: 204,
  builder: 'none',
  // Taking a right away from oneself is not a change of the platform.
  staff: 'read',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['not_found', 'precondition_failed'],
});
