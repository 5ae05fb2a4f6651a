/** Member invites: a principal minted ahead of the person, and the link that binds the person to it (spec 3.2). */

import { cutPage, decodeCursor, type Page, type PlatformError, type PrincipalId } from '@freehold/contracts';
import { RollbackThen, type UnitContext } from '@freehold/store';
import { recordEvent, recordRefusal, requireLimit } from '../events/operations.ts';
import { normalizeEmail } from '../lib/email-address.ts';
import { invalid, refusal } from '../lib/refusals.ts';
import { type AuthSubject, type IssuedSubject, requireSubject } from '../lib/subject.ts';
import { hashToken, mintToken, requireTtl } from '../lib/token.ts';
import { savePerson } from '../people/person.ts';
import { loadBinding, loadBoundPerson, saveBinding } from '../people/store.ts';
import {
  type InviteRow,
  insertInvite,
  isFormerMember,
  isPrincipalTaken,
  loadInvite,
  loadInviteByHash,
  loadInvites,
  markInviteAccepted,
  markInviteRevoked,
  replaceInvite,
  saveLeftoverRole,
} from './store.ts';

/** Long enough for a holiday week. */
export const INVITE_TTL_DEFAULT_MS = 7 * 24 * 3_600_000;
/** RFC 5321, section 4.5.3.1: 64 octets, the at sign, 255 octets. */
const EMAIL_LENGTH_MAX = 320;
/** Greater than every id: a list starts before it. */
const AFTER_EVERY_ID = '~';

export type InviteState = 'pending' | 'accepted' | 'revoked' | 'expired';

const EMAIL_MATCHES = ['verified', 'label'] as const;

/**
 * The meaning of an invite's e-mail address: `verified` demands that the accepting person has it, verified by their
 * issuer; `label` only names the person it was meant for. The inviting vertical chooses, without a default: this
 * library never gates on `emailVerified` by itself (spec 2.1, rule 2).
 */
export type EmailMatch = (typeof EMAIL_MATCHES)[number];

/** An address together with its meaning, or no address. */
export type InviteAddress =
  | { readonly email: string; readonly emailMatch: EmailMatch }
  | { readonly email?: undefined; readonly emailMatch?: EmailMatch };

export interface Invite {
  readonly principal: PrincipalId;
  readonly scopeId: string;
  readonly role: string;
  readonly state: InviteState;
  readonly email: string | null;
  readonly emailMatch: EmailMatch;
  readonly name: string | null;
  readonly createdBy: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly acceptedAtMs: number | null;
  readonly revokedAtMs: number | null;
}

export type CreateInviteInput = InviteTerms & InviteAddress;

export interface InviteTerms {
  readonly scopeId: string;
  /** A principal that stands for no person yet (`newPrincipal`); its role was granted before. */
  readonly principal: string;
  readonly role: string;
  readonly createdBy: string;
  readonly name?: string;
  /** Default 7 days, at most 30. */
  readonly ttlMs?: number;
}

/** The part of an invite that the holder of its link may see before accepting. */
export interface InvitePreview {
  readonly role: string;
  readonly state: InviteState;
  readonly email: string | null;
  readonly name: string | null;
  /** The inviter's display name, when they have one. */
  readonly invitedBy: string | null;
  readonly expiresAtMs: number;
}

export interface ClaimInviteInput {
  /** When given, an invite of another scope is as unknown as none. */
  readonly scopeId?: string;
  readonly token: string;
  readonly subject: IssuedSubject;
}

export interface AcceptedInvite {
  readonly principal: PrincipalId;
  readonly scopeId: string;
  readonly role: string;
}

/** The invites that the operator made to recover or replace an owner, as the seats know them. */
export interface RecoveryInvites {
  /** Whether this invite is one. A member cannot end it. */
  is(invite: { readonly scopeId: string; readonly principal: string }): boolean;
  /** Called in the transaction of every acceptance. */
  accepted(by: {
    readonly invite: InviteRow;
    readonly personId: string;
    readonly subject: IssuedSubject;
  }): void;
}

