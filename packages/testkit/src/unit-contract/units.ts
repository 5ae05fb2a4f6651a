/** The units that the contract suite runs. An engine that must know its units beforehand hosts these. */
import { PlatformError } from '@freehold/contracts';
import type { IncidentSink } from '../../../store/src/engine.ts';
import { appliedMigrations, type MigrationSet } from '../../../store/src/migrations.ts';
import type { SqlDatabase, SqlRow, SqlValue } from '../../../store/src/sql-database.ts';
import { StatementRefused } from '../../../store/src/sql-tokens.ts';
import { defineUnit, RollbackThen, type UnitContext } from '../../../store/src/unit.ts';

/**
 * Observations of units in its own process or isolate. Every engine under test gets {@link
 * recordIncident} as its sink.
 */
export const observed = {
  incidents: [] as { error: unknown; method: string }[],
  /** The tasks that ran after a commit, as `key: text`. */
  committed: [] as string[],
  /** The number of openings of each unit, by key. */
  openings: new Map<string, number>(),
  /** The migrations that {@link migratingUnit} has at this moment: its "deployed version". */
  migrations: [] as readonly MigrationSet[],
};

export const recordIncident: IncidentSink = (error, { method }) => {
  observed.incidents.push({ error, method });
};

const NOTES: MigrationSet = {
  name: 'notes',
  migrations: [
    {
      version: 1,
      name: 'notes',
      sql: `CREATE TABLE note (position INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
        CREATE TABLE id (value TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
        CREATE TABLE held (value)`,
    },
    { version: 3, name: 'short texts', sql: 'CREATE INDEX note_text ON note (text)' },
  ],
};

export interface Note {
  readonly position: number;
  readonly text: string;
}

/** A list of notes, with every way for a call to fail. */
export const notesUnit = defineUnit({
  kind: 'contract-notes',
  migrations: [NOTES],
  queries: ['list', 'count', 'echo', 'journal', 'failingQuery'],
  open: (ctx) => {
    observed.openings.set(ctx.key, (observed.openings.get(ctx.key) ?? 0) + 1);
    const newestId = ctx.db.get<{ value: string }>('SELECT value FROM id ORDER BY value DESC LIMIT 1');
    if (newestId) ctx.newId.observe(newestId.value);
    return { ...notes(ctx), ...failures(ctx), ...values(ctx) };
  },
});

function notes(ctx: UnitContext) {
  /** A cache over the database, which must be dropped when its rows are rolled back. */
  let counted: number | undefined;
  ctx.onRollback(() => {
    counted = undefined;
  });
  const insert = (text: string): number => {
    ctx.db.run('INSERT INTO note (text) VALUES (?)', text);
    counted = (counted ?? count(ctx.db) - 1) + 1;
    return ctx.db.get<Note>('SELECT max(position) AS position FROM note')?.position ?? 0;
  };
  return {
    add: ({ text }: { text: string }): number => insert(text),
    list: (): string[] => list(ctx.db),
    count: (): { counted: number; stored: number } => {
      counted ??= count(ctx.db);
      return { counted, stored: count(ctx.db) };
    },
    addAndTell: ({ text, fail }: { text: string; fail: 'call' | 'task' | null }): void => {
      insert(text);
      ctx.afterCommit(() => {
        observed.committed.push(`${ctx.key}: ${text}`);
        if (fail === 'task') throw new Error('the task failed');
      });
      if (fail === 'call') throw new PlatformError('conflict', 'This collides.');
    },
    ids: ({ howMany }: { howMany: number }): string[] => {
      const ids = Array.from({ length: howMany }, () => ctx.newId('evt'));
      for (const id of ids) ctx.db.run('INSERT INTO id (value) VALUES (?)', id);
      return ids;
    },
    journal: () => appliedMigrations(ctx.db, 'notes'),
    /** Writes `outer`, then `inner` in a savepoint that fails, then `innermost` in one that succeeds inside a failing one. */
    nested: (): string[] => {
      insert('outer');
      attempt(ctx.db, () => {
        insert('inner');
        throw new Error('inner');
      });
      attempt(ctx.db, () => {
        ctx.db.savepoint(() => insert('innermost'));
        throw new Error('around');
      });
      ctx.db.savepoint(() => ctx.db.savepoint(() => insert('kept')));
      return list(ctx.db);
    },
  };
}

function failures({ db }: UnitContext) {
  const insert = (text: string): void => db.run('INSERT INTO note (text) VALUES (?)', text);
  const refusal = new PlatformError('validation_failed', 'The note is not valid.', {
    reason: 'bad_note',
    errors: [{ path: 'text', message: 'is too long' }],
    headers: { 'x-hint': 'shorter' },
    cause: new Error('the cause stays inside'),
  });
  return {
    addThenRefuse: ({ text }: { text: string }): void => {
      insert(text);
      throw refusal;
    },
    addThenThrow: ({ text }: { text: string }): void => {
      insert(text);
      throw new Error(`secret ${text}`);
    },
    addThenThrowHostile: ({ text }: { text: string }): void => {
      insert(text);
      // An object that throws when it is inspected.
      throw new Proxy(new Error('hostile'), {
        getPrototypeOf: () => {
          throw new Error('do not look');
        },
      });
    },
    addThenWait: async ({ text }: { text: string }): Promise<void> => {
      insert(text);
      await Promise.resolve();
    },
    addThenAnswerMap: ({ text }: { text: string }): unknown => {
      insert(text);
      return new Map([[text, 1]]);
    },
    addThenWriteInstead: ({ text, instead }: { text: string; instead: string }): void => {
      insert(text);
      throw new RollbackThen(refusal, () => insert(instead));
    },
    addThenFailInstead: ({ text }: { text: string }): void => {
      insert(text);
      throw new RollbackThen(refusal, () => {
        insert(`${text} instead`);
        throw new Error('the second write failed');
      });
    },
    breakStatement: (): void => db.run('INSERT INTO note (position, text) VALUES (1, ?), (1, ?)', 'a', 'b'),
    failingQuery: (): void => {
      throw new Error('secret of a query');
    },
  };
}

