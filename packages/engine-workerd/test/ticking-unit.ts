/** A unit with timed work, for the tests of alarms. */
import { PlatformError } from '@freehold/contracts';
import { defineUnit } from '@freehold/store';

/** The keys of units whose work was called, in order. */
export const ticks: string[] = [];

export const makeTickingUnit = (wake: () => void) =>
  defineUnit({
    kind: 'ticking',
    migrations: [
      {
        name: 'ticking',
        migrations: [
          {
            version: 1,
            name: 'tasks',
            sql: `CREATE TABLE task (at INTEGER NOT NULL, fails INTEGER NOT NULL, done INTEGER NOT NULL DEFAULT 0) STRICT`,
          },
        ],
      },
    ],
    queries: ['done'],
    open: ({ db, now, afterCommit }) => ({
      plan: ({ atMs, fails = 0 }: { atMs: number; fails?: number }): void =>
        db.run('INSERT INTO task (at, fails) VALUES (?, ?)', atMs, fails),
      /** Makes work due at once, and perhaps fails after that. */
      hurry: ({ fail = false }: { fail?: boolean }): void => {
        db.run('INSERT INTO task (at, fails) VALUES (0, 0)');
        afterCommit(wake);
        if (fail) throw new PlatformError('conflict', 'Not after all.');
      },
      /** Does the due work; a task that fails does so the first time only. */
      tick: (_: Record<string, never>): { nextAtMs: number | null } => {
        const failing = db.get('SELECT 1 FROM task WHERE fails > 0 AND at <= ?', now());
        if (failing) throw new PlatformError('conflict', 'Not yet.');
        db.run('UPDATE task SET done = 1 WHERE at <= ?', now());
        const next = db.get<{ at: number | null }>('SELECT min(at) AS at FROM task WHERE done = 0');
        return { nextAtMs: next?.at ?? null };
      },
      repair: (_: Record<string, never>): void => db.run('UPDATE task SET fails = 0'),
      done: (_: Record<string, never>): number =>
        db.get<{ n: number }>('SELECT count(*) AS n FROM task WHERE done = 1')?.n ?? 0,
    }),
  });

export const tickingUnit = makeTickingUnit(() => undefined);
