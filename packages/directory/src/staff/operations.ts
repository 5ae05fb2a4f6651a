/** What can be done with the roster and with the tokens of its members' programs. */

import type { TokenId } from '@freehold/contracts';
import {
  ID_PREFIXES,
  idSchema,
  PlatformError,
  pageOf,
  pageQuery,
  type TenantId,
  tenantId,
} from '@freehold/contracts';
import { z } from 'zod';
import { memberBehind } from '../access.ts';
import type { Actor } from '../actors.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import { dryRunQuery, planCount } from '../declarations/dry-run.ts';
import {
  email,
  member,
  memberId,
  rosterRole,
  STAFF_PREFIX,
  staffRecord,
  staffTokenRecord,
} from '../declarations/staff.ts';
import { type AuditEntry, type CallOf, type ChangeContext, change, read } from '../lib/handlers.ts';
import { requireMatch } from '../lib/preconditions.ts';
import { requireOpenTenant } from '../tenants/store.ts';
import { countWorkingTokensOf } from '../tokens/store.ts';
import {
  deleteMember,
  hasOtherAdmin,
  listStaff,
  loadMember,
  loadMemberByEmail,
  type StaffRow,
  saveMember,
  staffOfRow,
} from './store.ts';
import { deleteStaffToken, listStaffTokens, loadStaffToken, type StaffTokenRow } from './token-store.ts';

const tag = 'Staff';

export const staffRemovePlan = z
  .object({
    dryRun: z.literal(true),
    member: staffRecord,
    serviceTokens: planCount.describe('Service tokens that they own and that work now: these stop'),
    programs: planCount.describe('Programs that act for them and work now'),
    sessions: planCount.describe('Browsers in which they are signed in'),
  })
  .meta({ id: 'StaffRemovePlan' });

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

export const readStaff = /* @__PURE__ */ read(staffList, ({ db }, { query }) => ({
  value: listStaff(db, query),
}));

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