export function makeInviteOperations(unit: UnitContext, recoveries: RecoveryInvites) {
  return {
    /**
     * Stores an invite for a principal and returns its token, once.
     * @throws PlatformError `conflict`, reason `principal_taken`; `validation_failed`, also for an address without
     * an `emailMatch`; `forbidden`, reason `inviter_lost_right`, when its maker was removed meanwhile.
     */
    createInvite(input: CreateInviteInput): { invite: Invite; token: string } {
      const { scopeId, principal, role, createdBy } = input;
      if (isFormerMember(unit.db, scopeId, createdBy)) throw inviterLostRight('forbidden');
      const made = insertFreshInvite(unit, input);
      recordEvent(unit, 'invite_created', { scopeId, principal, actor: createdBy, detail: { role } });
      return made;
    },

    listInvites(input: { scopeId: string; limit?: number; cursor?: string }): Page<Invite> {
      const limit = requireLimit(input.limit);
      const before = input.cursor === undefined ? AFTER_EVERY_ID : decodeCursor(input.cursor);
      const rows = loadInvites(unit.db, { scopeId: input.scopeId, before, limit: limit + 1 });
      const nowMs = unit.now();
      return cutPage(
        rows,
        limit,
        (row) => row.principal,
        (row) => toInvite(row, nowMs),
      );
    },

    /**
     * Shows an invite to the holder of its token. Changes nothing, so a mail scanner that follows the link does no
     * harm.
     * @throws PlatformError `not_found`, reason `invite_invalid`.
     */
    showInvite(input: { token: string; scopeId?: string }): InvitePreview {
      const row = requireInvite(unit, input);
      return {
        role: row.role,
        state: stateOf(row, unit.now()),
        email: row.email,
        name: row.name,
        invitedBy: loadBoundPerson(unit.db, row.scopeId, row.createdBy)?.name ?? null,
        expiresAtMs: row.expiresAtMs,
      };
    },

    /**
     * Invalidates an invite that was not accepted. Revoking it again changes nothing and succeeds, so that the caller
     * can repeat the next step, which revokes the grant.
     * @throws PlatformError `not_found`, reason `invite_unknown`; `invalid_transition`, reason `invite_accepted`;
     * `forbidden`, reason `recovery_of_operator`.
     */
    revokeInvite(input: { scopeId: string; principal: string; by: string }): { invite: Invite } {
      const { scopeId, principal, by } = input;
      const row = loadInvite(unit.db, scopeId, principal);
      if (!row) throw refusal('not_found', 'invite_unknown', 'There is no such invite.');
      const atMs = unit.now();
      if (row.acceptedAtMs !== null)
        throw refusal(
          'invalid_transition',
          'invite_accepted',
          'This invite was accepted. Remove the member instead.',
        );
      if (row.revokedAtMs !== null) return { invite: toInvite(row, atMs) };
      if (recoveries.is(row))
        throw refusal(
          'forbidden',
          'recovery_of_operator',
          'The operator of the platform made this link for a new owner. Only the operator can end it.',
        );
      markInviteRevoked(unit.db, { principal, atMs });
      saveLeftoverRole(unit.db, { scopeId, principal, role: row.role });
      recordEvent(unit, 'invite_revoked', { scopeId, principal, actor: by });
      return { invite: toInvite({ ...row, revokedAtMs: atMs }, atMs) };
    },

    /**
     * Binds a subject to the invite's principal. The same person accepting again gets the same membership.
     * @throws PlatformError `not_found`, reason `invite_invalid`; `invalid_transition`, reason `invite_revoked` or
     * `invite_expired`; `conflict`, reason `invite_used` or `already_member`; `forbidden`, reason
     * `invite_email_mismatch` or `invite_email_unverified`.
     */
    claimInvite(input: ClaimInviteInput): AcceptedInvite {
      const { subject } = input;
      requireSubject(subject);
      const row = requireInvite(unit, input);
      const { scopeId, role } = row;
      const principal = row.principal as PrincipalId;
      const personId = savePerson(unit, { subject }, scopeId);
      const bound = loadBinding(unit.db, scopeId, personId);
      const accepted: AcceptedInvite = { principal, scopeId, role };
      if (row.acceptedBy === personId && bound === principal) return accepted;

      const refused = judgeAcceptance({ row, subject, bound: bound !== undefined, nowMs: unit.now() });
      if (refused)
        throw new RollbackThen(refused, () => {
          const detail = { reason: refused.reason ?? refused.code };
          recordRefusal(unit, 'invite_refused', { scopeId, subject, principal, detail });
        });
      const atMs = unit.now();
      saveBinding(unit.db, { scopeId, personId, principal, sinceMs: atMs });
      markInviteAccepted(unit.db, { principal, personId, atMs });
      recordEvent(unit, 'invite_accepted', { scopeId, subject, principal, detail: { role } });
      recoveries.accepted({ invite: row, personId, subject });
      return accepted;
    },
  };
}

/** Stores an invite and returns its token. The caller records the event. @throws as `createInvite` does. */
export function insertFreshInvite(
  unit: UnitContext,
  input: CreateInviteInput,
): { invite: Invite; token: string } {
  const { scopeId, principal, role, createdBy } = input;
  if (isPrincipalTaken(unit.db, scopeId, principal))
    throw refusal('conflict', 'principal_taken', 'This principal already stands for a person.');
  const createdAtMs = unit.now();
  const row: InviteRow = {
    principal,
    scopeId,
    role,
    ...toAddress(input),
    name: input.name ?? null,
    createdBy,
    createdAtMs,
    expiresAtMs: createdAtMs + requireTtl(input.ttlMs, INVITE_TTL_DEFAULT_MS),
    acceptedAtMs: null,
    acceptedBy: null,
    revokedAtMs: null,
  };
  const { token, hash } = mintToken(unit.random);
  insertInvite(unit.db, row, hash);
  return { invite: toInvite(row, createdAtMs), token };
}

