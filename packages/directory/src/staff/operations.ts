/** What can be done with the roster and with the tokens of staff. */
import { PlatformError } from '@freehold/contracts';
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
import { type AuditEntry, type ChangeContext, change, read } from '../lib/handlers.ts';
import { requireMatch } from '../lib/preconditions.ts';
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
  const before = loadMemberByEmail(db, body.email);
  requireMatch(ifMatch, before ? String(before.revision) : null);
  if (before && before.name === body.name && before.role === body.role) {
    const value = staffOfRow(before);
    return { status: 200, value, etag: value.etag, audit: null };
  }
  if (before && body.role !== 'admin') requireAnotherAdmin(context, before, actor);
  const nowMs = context.now();
  const after: StaffRow = {
    id: before?.id ?? context.newId(STAFF_PREFIX),
    email: body.email,
    name: body.name,
    role: body.role,
    issuer: before?.issuer ?? null,
    subject: before?.subject ?? null,
    createdAtMs: before?.createdAtMs ?? nowMs,
    updatedAtMs: nowMs,
    lastSignInAtMs: before?.lastSignInAtMs ?? null,
    revision: context.revision,
  };
  saveMember(db, after);
  const value = staffOfRow(after);
  const audit: AuditEntry = {
    target: targetOf(after.id),
    before: before ? auditFields(before) : null,
    after: auditFields(after),
  };
  return { status: 200, value, etag: value.etag, audit };
});

export const removeMember = change(staffRemove, (context, { params, actor, ifMatch }) => {
  const before = loadMember(context.db, params.member) ?? unknownMember();
  requireMatch(ifMatch, String(before.revision));
  requireAnotherAdmin(context, before, actor);
  deleteMember(context.db, before.id);
  const audit = { target: targetOf(before.id), before: auditFields(before), after: null };
  return { status: 204, value: null, audit };
});

export const readStaffTokens = read(staffTokensList, ({ db }, { query, actor }) => ({
  value: listStaffTokens(db, { ...query, member: membersSeen(actor, query.member) }),
}));

export const revokeStaffToken = change(staffTokensRevoke, ({ db }, { params, actor, ifMatch }) => {
  const before = loadStaffToken(db, params.token);
  if (!before || !(seesAll(actor) || before.member === actor.id))
    throw new PlatformError('not_found', 'There is no such token.', { reason: 'unknown_token' });
  requireMatch(ifMatch, String(before.revision));
  deleteStaffToken(db, before.id);
  return { status: 204, value: null, audit: revocationEntry(before) };
});

export function revocationEntry(before: StaffTokenRow): AuditEntry {
  return { target: targetOf(before.id), before: tokenFields(before), after: null };
}

export function tokenFields({ member, client }: Pick<StaffTokenRow, 'member' | 'client'>) {
  return { member, client };
}

export function targetOf(other: string): AuditEntry['target'] {
  return { tenant: null, scope: null, vertical: null, other };
}

export function auditFields({ email, name, role, issuer, subject }: StaffRow) {
  return { email, name, role, issuer, subject };
}

/**
 * Nobody shuts the door behind themselves: a person who is the only admin stays one. The operator, whose service token
 * opens it again, may.
 */
function requireAnotherAdmin({ db }: ChangeContext, member: StaffRow, actor: Actor): void {
  const isLeaving = actor.kind === 'staff' && actor.id === member.id && member.role === 'admin';
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
  return asked === undefined || asked === actor.id ? actor.id : NOBODY;
}

const NOBODY = '';

function seesAll(actor: Actor): boolean {
  return actor.kind === 'service' || (actor.kind === 'staff' && actor.role === 'admin');
}

function unknownMember(): never {
  throw new PlatformError('not_found', 'There is nobody of that id on the roster.', {
    reason: 'unknown_member',
  });
}
