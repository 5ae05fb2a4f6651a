/**
 * The daily housekeeping of a scope: removes rows that its retention no longer keeps, and has unused bytes swept. It is
 * part of the scope's work, a few hundred rows in a transaction, with a pause between two; its progress is stored in the
 * scope, so that neither a restart nor a crash begins it anew.
 */
import { toTimestamp } from '@freehold/contracts';
import { TransactionLost, type UnitContext } from '@freehold/store';
import type { RetentionState } from '../contract/scope-methods.ts';
import type { Pruned } from '../lib/pruned.ts';
import type { Settings } from '../settings/settings.ts';
import { effectivePolicy, type Housekept, hasAttachments, needsRetention } from '../vertical/retention.ts';
import type { Cutoffs, Step } from './steps.ts';
import type { HousekeepingRow, makeRetentionStore } from './store.ts';

/** The number of rows that one transaction looks at: some ten milliseconds of work. */
export const BATCH_ROWS = 500;
/** The pause between two transactions, so that calls come first. */
const PAUSE_MS = 200;
const DAY_MS = 86_400_000;
/** The wait after a round that took longer than a day, or failed. */
const RETRY_MS = 3_600_000;

export interface HousekeepingDone {
  /** The time of the next part, in milliseconds since the epoch; null: never. */
  readonly nextAtMs: number | null;
  /** Whether a round has just ended in which bytes may have become free. */
  readonly sweep: boolean;
}

export interface HousekeepingParts {
  readonly unit: UnitContext;
  readonly vertical: Housekept;
  readonly settings: Settings;
  readonly store: ReturnType<typeof makeRetentionStore>;
  readonly pruned: Pruned;
  readonly steps: readonly Step[];
}

export function makeHousekeeping({ unit, vertical, settings, store, pruned, steps }: HousekeepingParts) {
  const policy = () => effectivePolicy(vertical, settings.all());
  const sweeps = hasAttachments(vertical);

  const cutoffsAt = (nowMs: number): Cutoffs => {
    const { historyDays, denialsDays } = policy();
    const before = (days: number | null): number | null => (days === null ? null : nowMs - days * DAY_MS);
    return { historyMs: before(historyDays), denialsMs: before(denialsDays), nowMs };
  };

  /** Runs one transaction's part of a round. */
  const advance = (row: HousekeepingRow, nowMs: number): HousekeepingDone => {
    const beganAtMs = row.beganAtMs ?? nowMs;
    const cutoffs = cutoffsAt(beganAtMs);
    let { step, after } = row;
    for (let left = BATCH_ROWS; left > 0 && step < steps.length; ) {
      const done = (steps[step] as Step)(after, left, cutoffs);
      const isOver = done.looked < left;
      left -= done.looked;
      step += isOver ? 1 : 0;
      after = isOver ? '' : done.after;
    }
    const isDone = step >= steps.length;
    const nextAtMs = isDone ? Math.max(beganAtMs + DAY_MS, nowMs + RETRY_MS) : nowMs + PAUSE_MS;
    store.save(
      isDone
        ? { nextAtMs, beganAtMs: null, step: 0, after: '', lastAtMs: nowMs }
        : { nextAtMs, beganAtMs, step, after, lastAtMs: row.lastAtMs },
    );
    return { nextAtMs, sweep: isDone && sweeps };
  };

  return {
    /** Runs the due part of a round. A failure of it affects no other work. */
    round: (): HousekeepingDone => {
      if (!needsRetention(vertical)) return { nextAtMs: null, sweep: false };
      const nowMs = unit.now();
      const row = store.load();
      // A time more than a day ahead is of a clock that was ahead, here or where this copy was made.
      if (!row || row.nextAtMs > nowMs + DAY_MS) {
        const first = { ...firstRow(nowMs, unit.random(1)[0] ?? 0), lastAtMs: row?.lastAtMs ?? null };
        store.save(first);
        return { nextAtMs: first.nextAtMs, sweep: false };
      }
      if (row.nextAtMs > nowMs) return { nextAtMs: row.nextAtMs, sweep: false };
      try {
        return unit.db.savepoint(() => advance(row, nowMs));
      } catch (error) {
        if (error instanceof TransactionLost) throw error;
        unit.report(error, 'work');
        store.save({ ...row, nextAtMs: nowMs + RETRY_MS });
        return { nextAtMs: nowMs + RETRY_MS, sweep: false };
      }
    },

    state: (): RetentionState => {
      const row = store.load();
      const said = (ms: number | null | undefined): string | null => (ms == null ? null : toTimestamp(ms));
      return {
        ...policy(),
        historyPrunedBefore: said(pruned.beforeMs('history')),
        denialsPrunedBefore: said(pruned.beforeMs('denials')),
        lastRunAt: said(row?.lastAtMs),
        nextRunAt: said(row?.nextAtMs),
      };
    },
  };
}

/** The first round is at a random time within a day, so that ten thousand scopes do not run in the same minute. */
function firstRow(nowMs: number, dice: number): HousekeepingRow {
  const nextAtMs = nowMs + Math.floor(((dice + 1) / 256) * DAY_MS);
  return { nextAtMs, beganAtMs: null, step: 0, after: '', lastAtMs: null };
}