function values({ db }: UnitContext) {
  return {
    echo: ({ value }: { value: unknown }): unknown => value,
    hold: ({ value }: { value: SqlValue }): unknown => {
      db.run('INSERT INTO held (value) VALUES (?)', value);
      const row = db.get<{ value: SqlValue }>('SELECT value FROM held ORDER BY rowid DESC LIMIT 1');
      return { get: row?.value, all: db.all<SqlRow>('SELECT value FROM held ORDER BY rowid DESC LIMIT 1') };
    },
    query: ({ sql, params }: { sql: string; params: SqlValue[] }): unknown => db.all(sql, ...params),
  };
}

/** A unit with tables of the platform and of a vertical, whose SQL runs through a guarded view. */
export const guardedUnit = defineUnit({
  kind: 'contract-guarded',
  migrations: [
    {
      name: 'spine',
      migrations: [
        {
          version: 1,
          name: 'events',
          sql: `CREATE TABLE _spine_events (id INTEGER PRIMARY KEY AUTOINCREMENT, note TEXT);
            CREATE TABLE _Spine_Mixed (note TEXT);
            INSERT INTO _spine_events (note) VALUES ('first')`,
        },
      ],
    },
    {
      name: 'app',
      guarded: true,
      migrations: [
        {
          version: 1,
          name: 'own tables',
          sql: `CREATE TABLE mine (id INTEGER PRIMARY KEY, note TEXT UNIQUE); -- ; not the end
            CREATE TRIGGER mine_added AFTER INSERT ON mine WHEN new.note = 'twice' BEGIN
              UPDATE mine SET note = CASE WHEN id > 0 THEN 'once' ELSE note END WHERE id = new.id;
              INSERT INTO mine (note) VALUES ('again');
            END;
            CREATE TABLE child (mine INTEGER REFERENCES mine (id))`,
        },
      ],
    },
  ],
  queries: ['spine'],
  open: (ctx) => ({
    /** Runs SQL through the guarded view. A refusal by the guard is `forbidden`; other errors stay as they are. */
    execute: ({ sql, how, readOnly, params }: GuardedCall): unknown => {
      const db = ctx.guarded({ protectedPrefix: '_spine_', readOnly });
      try {
        return db[how](sql, ...(how === 'exec' ? [] : params)) ?? null;
      } catch (error) {
        if (error instanceof StatementRefused)
          throw new PlatformError('forbidden', error.message, { reason: 'statement_refused' });
        throw error;
      }
    },
    /** Runs a refused statement, goes on, and shows that the unit's own view still works inside a savepoint. */
    refuseAndGoOn: (): unknown => {
      const db = ctx.guarded({ protectedPrefix: '_spine_', readOnly: false });
      return db.savepoint(() => {
        attempt(ctx.db, () => db.run("INSERT INTO _spine_events (note) VALUES ('forged')"));
        ctx.db.run("INSERT INTO _spine_events (note) VALUES ('own')");
        db.savepoint(() => db.run("INSERT INTO mine (note) VALUES ('own')"));
        attempt(ctx.db, () => db.run("DELETE FROM _spine_events WHERE note = 'own'"));
        return ctx.db.all("SELECT note FROM _spine_events WHERE note <> 'first'");
      });
    },
    /** Returns everything that a guarded view must not change: the spine's rows, its counters and its schema. */
    spine: (): unknown => ({
      events: ctx.db.all('SELECT id, note FROM _spine_events ORDER BY id'),
      mixed: ctx.db.all('SELECT note FROM _spine_mixed'),
      journal: ctx.db.all(`SELECT "set", version, name FROM _spine_migrations ORDER BY "set", version`),
      counters: ctx.db.all('SELECT name, seq FROM sqlite_sequence'),
      schema: ctx.db.all(
        `SELECT type, lower(name) AS name, tbl_name, sql FROM sqlite_master
         WHERE lower(name) LIKE '\\_spine%' ESCAPE '\\' OR lower(tbl_name) LIKE '\\_spine%' ESCAPE '\\' ORDER BY name`,
      ),
    }),
  }),
});

interface GuardedCall {
  readonly sql: string;
  readonly how: 'run' | 'get' | 'all' | 'exec';
  readonly readOnly: boolean;
  readonly params: SqlValue[];
}

/** A unit whose migrations a test changes between two openings. */
export const migratingUnit = defineUnit({
  kind: 'contract-migrating',
  get migrations() {
    return observed.migrations;
  },
  queries: ['journal', 'tables'],
  open: (ctx) => {
    observed.openings.set(ctx.key, (observed.openings.get(ctx.key) ?? 0) + 1);
    return {
      journal: () => appliedMigrations(ctx.db),
      tables: (): string[] =>
        ctx.db
          .all<{ name: string }>(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name",
          )
          .map((row) => row.name),
    };
  },
});

/** The kinds to host. */
export const contractUnits = [notesUnit, guardedUnit, migratingUnit] as const;

function list(db: SqlDatabase): string[] {
  return db.all<Note>('SELECT text FROM note ORDER BY position').map((row) => row.text);
}

function count(db: SqlDatabase): number {
  return db.get<{ n: number }>('SELECT count(*) AS n FROM note')?.n ?? 0;
}

/** Runs a part of a call that may fail without failing the call. */
function attempt(db: SqlDatabase, work: () => void): void {
  try {
    db.savepoint(work);
  } catch {
    // The caller checks that its writes are gone.
  }
}