/** Renews a waiting invite with a new token and term; the former token opens nothing. The caller records the event. */
export function renewInvite(
  unit: UnitContext,
  waiting: InviteRow,
  { role, createdBy, ttlMs }: Pick<InviteTerms, 'role' | 'createdBy' | 'ttlMs'>,
): { invite: Invite; token: string } {
  const createdAtMs = unit.now();
  const expiresAtMs = createdAtMs + requireTtl(ttlMs, INVITE_TTL_DEFAULT_MS);
  const row: InviteRow = { ...waiting, role, createdBy, createdAtMs, expiresAtMs };
  const { token, hash } = mintToken(unit.random);
  replaceInvite(unit.db, row, hash);
  return { invite: toInvite(row, createdAtMs), token };
}

/** Returns why a subject cannot take an invite, or null. `bound`: the person is a member of the scope already. */
function judgeAcceptance(attempt: {
  row: InviteRow;
  subject: IssuedSubject;
  bound: boolean;
  nowMs: number;
}): PlatformError | null {
  const { row, subject, bound, nowMs } = attempt;
  const state = stateOf(row, nowMs);
  if (state === 'accepted') return refusal('conflict', 'invite_used', 'This invite was accepted already.');
  if (state === 'revoked') return refusal('invalid_transition', 'invite_revoked', 'This invite was revoked.');
  if (state === 'expired')
    return refusal('invalid_transition', 'invite_expired', 'This invite has expired. Ask for a new one.');
  if (bound) return refusal('conflict', 'already_member', 'You are a member here already.');
  const demandsEmail = row.email !== null && row.emailMatch === 'verified';
  return demandsEmail ? judgeInviteEmail(row.email, subject) : null;
}

/** The refusal of an invite whose maker may not invite at its role any more. */
export function inviterLostRight(code: 'forbidden' | 'invalid_transition'): PlatformError {
  return refusal(
    code,
    'inviter_lost_right',
    'The person who made this invite may not invite people any more. Ask for a new one.',
  );
}

/** Without the issuer's word that the address is verified, anyone could register it and take the invite. */
function judgeInviteEmail(invited: string, subject: AuthSubject): PlatformError | null {
  if (subject.email === null || normalizeEmail(subject.email) !== normalizeEmail(invited))
    return refusal(
      'forbidden',
      'invite_email_mismatch',
      'This invite is for another e-mail address. Sign in with the address that it was sent to.',
    );
  if (subject.emailVerified !== true)
    return refusal(
      'forbidden',
      'invite_email_unverified',
      'Your e-mail address has not been verified. Verify it where you sign in, and try again.',
    );
  return null;
}

/** @throws PlatformError `not_found`, reason `invite_invalid`. */
export function requireInvite(unit: UnitContext, input: { token: string; scopeId?: string }): InviteRow {
  const row = loadInviteByHash(unit.db, hashToken(input.token));
  if (!row || (input.scopeId !== undefined && row.scopeId !== input.scopeId))
    throw refusal('not_found', 'invite_invalid', 'This invite link is not valid. Ask for a new one.');
  return row;
}

function toAddress({ email, emailMatch }: InviteAddress): Pick<InviteRow, 'email' | 'emailMatch'> {
  if (email === undefined) return { email: null, emailMatch: 'label' };
  const stated = EMAIL_MATCHES.find((each) => each === emailMatch);
  if (stated === undefined)
    throw invalid(
      'emailMatch',
      `must be ${EMAIL_MATCHES.join(' or ')}`,
      'An invite with an e-mail address says what that address means.',
    );
  const trimmed = email.trim();
  if (!/^[^\s@]+@[^\s@]+$/.test(trimmed) || trimmed.length > EMAIL_LENGTH_MAX)
    throw invalid('email', 'must be an e-mail address', 'This is not an e-mail address.');
  return { email: trimmed, emailMatch: stated };
}

export function stateOf(row: InviteRow, nowMs: number): InviteState {
  if (row.revokedAtMs !== null) return 'revoked';
  if (row.acceptedAtMs !== null) return 'accepted';
  return nowMs >= row.expiresAtMs ? 'expired' : 'pending';
}

function toInvite(row: InviteRow, nowMs: number): Invite {
  const { acceptedBy: _person, principal, ...shown } = row;
  return { ...shown, principal: principal as PrincipalId, state: stateOf(row, nowMs) };
}
