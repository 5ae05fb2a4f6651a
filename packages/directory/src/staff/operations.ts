/** The operations of the roster and of the tokens of its members' programs. */
import {
  ID_PREFIXES,
  idSchema,
  lineOfText,
  PlatformError,
  pageOf,
  pageQuery,
  type TenantId,
  type TokenId,
  tenantId,
} from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { z } from 'zod';
import type { Actor } from '../access/actors.ts';
import { memberBehind } from '../access/admission.ts';
import { type AuditedCall, logHead } from '../audit/admin-log.ts';
import { requireMatch } from '../changes/conditions.ts';
import { adminOperation, dryRunQuery, planCount } from '../declarations/admin-operation.ts';
import { pushTokenRecord } from '../declarations/records.ts';
import {
  email,
  member,
  memberId,
  rosterRole,
  STAFF_PREFIX,
  staffRecord,
  staffTokenRecord,
} from '../declarations/staff.ts';
import { type AuditEntry, type CallOf, type ChangeContext, change, planned, read } from '../lib/handlers.ts';
import { cancelWorkOf } from '../long-work/store.ts';
import { endPreviewsOf, previewsMadeBy } from '../previews/store.ts';
import { requireOpenTenant } from '../tenants/store.ts';
import { endTokensOfMaker, tokensOfMaker } from '../tokens/lineage.ts';
import { countWorkingTokensOf, listPushTokensOf } from '../tokens/store.ts';
import { dropPrograms } from './program-store.ts';
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
import {
  deleteStaffToken,
  dropTokensOf,
  listStaffTokens,
  loadStaffToken,
  type StaffTokenRow,
} from './token-store.ts';

const tag = 'Staff';

