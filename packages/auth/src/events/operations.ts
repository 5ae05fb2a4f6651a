/** Identity events: written in the transaction of what they tell about, read by the tenant's admin. */
import {
  cutPage,
  decodeCursor,
  LIMIT_DEFAULT,
  LIMIT_MAX,
  type Page,
  PlatformError,
} from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { isScopeForgotten } from '../forgotten-scopes/marks.ts';
import type { IssuedSubject } from '../lib/subject.ts';
import { countRefusals, loadEvents, type ShownEventRow, saveEvent } from './store.ts';

/** Refusals of one person that are recorded in a scope within an hour: enough to see that somebody is trying. */
const REFUSALS_MAX_OF_ONE = 10;
/** The same of all people together: where anybody may register, another account costs nothing. */
const REFUSALS_MAX_OF_ALL = 100;
const REFUSALS_SPAN_MS = 3_600_000;

/** The closed list of what can have happened. */
export type IdentityEventType =
  | 'seat_opened'
  | 'seat_claimed'
  | 'claim_minted'
  | 'claim_refused'
  | 'owner_stranded'
  | 'owner_recovery_made'
  | 'invite_created'
  | 'invite_accepted'
  | 'invite_refused'
  | 'invite_revoked'
  | 'member_removed'
  | 'profile_changed'
  | 'signed_in'
  | 'session_ended'
  | 'all_sessions_ended'
  | 'config_changed'
  | 'session_secret_minted'
  | 'session_secret_rotated'
  | 'account_created'
  | 'account_renamed'
  | 'sign_in_refused'
  | 'account_locked'
  | 'password_changed'
  | 'password_reset'
  | 'passkey_added'
  | 'passkey_removed'
  | 'totp_enabled'
  | 'totp_disabled'
  | 'recovery_codes_made'
  | 'recovery_code_used'
  | 'email_changed'
  | 'email_reverted'
  | 'account_deleted';

/** One thing that happened. It never holds a token, a setting's value or a cookie. */
export interface IdentityEvent {
  readonly id: string;
  readonly type: IdentityEventType;
  /** Null when it concerns the whole tenant. */
  readonly scopeId: string | null;
  /** The person it happened to, as their issuer names them. */
  readonly subject: { readonly issuer: string; readonly sub: string } | null;
  /** What that person is called now, member or not; null when the directory does not know. */
  readonly name: string | null;
  /** The principal it happened to. */
  readonly principal: string | null;
  /** The principal who did it; null for the person themself and for the platform. */
  readonly actor: string | null;
  readonly detail: Readonly<Record<string, string | readonly string[]>>;
  readonly atMs: number;
}

/** What is told about one event; the id and the time are the directory's. */
export interface EventNote {
  readonly scopeId?: string | undefined;
  readonly subject?: Pick<IssuedSubject, 'issuer' | 'sub'> | undefined;
  readonly principal?: string | undefined;
  readonly actor?: string | undefined;
  readonly detail?: IdentityEvent['detail'];
}

/**
 * Writes one event and answers its id. Called inside the transaction of the change it tells about, so that nothing is
 * written about a scope that was forgotten by whatever was still under way there.
 * @throws PlatformError `not_found`, reason `unknown_scope`, for such a scope.
 */
export function recordEvent(unit: UnitContext, type: IdentityEventType, note: EventNote): string {
  if (note.scopeId !== undefined && isScopeForgotten(unit.db, note.scopeId))
    throw new PlatformError('not_found', 'This tenant has no such instance.', { reason: 'unknown_scope' });
  const id = unit.newId('evt');
  saveEvent(unit.db, {
    id,
    type,
    scopeId: note.scopeId ?? null,
    issuer: note.subject?.issuer ?? null,
    sub: note.subject?.sub ?? null,
    principal: note.principal ?? null,
    actor: note.actor ?? null,
    detail: JSON.stringify(note.detail ?? {}),
    at: unit.now(),
  });
  return id;
}

/** What happens to somebody who need not be a member: anybody who can sign in can bring it about, over and over. */
export type RefusalType = Extract<IdentityEventType, 'claim_refused' | 'invite_refused'>;

export interface RefusalNote extends EventNote {
  readonly scopeId: string;
  readonly subject: Pick<IssuedSubject, 'issuer' | 'sub'>;
  readonly detail: IdentityEvent['detail'];
}

/**
 * Records that somebody was refused, as long as fewer than 10 refusals of that person and fewer than 100 of all
 * people were recorded in the scope within the hour before: otherwise a stranger could fill the directory. The last
 * one recorded says `further: not_recorded` in its detail. The refusal itself does not depend on any of this.
 */
export function recordRefusal(unit: UnitContext, type: RefusalType, note: RefusalNote): void {
  const { scopeId, subject, detail } = note;
  const untilMs = unit.now();
  const { ofAll, ofSubject } = countRefusals(unit.db, {
    scopeId,
    issuer: subject.issuer,
    sub: subject.sub,
    afterMs: untilMs - REFUSALS_SPAN_MS,
    untilMs,
  });
  if (ofSubject >= REFUSALS_MAX_OF_ONE || ofAll >= REFUSALS_MAX_OF_ALL) return;
  const isLast = ofSubject + 1 === REFUSALS_MAX_OF_ONE || ofAll + 1 === REFUSALS_MAX_OF_ALL;
  recordEvent(unit, type, isLast ? { ...note, detail: { ...detail, further: 'not_recorded' } } : note);
}

export interface ListIdentityEventsInput {
  /** Absent: those of the whole tenant. */
  readonly scopeId?: string;
  /** 1 to 200; default 20. */
  readonly limit?: number;
  readonly cursor?: string;
}

/** The events feature of the identity directory. */
export function makeEventOperations(unit: UnitContext) {
  return {
    /** Events, newest first. @throws PlatformError `validation_failed` on a foreign cursor or a limit out of range. */
    listIdentityEvents(input: ListIdentityEventsInput): Page<IdentityEvent> {
      const limit = requireLimit(input.limit);
      const before = input.cursor === undefined ? undefined : decodeCursor(input.cursor);
      const rows = loadEvents(unit.db, { scopeId: input.scopeId, before, limit: limit + 1 });
      return cutPage(rows, limit, (row) => row.id, toEvent);
    },
  };
}

/** The page size asked for, or the default. @throws PlatformError `validation_failed`. */
export function requireLimit(limit: number | undefined): number {
  if (limit === undefined) return LIMIT_DEFAULT;
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX)
    throw new PlatformError('validation_failed', `A page has between 1 and ${LIMIT_MAX} items.`, {
      errors: [{ path: 'limit', message: `must be a whole number from 1 to ${LIMIT_MAX}` }],
    });
  return limit;
}

function toEvent(row: ShownEventRow): IdentityEvent {
  return {
    id: row.id,
    type: row.type as IdentityEventType,
    scopeId: row.scopeId,
    subject: row.issuer === null || row.sub === null ? null : { issuer: row.issuer, sub: row.sub },
    name: row.name,
    principal: row.principal,
    actor: row.actor,
    detail: JSON.parse(row.detail),
    atMs: row.at,
  };
}
