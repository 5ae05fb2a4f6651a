/** Over random histories, revocations restore the same directory as the replay of the log does. */
import type { SqlDatabase, SqlValue } from '@freehold/store';
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { beginHistory, histories, type Step, takeStep } from '../../test/histories.ts';
import { keepAway, takenSince } from '../backups/shut-out.ts';

const seen = vi.hoisted(() => ({
  differences: [] as unknown[],
}));

vi.mock(import('./store.ts'), async (original) => {
  const store = await original();
  return {
    ...store,
    reapplyRevocations: (db, at) => {
      const replayed = inVain(db, () => ({ keptAway: keepAway(db, at), state: stateOf(db) }));
      const keptAway = store.reapplyRevocations(db, at);
      const state = stateOf(db);
      const unlike = Object.keys(state).filter(
        (table) => JSON.stringify(state[table]) !== JSON.stringify(replayed.state[table]),
      );
      if (unlike.length > 0 || attributed(keptAway) !== attributed(replayed.keptAway))
        seen.differences.push({
          ...{ replayed: replayed.keptAway, reapplied: keptAway },
          unlike: unlike.map((table) => ({ table, old: replayed.state[table], new: state[table] })),
        });
      return keptAway;
    },
    listRevocations: (db, since) => {
      const plan = store.listRevocations(db, since);
      const replayed = takenSince(db, since);
      if (JSON.stringify(plan) !== JSON.stringify(replayed)) seen.differences.push({ plan, replayed });
      return plan;
    },
  };
});

/**
 * A connection that was disconnected before its scope was reaped: the replay counted it for the first, with its reason,
 * and the newest row counts it for the second. It is erased with the scope right after. A grant of it that was deleted
 * before counted for the disconnection, and counts for its own deletion now.
 */
function attributed(keptAway: readonly { readonly action: string; readonly count: number }[]): string {
  const counts = new Map<string, number>();
  for (const { action, count } of keptAway) {
    const name = ['scopes.reap', 'connection-grants.delete'].includes(action)
      ? 'connections.disconnect'
      : action;
    counts.set(name, (counts.get(name) ?? 0) + count);
  }
  return JSON.stringify([...counts].sort());
}

/** Does something, and undoes it. */
function inVain<T>(db: SqlDatabase, work: () => T): T {
  let result: { readonly value: T } | undefined;
  try {
    db.savepoint(() => {
      result = { value: work() };
      throw new Error('undo');
    });
  } catch (error) {
    if (!result) throw error;
  }
  return (result as { readonly value: T }).value;
}

function stateOf(db: SqlDatabase): Record<string, unknown[]> {
  const tables = db.all<{ name: string }>(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE '\\_%' ESCAPE '\\'",
  );
  return Object.fromEntries(
    tables.map(({ name }) => [
      name,
      db
        .all<Record<string, SqlValue>>(`SELECT * FROM ${name}`)
        .map((row) => JSON.stringify({ ...row, ...(name === 'connections' ? { reason: null } : {}) }))
        .sort(),
    ]),
  );
}

/** More of them by hand: `HISTORIES=2500`. */
const RUNS = Number(process.env.HISTORIES ?? 5);

test(
  'the replay of the log and the revocations restore the same',
  async () => {
    await fc.assert(
      fc.asyncProperty(histories(40), async (steps: Step[]) => {
        const history = await beginHistory();
        seen.differences.length = 0;
        for (const step of steps) await takeStep(history, step);
        await takeStep(history, { verb: 'restore', pick: [1, 1, 1] });
        await history.platform.close();
        expect(history.platform.incidents).toEqual([]);
        expect(seen.differences).toEqual([]);
      }),
      {
        numRuns: RUNS,
        endOnFailure: process.env.HISTORIES !== undefined,
        ...(process.env.SEED ? { seed: Number(process.env.SEED) } : {}),
      },
    );
  },
  RUNS * 5_000,
);