export const readMember = /* @__PURE__ */ read(staffGet, ({ db }, { params }) => {
  const value = staffOfRow(loadMember(db, params.member) ?? unknownMember());
  return { value, etag: value.etag };
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

export const putMember = /* @__PURE__ */ change(staffPut, (context, { body, actor, ifMatch }) => {
  const { db } = context;
  const tenant = tenantOfRole(body);
  const before = loadMemberByEmail(db, body.email);
  requireMatch(ifMatch, before ? String(before.revision) : null);
  const isSameKind = before !== undefined && before.tenant === tenant;
  if (isSameKind && before.name === body.name && before.role === body.role) {
    const value = staffOfRow(before);
    return { status: 200, value, etag: value.etag, audit: null };
  }
  if (before && body.role !== 'admin') requireAnotherAdmin(context, before, actor);
  if (tenant !== null) requireOpenTenant(db, tenant);
  // Under another id: nothing that somebody began for a tenant, or as one of the staff, goes on as something else. An id
  // that was removed never comes back, and with it no session, no program, no service token and no stored answer.
  const kept = isSameKind ? before : undefined;
  if (before && !kept) deleteMember(db, before.id);
  const nowMs = context.now();
  const after: StaffRow = {
    id: kept?.id ?? context.newId(STAFF_PREFIX),
    email: body.email,
    name: body.name,
    role: body.role,
    tenant,
    issuer: kept?.issuer ?? null,
    subject: kept?.subject ?? null,
    createdAtMs: kept?.createdAtMs ?? nowMs,
    updatedAtMs: nowMs,
    lastSignInAtMs: kept?.lastSignInAtMs ?? null,
    revision: context.revision,
  };
  saveMember(db, after);
  const value = staffOfRow(after);
  const audit: AuditEntry = {
    target: targetOf(after),
    before: before ? { ...(kept ? {} : { member: before.id }), ...auditFields(before) } : null,
    after: auditFields(after),
  };
  return { status: 200, value, etag: value.etag, audit };
});

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

export const removeMember = /* @__PURE__ */ change(staffRemove, (context, call) => {
  const before = requireRemovable(context, call);
  // What stops working with them is written down: whoever removes somebody did not think of every nightly job.
  const serviceTokens = countWorkingTokensOf(context.db, { owner: before.id, nowMs: context.now() });
  deleteMember(context.db, before.id);
  const audit = {
    target: targetOf(before),
    before: { ...auditFields(before), serviceTokens },
    after: null,
  };
  return { status: 204, value: null, audit };
});

/** Somebody who may be removed by this call. @throws PlatformError what the declaration names. */
export function requireRemovable(
  context: Pick<ChangeContext, 'db'>,
  { params, actor, ifMatch }: Pick<CallOf<typeof staffRemove>, 'params' | 'actor' | 'ifMatch'>,
): StaffRow {
  const member = loadMember(context.db, params.member) ?? unknownMember();
  requireMatch(ifMatch, String(member.revision));
  requireAnotherAdmin(context, member, actor);
  return member;
}

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

export const readStaffTokens = /* @__PURE__ */ read(staffTokensList, ({ db }, { query, actor }) => ({
  value: listStaffTokens(db, { ...query, member: membersSeen(actor, query.member) }),
}));

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

export const revokeStaffToken = /* @__PURE__ */ change(
  staffTokensRevoke,
  ({ db }, { params, actor, ifMatch }) => {
    const before = loadStaffToken(db, params.token);
    if (!before || !(seesAll(actor) || before.member === memberBehind(actor)))
      throw new PlatformError('not_found', 'There is no such token.', { reason: 'unknown_token' });
    requireMatch(ifMatch, String(before.revision));
    deleteStaffToken(db, before.id);
    const tenant = loadMember(db, before.member)?.tenant ?? null;
    return { status: 204, value: null, audit: revocationEntry(before, tenant) };
  },
);

/** @param tenant whose builder the token acted for; null for staff. */
export function revocationEntry(before: StaffTokenRow, tenant: TenantId | null): AuditEntry {
  return { target: targetOf({ id: before.id, tenant }), before: tokenFields(before), after: null };
}

export function tokenFields({ member, client }: Pick<StaffTokenRow, 'member' | 'client'>) {
  return { member, client };
}

export function targetOf({ id, tenant }: Pick<StaffRow, 'id' | 'tenant'>): AuditEntry['target'] {
  return { tenant, scope: null, vertical: null, other: id };
}

export function auditFields({ email, name, role, tenant, issuer, subject }: StaffRow) {
  return { email, name, role, ...(tenant === null ? {} : { tenant }), issuer, subject };
}

/** @throws PlatformError `validation_failed` for a builder of no tenant, and for a tenant of anybody else. */
function tenantOfRole({ role, tenant }: CallOf<typeof staffPut>['body']): TenantId | null {
  if ((role === 'builder') === (tenant !== undefined)) return tenant ?? null;
  const message =
    role === 'builder' ? 'must say whose builder this is' : `is not for a member of the staff (${role})`;
  throw new PlatformError('validation_failed', `The body is not valid. tenant: ${message}.`, {
    errors: [{ path: 'tenant', message }],
  });
}

/**
 * Nobody shuts the door behind themselves: a person who is the only admin stays one, also through a token of theirs, which
 * would end with them. The operator, whose own service token opens it again, may.
 */
function requireAnotherAdmin({ db }: Pick<ChangeContext, 'db'>, member: StaffRow, actor: Actor): void {
  const isLeaving = memberBehind(actor) === member.id && member.role === 'admin';
  if (!isLeaving || hasOtherAdmin(db, member.id)) return;
  throw new PlatformError(
    'conflict',
    'You are the only admin who has signed in. Make somebody else one first, and have them sign in.',
    { reason: 'last_admin' },
  );
}

/** Whose tokens a list shows: for most people only their own, whomever they ask about. */
function membersSeen(actor: Actor, asked: string | undefined): string | undefined {
  if (seesAll(actor)) return asked;
  const own = memberBehind(actor) ?? NO_PRINCIPAL;
  return asked === undefined || asked === own ? own : NO_PRINCIPAL;
}

const NO_PRINCIPAL = '';

function seesAll(actor: Actor): boolean {
  if (actor.kind === 'service') return actor.role === undefined || actor.role === 'admin';
  return actor.kind === 'staff' && actor.role === 'admin';
}

function unknownMember(): never {
  throw new PlatformError('not_found', 'There is nobody of that id on the roster.', {
    reason: 'unknown_member',
  });
}