export const staffRemovePlan = z
  .object({
    dryRun: z.literal(true),
    member: staffRecord,
    serviceTokens: planCount.describe('Service tokens that they own and that work now: these stop'),
    pushTokens: z
      .array(pushTokenRecord)
      .describe(
        'Push tokens that they or their service tokens made, and those that came of these: these are revoked',
      ),
    previews: planCount.describe('Previews that they or these push tokens made: these end'),
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

const readStaff = /* @__PURE__ */ read(staffList, ({ db }, { query }) => ({
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

const readMember = /* @__PURE__ */ read(staffGet, ({ db }, { params }) => {
  const value = staffOfRow(loadMember(db, params.member) ?? unknownMember());
  return { value, etag: value.etag };
});

export const staffPut = adminOperation({
  name: 'staff.put',
  summary: 'Put a person on the roster, or change their name or role',
  description:
    'The platform sends no notice: tell a new person to sign in with that address, which their issuer must say is verified. A builder belongs to one tenant, and may do there what its push tokens may. An address is on the roster once. A person who becomes a builder, ceases to be one, or moves to another tenant begins anew under another id: their sessions and tokens end, and service tokens that they own are suspended and push tokens that they made are revoked. The latter is so too for one who may only read from now on. The programs of a member with a lesser role end. The only admin cannot give up that role.',
  tag,
  method: 'PUT',
  path: '/staff',
  input: {
    body: z.strictObject({
      email,
      name: lineOfText(100).trim(),
      role: rosterRole,
      tenant: tenantId.optional().describe('The tenant of a builder; with no other role'),
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

const putMember = /* @__PURE__ */ change(staffPut, (context, { body, actor, ifMatch }) => {
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
  // A member of another kind has another id, so that no session, program, service token or stored answer of the old kind
  // goes on. A removed id is never used again.
  const same = isSameKind ? before : undefined;
  const isBarred = before !== undefined && (!same || (body.role === 'auditor' && before.role !== 'auditor'));
  const ending = { nowMs: context.now(), revision: context.revision };
  const pushTokens = isBarred ? endTokensOfMaker(db, before.id, ending) : [];
  const previews = isBarred ? endPreviewsOf(db, [before.id, ...pushTokens], ending.nowMs) : [];
  // A program was let in for what its member could do then. One of a lesser role is asked about again.
  const programs =
    before && (!same || isLess(body.role, before.role)) ? dropPrograms(db, before.id, ending.nowMs) : [];
  if (before && !same) {
    dropTokensOf(db, before.id, ending.nowMs);
    deleteMember(db, before.id);
  }
  const nowMs = context.now();
  const after: StaffRow = {
    id: same?.id ?? context.newId(STAFF_PREFIX),
    email: body.email,
    name: body.name,
    role: body.role,
    tenant,
    issuer: same?.issuer ?? null,
    subject: same?.subject ?? null,
    createdAtMs: same?.createdAtMs ?? nowMs,
    updatedAtMs: nowMs,
    lastSignInAtMs: same?.lastSignInAtMs ?? null,
    revision: context.revision,
  };
  saveMember(db, after);
  const value = staffOfRow(after);
  const audit: AuditEntry = {
    target: targetOf(after),
    before: before
      ? {
          ...(same ? {} : { member: before.id }),
          ...auditFields(before),
          ...listed({ pushTokens, programs, previews }),
        }
      : null,
    after: auditFields(after),
  };
  return { status: 200, value, etag: value.etag, audit, rerouted: previews.length > 0 };
});

export const staffRemove = adminOperation({
  name: 'staff.remove',
  summary: 'Remove a person from the roster',
  description:
    'Their sessions and tokens stop working with their next request, and so do the service tokens that they own (service-tokens.list shows these): another admin takes one over by replacing it, before or afterwards. Push tokens that they or these made are revoked for good, with all that replaced them: make others first. Previews that they or those push tokens made end. Putting them back begins anew: they sign in again, and every program asks again. The only admin cannot remove themselves. With dryRun, answers what stops.',
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

const removeMember = /* @__PURE__ */ change(staffRemove, (context, call) => {
  const before = requireRemovable(context, call);
  // The log counts the service tokens that stop working, because nightly jobs are easily forgotten.
  const serviceTokens = countWorkingTokensOf(context.db, { owner: before.id, nowMs: context.now() });
  const ending = { nowMs: context.now(), revision: context.revision };
  const pushTokens = endTokensOfMaker(context.db, before.id, ending);
  const previews = endPreviewsOf(context.db, [before.id, ...pushTokens], ending.nowMs);
  const programs = dropPrograms(context.db, before.id, ending.nowMs);
  dropTokensOf(context.db, before.id, ending.nowMs);
  cancelWorkOf(context.db, [before.id], ending.nowMs);
  deleteMember(context.db, before.id);
  const audit = {
    target: targetOf(before),
    before: { ...auditFields(before), serviceTokens, ...listed({ pushTokens, programs, previews }) },
    after: null,
  };
  return { status: 204, value: null, audit, rerouted: previews.length > 0 };
});

export const SESSIONS_OF = 'SELECT count(*) AS n FROM staff_sessions WHERE member = ? AND expires_at > ?';
export const PROGRAMS_OF = 'SELECT count(*) AS n FROM program_grants WHERE person_id = ? AND expires_at > ?';
export const TOKENS_OF = 'SELECT count(*) AS n FROM staff_tokens WHERE member = ? AND expires_at > ?';

const planRemoval = /* @__PURE__ */ planned<typeof staffRemove>(staffRemove, (context, call) => {
  const { db } = context;
  const member = requireRemovable(context, call);
  const nowMs = context.now();
  const count = (sql: string): number => db.get<{ n: number }>(sql, member.id, nowMs)?.n ?? 0;
  const pushTokens = tokensOfMaker(db, member.id);
  return {
    dryRun: true,
    member: staffOfRow(member),
    serviceTokens: countWorkingTokensOf(db, { owner: member.id, nowMs }),
    pushTokens: listPushTokensOf(db, pushTokens, nowMs),
    previews: previewsMadeBy(db, [member.id, ...pushTokens], nowMs).length,
    programs: count(PROGRAMS_OF) + count(TOKENS_OF),
    sessions: count(SESSIONS_OF),
  };
});

/** From the most to the least. */
const ROLES: readonly StaffRow['role'][] = ['admin', 'operator', 'auditor'];

function isLess(role: StaffRow['role'], former: StaffRow['role']): boolean {
  return ROLES.indexOf(role) > ROLES.indexOf(former);
}

/** The things that ended with a change, for the log. */
function listed(
  ended: Readonly<Record<string, readonly string[]>>,
): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(Object.entries(ended).filter(([, ids]) => ids.length > 0));
}

/** The member, where the call may remove them. @throws PlatformError as declared. */
function requireRemovable(
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
    'Admins see all of them, other members their own. A service token sees what its owner sees, one without an owner all of them, and a push token none.',
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
  builder: 'own-tenant',
  audit: 'none',
});

const readStaffTokens = /* @__PURE__ */ read(staffTokensList, ({ db }, { query, actor }) => ({
  value: listStaffTokens(db, { ...query, member: membersSeen(actor, query.member) }),
}));

export const staffTokensRevoke = adminOperation({
  name: 'staff-tokens.revoke',
  summary: 'Revoke the token of a program that acts for a member of the roster',
  description:
    'It stops working at once. Admins may revoke any, other members their own. A service token may revoke what its owner may; a service token without an owner may revoke any.',
  tag,
  method: 'DELETE',
  path: '/staff-tokens/:token',
  input: { params: z.strictObject({ token: idSchema<TokenId>(ID_PREFIXES.token) }) },
  output: z.null(),
  success: 204,
  builder: 'own-tenant',
  // To give up a right of one's own is no change of the platform.
  staff: 'read',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['not_found', 'precondition_failed'],
});

const revokeStaffToken = /* @__PURE__ */ change(
  staffTokensRevoke,
  ({ db, now }, { params, actor, ifMatch }) => {
    const before = loadStaffToken(db, params.token);
    if (!before || !(seesAll(actor) || before.member === memberBehind(actor)))
      throw new PlatformError('not_found', 'There is no such token.', { reason: 'unknown_token' });
    requireMatch(ifMatch, String(before.revision));
    deleteStaffToken(db, before.id);
    cancelWorkOf(db, [before.id], now());
    const tenant = loadMember(db, before.member)?.tenant ?? null;
    return { status: 204, value: null, audit: revocationEntry(before, tenant) };
  },
);

export const staffOperations = [
  readStaff,
  readMember,
  readStaffTokens,
  putMember,
  removeMember,
  revokeStaffToken,
  planRemoval,
];

/** The actor of a row about an act of a member that is no admin operation. */
export function byMember(
  { id, name, tenant }: Pick<StaffRow, 'id' | 'name' | 'tenant'>,
  { requestId, action }: { readonly requestId: string; readonly action: string },
): AuditedCall {
  const kind = tenant === null ? 'staff' : 'builder';
  return { actor: { kind, id, name }, token: null, requestId, action };
}

export function nextSequence({ db }: UnitContext): number {
  return (logHead(db)?.sequence ?? 0) + 1;
}

/** @param tenant the tenant of the builder that the token acted for; null for staff. */
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

/** @throws PlatformError `validation_failed` for a builder without a tenant, and for staff with one. */
function tenantOfRole({ role, tenant }: CallOf<typeof staffPut>['body']): TenantId | null {
  if ((role === 'builder') === (tenant !== undefined)) return tenant ?? null;
  const message =
    role === 'builder'
      ? 'must name the tenant of this builder'
      : `is not for a member of the staff (${role})`;
  throw new PlatformError('validation_failed', `The body is not valid. tenant: ${message}.`, {
    errors: [{ path: 'tenant', message }],
  });
}

/**
 * Keeps the only admin from leaving, also through a token of theirs, which would end with them. The operator may remove
 * them, because the operator's service token can add another.
 */
function requireAnotherAdmin({ db }: Pick<ChangeContext, 'db'>, member: StaffRow, actor: Actor): void {
  const isLeaving = memberBehind(actor) === member.id && member.role === 'admin';
  if (!isLeaving || hasOtherAdmin(db, member.id)) return;
  throw new PlatformError(
    'conflict',
    'You are the only admin who has signed in. Make another person an admin first, and have them sign in.',
    { reason: 'last_admin' },
  );
}

/** The member whose tokens or programs a list shows. Only an admin sees those of others. */
export function membersSeen(actor: Actor, asked: string | undefined): string | undefined {
  if (seesAll(actor)) return asked;
  const own = memberBehind(actor) ?? NO_PRINCIPAL;
  return asked === undefined || asked === own ? own : NO_PRINCIPAL;
}

const NO_PRINCIPAL = '';

export function seesAll(actor: Actor): boolean {
  if (actor.kind === 'service') return actor.role === undefined || actor.role === 'admin';
  return actor.kind === 'staff' && actor.role === 'admin';
}

function unknownMember(): never {
  throw new PlatformError('not_found', 'No member of the roster has that id.', {
    reason: 'unknown_member',
  });
}
