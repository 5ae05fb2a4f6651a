/**
 * Which scopes rest, durably: nothing waits in them, or nothing before a certain time. No row means that nobody knows, and
 * then a scope is looked into. A row is gone before anything can be put in line, so that a crash errs on the side of
 * looking.
 */
import { defineUnit, type UnitContext } from '@freehold/store';

export const REST_KEY = 'main';

/** The build of nothing: a scope of it is looked into, and nothing else is to be done there. */
export const NO_BUILD = '';

/**
 * A mark is due this far away at most: nobody sets one further, so that one which is was set by a clock that was ahead, and
 * says nothing. What has nothing to do for longer is looked into once in that time.
 */
export const AHEAD_MAX_MS = 7 * 86_400_000;

export interface IdleScope {
  readonly scope: string;
  readonly vertical: string;
  /** What its vertical was when that was found: another build may have other work. */
  readonly build: string;
  /** Milliseconds since the epoch, at most {@link AHEAD_MAX_MS} from now; null when nothing waits. */
  readonly dueAtMs: number | null;
}

interface DueScope {
  readonly scope: string;
  readonly vertical: string;
}

/** What has come due, and when the next does. */
export interface DueScopes {
  readonly items: readonly DueScope[];
  readonly nextAtMs: number | null;
}

/** What is asked with a whole fleet in the table: each by its key, or by when it is due. */
export const REST_SQL = {
  resting: 'SELECT scope, build FROM json_each(?) AS asked CROSS JOIN resting_scopes ON scope = asked.value',
  due: 'SELECT scope, vertical FROM resting_scopes WHERE due_at <= ? ORDER BY due_at LIMIT ?',
  ahead: 'SELECT scope, vertical FROM resting_scopes WHERE due_at > ? ORDER BY due_at LIMIT ?',
  nextDue: 'SELECT due_at AS at FROM resting_scopes WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1',
} as const;

/**
 * The unit: kind `rest`, one of it. It is true of this data directory as it is now and of no copy: in an archive it would
 * vouch for scopes that were restored to another moment.
 */
export const idleScopesUnit = defineUnit({
  kind: 'rest',
  copies: 'none',
  migrations: [
    {
      name: 'rest',
      migrations: [
        {
          version: 1,
          name: 'scopes that rest',
          sql: `
CREATE TABLE resting_scopes (
  scope TEXT PRIMARY KEY, vertical TEXT NOT NULL, build TEXT NOT NULL, due_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX resting_scopes_due ON resting_scopes (due_at) WHERE due_at IS NOT NULL;
`,
        },
      ],
    },
  ],
  queries: ['resting'],
  open: ({ db }: UnitContext) => ({
    /** Something may be put in line there from now on. */
    disturb: ({ scope }: { readonly scope: string }): null => {
      db.run('DELETE FROM resting_scopes WHERE scope = ?', scope);
      return null;
    },
    markIdle: ({ items }: { readonly items: readonly IdleScope[] }): null => {
      for (const { scope, vertical, build, dueAtMs } of items)
        db.run(
          `INSERT INTO resting_scopes (scope, vertical, build, due_at) VALUES (?, ?, ?, ?)
           ON CONFLICT (scope) DO UPDATE SET vertical = excluded.vertical, build = excluded.build, due_at = excluded.due_at`,
          ...[scope, vertical, build, dueAtMs],
        );
      return null;
    },
    /** Those of these that rest, with the build that this was found for. A query. */
    resting: ({
      scopes,
    }: {
      readonly scopes: readonly string[];
    }): readonly { readonly scope: string; readonly build: string }[] =>
      db.all(REST_SQL.resting, JSON.stringify(scopes)),
    /**
     * Those that have come due, and those whose time cannot be true. They are of no build any more: whoever dies with the
     * answer has to look.
     */
    takeDue: ({ nowMs, limit }: { readonly nowMs: number; readonly limit: number }): DueScopes => {
      const aheadMs = nowMs + AHEAD_MAX_MS;
      const due = db.all<DueScope>(REST_SQL.due, nowMs, limit);
      const items = [...due, ...db.all<DueScope>(REST_SQL.ahead, aheadMs, limit - due.length)];
      for (const { scope } of items)
        db.run('UPDATE resting_scopes SET build = ?, due_at = NULL WHERE scope = ?', NO_BUILD, scope);
      const next = db.get<{ at: number }>(REST_SQL.nextDue);
      const isMoreAhead = db.get(REST_SQL.ahead, aheadMs, 1) !== undefined;
      return { items, nextAtMs: isMoreAhead ? nowMs : (next?.at ?? null) };
    },
  }),
});
