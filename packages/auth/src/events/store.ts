/** The SQL of identity events. */
import { defineTable, integer, nullable, type RowOf, type SqlDatabase, text } from '@freehold/store';
import { hashToken } from '../lib/token.ts';

/** An event with its person's present name. */
export type ShownEventRow = EventRow & { readonly name: string | null };

const events = defineTable('identity_events', ['id'], {
  id: text(),
  type: text(),
  scopeId: nullable(text()),
  issuer: nullable(text()),
  sub: nullable(text()),
  principal: nullable(text()),
  actor: nullable(text()),
  /** JSON. */
  detail: text(),
  at: integer(),
});
export type EventRow = RowOf<typeof events>;

export const saveEvent = events.insert;

/** The id of the newest event, or undefined before the first. */
export function newestEventId(db: SqlDatabase): string | undefined {
  return db.get<{ id: string }>('SELECT id FROM identity_events ORDER BY id DESC LIMIT 1')?.id;
}

/** Refusals in a scope after one moment and up to another: of all people, and of one subject. */
export const RECENT_REFUSALS_SQL = `SELECT count(*) AS ofAll,
    coalesce(sum(issuer = ? AND sub = ?), 0) AS ofSubject
  FROM identity_events
  WHERE scope_id = ? AND at > ? AND at <= ? AND type IN ('claim_refused', 'invite_refused')`;

export function countRefusals(
  db: SqlDatabase,
  span: { scopeId: string; issuer: string; sub: string; afterMs: number; untilMs: number },
): { readonly ofAll: number; readonly ofSubject: number } {
  return db.get<{ ofAll: number; ofSubject: number }>(
    RECENT_REFUSALS_SQL,
    span.issuer,
    span.sub,
    span.scopeId,
    span.afterMs,
    span.untilMs,
  ) as { ofAll: number; ofSubject: number };
}

/** Newest first, older than `before`; of one scope, or of the whole tenant. */
export function loadEvents(
  db: SqlDatabase,
  options: {
    readonly scopeId: string | undefined;
    readonly before: string | undefined;
    readonly limit: number;
  },
): ShownEventRow[] {
  // Every id is smaller than a tilde, which therefore stands for "from the newest".
  const before = options.before ?? '~';
  return options.scopeId === undefined
    ? db.all<ShownEventRow>(TENANT_EVENTS_SQL, before, options.limit)
    : db.all<ShownEventRow>(SCOPE_EVENTS_SQL, options.scopeId, before, options.limit);
}

/** Adds the names of people, which are not stored in events: names change, and a log cannot forget. */
const named = (events: string): string =>
  `SELECT e.*, coalesce(p.name, p.email) AS name FROM (${events}) AS e
   LEFT JOIN people AS p ON p.issuer = e.issuer AND p.sub = e.sub ORDER BY e.id DESC`;

const TENANT_EVENTS_SQL = named(`${events.select} WHERE id < ?1 ORDER BY id DESC LIMIT ?2`);

/**
 * Selects the events of a scope, and tenant-wide ones of its members: a member's sign-out everywhere concerns every
 * scope of theirs.
 */
const SCOPE_EVENTS_SQL = named(`SELECT * FROM (
    SELECT * FROM (
      ${events.select} WHERE scope_id = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3)
    UNION ALL
    SELECT * FROM (
      SELECT ${events.columnsOf('e')} FROM identity_events AS e WHERE e.scope_id IS NULL AND e.id < ?2 AND EXISTS (
        SELECT 1 FROM people AS p JOIN bindings AS b ON b.person_id = p.id
        WHERE p.issuer = e.issuer AND p.sub = e.sub AND b.scope_id = ?1)
      ORDER BY id DESC LIMIT ?3)
  ) ORDER BY id DESC LIMIT ?3`);

/** Whether a scope was forgotten. The directory keeps a hash of each: enough to know the id again, not to tell it. */
export function isScopeForgotten(db: SqlDatabase, scopeId: string): boolean {
  return db.get('SELECT 1 FROM forgotten_scopes WHERE scope_hash = ?', hashToken(scopeId)) !== undefined;
}
