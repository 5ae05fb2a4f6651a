/** Identity events: written in the transaction of their change, read by the tenant's admin. */

import {
  cutPage,
  decodeCursor,
  encodeCursor,
  LIMIT_DEFAULT,
  LIMIT_MAX,
  nameCursor,
  type Page,
} from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { invalid, refusal } from '../lib/refusals.ts';
import type { SubjectKey } from '../lib/subject.ts';
import { countRefusals, isScopeForgotten, loadEvents, type ShownEventRow, saveEvent } from './store.ts';

/** Refusals of one person that are recorded in a scope within an hour: enough to see the attempts. */
const REFUSALS_MAX_OF_ONE = 10;
/** The same of all people together: where sign-up is open, another account costs nothing. */
const REFUSALS_MAX_OF_ALL = 100;
const HOUR_MS = 3_600_000;

export type IdentityEventType =
  | 'seat_opened'
  | 'seat_claimed'
  | 'claim_minted'
  | 'claim_refused'
  | 'owner_stranded'
  | 'owner_recovery_made'
  | 'owner_replacement_made'
  | 'owner_recovery_ended'
  | 'owner_replaced'
  | 'owner_transferred'
  | 'invite_created'
  | 'invite_accepted'
  | 'invite_refused'
  | 'invite_revoked'
  | 'member_removed'
  | 'members_moved_in'
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
  | 'account_deleted'
  | 'program_let_in'
  | 'program_ended'
  | 'program_token_made'
  | 'program_policy_changed';

/** One event. It never holds a token, a setting's value or a cookie. */
export interface IdentityEvent {
  readonly id: string;
  readonly type: IdentityEventType;
  /** Null when it concerns the whole tenant. */
  readonly scopeId: string | null;
  /** The person it happened to, as their issuer names them. */
  readonly subject: { readonly issuer: string; readonly sub: string } | null;
  /** That person's present name, member or not; null when the directory does not know it. */
  readonly name: string | null;
  readonly principal: string | null;
  /** The principal who did it; null for the person themself and for the platform. */
  readonly actor: string | null;
  readonly detail: Readonly<Record<string, string | readonly string[]>>;
  readonly atMs: number;
}

/** The facts of one event; the directory adds the id and the time. */
export interface EventNote {
  readonly scopeId?: string | undefined;
  readonly subject?: SubjectKey | undefined;
  readonly principal?: string | undefined;
  readonly actor?: string | undefined;
  readonly detail?: IdentityEvent['detail'];
}

/**
 * Writes one event, inside the transaction of its change. Returns its id.
 * @throws PlatformError `not_found`, reason `unknown_scope`, for a forgotten scope, so that a call that was still
 * running there writes nothing about it.
 */
export function recordEvent(unit: UnitContext, type: IdentityEventType, note: EventNote): string {
  if (note.scopeId !== undefined && isScopeForgotten(unit.db, note.scopeId))
    throw refusal('not_found', 'unknown_scope', 'This tenant has no such instance.');
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

/**
 * Records an event that people without a membership can cause over and over, unless as many were recorded within the
 * last hour as are allowed: they could otherwise fill the directory. The last one says `further: not_recorded`.
 * @param roomIn how many more may be recorded, given those of the hour.
 */
export function recordWithinHour(
  unit: UnitContext,
  type: IdentityEventType,
  note: EventNote,
  roomIn: (hour: { readonly afterMs: number; readonly untilMs: number }) => number,
): void {
  const untilMs = unit.now();
  const room = roomIn({ afterMs: untilMs - HOUR_MS, untilMs });
  if (room <= 0) return;
  const detail = room === 1 ? { ...note.detail, further: 'not_recorded' } : note.detail;
  recordEvent(unit, type, { ...note, ...(detail && { detail }) });
}

/** Records a refusal: of one person at most 10 an hour and scope, of all people 100. */
export function recordRefusal(
  unit: UnitContext,
  type: Extract<IdentityEventType, 'claim_refused' | 'invite_refused'>,
  note: EventNote & { readonly scopeId: string; readonly subject: SubjectKey },
): void {
  const { scopeId, subject } = note;
  recordWithinHour(unit, type, note, (hour) => {
    const counted = countRefusals(unit.db, { scopeId, issuer: subject.issuer, sub: subject.sub, ...hour });
    return Math.min(REFUSALS_MAX_OF_ONE - counted.ofSubject, REFUSALS_MAX_OF_ALL - counted.ofAll);
  });
}

/** The list of {@link makeEventOperations}, in its cursors. */
export const IDENTITY_EVENTS = 'listIdentityEvents';

/** Returns the cursor after one event, for a reader who shows a part of a page. */
export function identityEventCursor({ id }: Pick<IdentityEvent, 'id'>): string {
  return nameCursor(IDENTITY_EVENTS, encodeCursor(id));
}

export function makeEventOperations(unit: UnitContext) {
  return {
    /**
     * Events, newest first: of one scope, or without `scopeId` of the whole tenant. `limit` is 1 to 200, by default 20.
     * @throws PlatformError `validation_failed` on a foreign cursor or a limit out of range.
     */
    listIdentityEvents(input: {
      readonly scopeId?: string;
      readonly limit?: number;
      readonly cursor?: string;
    }): Page<IdentityEvent> {
      const limit = requireLimit(input.limit);
      const before = input.cursor === undefined ? undefined : decodeCursor(input.cursor);
      const rows = loadEvents(unit.db, { scopeId: input.scopeId, before, limit: limit + 1 });
      return cutPage(rows, limit, (row) => row.id, toEvent);
    },
  };
}

/** Returns the asked page size, or the default. @throws PlatformError `validation_failed`. */
export function requireLimit(limit: number | undefined): number {
  if (limit === undefined) return LIMIT_DEFAULT;
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX)
    throw invalid(
      'limit',
      `must be a whole number from 1 to ${LIMIT_MAX}`,
      `A page has between 1 and ${LIMIT_MAX} items.`,
    );
  return limit;
}

function toEvent({ issuer, sub, detail, at, type, ...row }: ShownEventRow): IdentityEvent {
  return {
    ...row,
    type: type as IdentityEventType,
    subject: issuer === null || sub === null ? null : { issuer, sub },
    detail: JSON.parse(detail),
    atMs: at,
  };
}
