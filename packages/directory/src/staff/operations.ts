/** What can be done with the roster and with the tokens of its members' programs. */
import { PlatformError, type TenantId } from '@freehold/contracts';
import { memberBehind } from '../access.ts';
import type { Actor } from '../actors.ts';
import {
  STAFF_PREFIX,
  staffGet,
  staffList,
  staffPut,
  staffRemove,
  staffTokensList,
  staffTokensRevoke,
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

export const readStaff = read(staffList, ({ db }, { query }) => ({ value: listStaff(db, query) }));

export const readMember = read(staffGet, ({ db }, { params }) => {
  const value = staffOfRow(loadMember(db, params.member) ?? unknownMember());
  return { value, etag: value.etag };
});

export const putMember = change(staffPut, (context, { body, actor, ifMatch }) => {
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

export const removeMember = change(staffRemove, (context, call) => {
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

export const readStaffTokens = read(staffTokensList, ({ db }, { query, actor }) => ({
  value: listStaffTokens(db, { ...query, member: membersSeen(actor, query.member) }),
}));

export const revokeStaffToken = change(staffTokensRevoke, ({ db }, { params, actor, ifMatch }) => {
  const before = loadStaffToken(db, params.token);
  if (!before || !(seesAll(actor) || before.member === memberBehind(actor)))
    throw new PlatformError('not_found', 'There is no such token.', { reason: 'unknown_token' });
  requireMatch(ifMatch, String(before.revision));
  deleteStaffToken(db, before.id);
  const tenant = loadMember(db, before.member)?.tenant ?? null;
  return { status: 204, value: null, audit: revocationEntry(before, tenant) };
});

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
