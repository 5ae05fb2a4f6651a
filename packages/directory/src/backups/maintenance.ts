/**
 * The backups that the platform makes by itself: long work like anybody's, in the log under the name of the platform, one
 * after the other; and the end of those that have had their time. What somebody ordered is not its to delete.
 *
 * Invariants:
 * 1. Something is deleted only after a newer backup of the same was written, read back and found the same in this very
 *    sweep, or when what it is a backup of was reaped.
 * 2. Nothing new is made of a tenant that is being deleted, and nothing of one that was reaped is left.
 * 3. Whatever has waited longest comes first, so that nothing is passed by for good; what failed before comes last.
 */
import { PlatformError } from '@freehold/contracts';
import type { UnitStub } from '@freehold/store';
import type { LogHead } from '../declarations/records.ts';
import type { SweepUnit } from '../operations-log/recorder.ts';
import type { DirectoryMethods } from '../unit.ts';
import { type BackupResult, backUpUnit, type Unit, type UnitDeps, wordOf } from './back-up-unit.ts';
import type { BackupStore } from './backup-store.ts';
import { type ExpiryDeps, makeExpiryOfBackups } from './maintenance-expiry.ts';
import { type BackupPolicy, expiredOf, expiredOfReaped, isDue, keptAfterReapMs } from './retention.ts';
import type { ScheduledCopy, UnitOfBackups } from './scheduled-store.ts';

export interface BackupMaintenance {
  /**
   * Backs up whatever is due and deletes what has had its time; one line for each that was gone at, for `recordSweep`.
   * At most a hundred are backed up, those that have waited longest; it answers whether others are left that it could go
   * on with at once. Of a vertical of which three fail in a row nothing more is tried in this sweep. When the place for
   * backups itself fails three times in a row, nothing at all is tried for an hour. What has waited for more than two
   * intervals is a line `failed`, reason `overdue`: the ten oldest, once an hour.
   */
  sweep(policy: BackupPolicy, signal: AbortSignal): AsyncGenerator<BackupLine, boolean, undefined>;
}

export type BackupLine = Extract<SweepUnit, { readonly kind: 'backup' }>;

export interface BackupMaintenanceDeps extends Omit<ExpiryDeps, 'directory'>, UnitDeps {
  readonly directory: ExpiryDeps['directory'] &
    Pick<UnitStub<DirectoryMethods>, 'unitsToBackUp' | 'scheduledBackups' | 'directoryTimes'>;
  /** Null: nothing is ever made. */
  readonly backups: BackupStore | null;
  /** How often the place for backups has failed so far, whoever used it. */
  readonly storeFaults: () => number;
  /** Offers a head to the anchor. It does not reject. */
  readonly publish: (head: LogHead) => Promise<void>;
}

/** How many are backed up in one sweep, and of how many what is left is cleared away. */
const UNITS_MAX = 100;
/** The first wait after a failure; each further one is twice as long, up to the interval itself. */
const RETRY_MS = 60 * 60 * 1000;
const FAILURES_IN_A_ROW_MAX = 3;
const PAUSE_MS = 60 * 60 * 1000;
const OVERDUE_INTERVALS = 2;
const OVERDUE_LINES_MAX = 10;
const OVERDUE_AGAIN_MS = 60 * 60 * 1000;

/** What is to be deleted, and of what. */
interface Expiration {
  readonly unit: Unit;
  readonly ids: readonly string[];
  /** There is no newer one: it was reaped. */
  readonly reaped: boolean;
}

/** What one sweep has come to so far. */
interface Sweep {
  readonly policy: BackupPolicy;
  readonly signal: AbortSignal;
  readonly expirations: Expiration[];
  readonly backedUp: Set<string>;
  /** By vertical: how many have failed in a row. */
  readonly inARow: Map<string, number>;
  storeFailures: number;
  units: number;
  /** Others could be gone at. */
  more: boolean;
}

export function makeBackupMaintenance(deps: BackupMaintenanceDeps): BackupMaintenance {
  const { directory, backups, now, incident, storeFaults } = deps;
  const failures = new Map<
    string,
    { readonly count: number; readonly atMs: number; readonly waitMs: number }
  >();
  let pausedAtMs: number | null = null;
  let overdueSaidMs: number | null = null;

  /** Whether a moment is no longer ago than that. One that lies ahead is of a clock that was, and counts for nothing. */
  const isWithin = (atMs: number | null, ms: number): boolean =>
    atMs !== null && atMs <= now() && now() < atMs + ms;

  /** Whether its last failure is so recent that it is not tried again yet. */
  const rests = (key: string): boolean => {
    const last = failures.get(key);
    return last !== undefined && isWithin(last.atMs, last.waitMs);
  };

  const note = (key: string, { outcome }: BackupResult, everyMs: number): void => {
    if (outcome !== 'failed') return void failures.delete(key);
    const count = (failures.get(key)?.count ?? 0) + 1;
    failures.set(key, {
      count,
      atMs: now(),
      waitMs: Math.min(everyMs, RETRY_MS * 2 ** Math.min(count - 1, 20)),
    });
  };

  const backUp = async (unit: Unit, { policy, signal, expirations }: Sweep): Promise<BackupResult | null> => {
    const came = await backUpUnit(deps, unit, signal);
    if (came?.outcome !== 'swept') return came;
    const copies = await directory.scheduledBackups({ scope: unit?.scope ?? null });
    expirations.push({ unit, ids: idsOf(expiredOf(copies, policy, now())), reaped: false });
    return came;
  };

  /** Backs one up, and remembers how that went. Null when the platform stops meanwhile: the next process takes it up. */
  const goAt = async (unit: Unit, sweep: Sweep): Promise<BackupLine | null> => {
    const faults = storeFaults();
    const came = await backUp(unit, sweep).catch((error: unknown): BackupResult => {
      if (!(error instanceof PlatformError)) incident(error);
      return { outcome: 'failed', reason: wordOf(error) };
    });
    if (!came) return null;
    const line = lineOf(unit, came);
    note(line.unit, came, sweep.policy.everyMs);
    // What is passed over costs nothing, and is not in the way of what is behind it.
    if (came.outcome === 'skipped') return line;
    sweep.units += 1;
    const failed = came.outcome === 'failed';
    if (!failed) sweep.backedUp.add(line.unit);
    const isOfStore = failed && storeFaults() > faults;
    sweep.storeFailures = isOfStore ? sweep.storeFailures + 1 : 0;
    if (sweep.storeFailures >= FAILURES_IN_A_ROW_MAX) pausedAtMs = now();
    if (unit && !isOfStore)
      sweep.inARow.set(unit.vertical, failed ? (sweep.inARow.get(unit.vertical) ?? 0) + 1 : 0);
    return line;
  };

  /** Looks the whole fleet through: what is due, longest waiting first, and what has gone and left something behind. */
  const survey = async ({ policy: { everyMs }, signal }: Sweep) => {
    const due: UnitOfBackups[] = [];
    const gone: UnitOfBackups[] = [];
    for (let after: string | null = null; !signal.aborted; ) {
      const page: readonly UnitOfBackups[] = await directory.unitsToBackUp({ after });
      for (const unit of page) {
        const { state, scope, newestAtMs, oldestAtMs } = unit;
        if (state === 'kept' && isDue(scope, { newestAtMs, everyMs, nowMs: now() })) due.push(unit);
        if ((state === 'gone' || state === 'erased') && oldestAtMs !== null) gone.push(unit);
      }
      after = page.at(-1)?.scope ?? null;
      if (after === null) break;
    }
    const waits = ({ scope, newestAtMs }: UnitOfBackups) =>
      [failures.has(scope) ? 1 : 0, newestAtMs ?? Number.NEGATIVE_INFINITY] as const;
    const order = (a: UnitOfBackups, b: UnitOfBackups): number => {
      const [x, y] = [waits(a), waits(b)];
      if (x[0] !== y[0]) return x[0] - y[0];
      return x[1] < y[1] ? -1 : x[1] > y[1] ? 1 : 0;
    };
    return { due: due.sort(order), gone };
  };

  /** When the directory was backed up last, or null. */
  const newestOfDirectory = async (): Promise<number | null> =>
    (await directory.scheduledBackups({ scope: null })).find(({ atMs }) => atMs <= now())?.atMs ?? null;

  /** What was reaped and has something that has to go. */
  const findEndings = async (gone: readonly UnitOfBackups[], sweep: Sweep): Promise<void> => {
    const { policy, expirations } = sweep;
    let seenMs: readonly number[] | null = null;
    let found = 0;
    for (const unit of gone) {
      const { scope, state, oldestAtMs } = unit;
      const isErased = state === 'erased';
      if (rests(scope) || (!isErased && (oldestAtMs ?? 0) >= now() - keptAfterReapMs(policy))) continue;
      const copies = await directory.scheduledBackups({ scope });
      seenMs ??= await directory.directoryTimes();
      const over = isErased ? copies : expiredOfReaped(copies, policy, { nowMs: now(), seenMs });
      if (over.length === 0) continue;
      if (found === UNITS_MAX) {
        sweep.more = true;
        return;
      }
      found += 1;
      expirations.push({ unit, ids: idsOf(over), reaped: true });
    }
  };

  async function* backUpAll(due: readonly UnitOfBackups[], sweep: Sweep): AsyncGenerator<BackupLine, void> {
    const everyMs = sweep.policy.everyMs;
    const ofDirectory = { newestAtMs: await newestOfDirectory(), everyMs, nowMs: now() };
    const first = !rests(DIRECTORY) && isDue(DIRECTORY, ofDirectory) ? [null] : [];
    for (const unit of [...first, ...due]) {
      if (unit && (rests(unit.scope) || (sweep.inARow.get(unit.vertical) ?? 0) >= FAILURES_IN_A_ROW_MAX))
        continue;
      if (sweep.units >= UNITS_MAX) {
        sweep.more = true;
        return;
      }
      const line = await goAt(unit, sweep);
      if (line) yield line;
      if (sweep.signal.aborted || pausedAtMs !== null) return;
    }
  }

  async function* endAll(
    store: BackupStore,
    { expirations, policy, signal }: Sweep,
  ): AsyncGenerator<BackupLine, void> {
    const left = await makeExpiryOfBackups(deps, store).expire(
      expirations.flatMap(({ ids }) => ids),
      signal,
    );
    for (const { unit, ids, reaped } of expirations) {
      const failed = ids.some((id) => left.has(id));
      if (!failed && !reaped) continue;
      const came: BackupResult = failed
        ? { outcome: 'failed', reason: 'expiry_failed' }
        : { outcome: 'swept', reason: 'expired' };
      const line = lineOf(unit, came);
      // Of what lives the next backup tries again, and is not put off by this.
      if (reaped) note(line.unit, came, policy.everyMs);
      yield line;
    }
  }

  /** What nothing was made of for too long, whatever it is that keeps it: somebody has to hear of it. */
  async function* overdueOf(
    due: readonly UnitOfBackups[],
    { policy, backedUp }: Sweep,
  ): AsyncGenerator<BackupLine, void> {
    if (isWithin(overdueSaidMs, OVERDUE_AGAIN_MS)) return;
    const directorySince = await newestOfDirectory();
    const late = [
      ...(directorySince === null ? [] : [{ unit: null, sinceMs: directorySince }]),
      ...due
        .filter(({ scope }) => !backedUp.has(scope))
        .map((unit) => ({ unit, sinceMs: unit.newestAtMs ?? unit.createdAtMs })),
    ]
      .filter(({ sinceMs }) => now() - sinceMs > OVERDUE_INTERVALS * policy.everyMs)
      .sort((a, b) => a.sinceMs - b.sinceMs);
    if (late.length > 0) overdueSaidMs = now();
    for (const { unit } of late.slice(0, OVERDUE_LINES_MAX))
      yield lineOf(unit, { outcome: 'failed', reason: 'overdue' });
  }

  return {
    sweep: async function* sweep(policy, signal) {
      if (backups === null || isWithin(pausedAtMs, PAUSE_MS)) return false;
      pausedAtMs = null;
      const lists = { expirations: [], backedUp: new Set<string>(), inARow: new Map<string, number>() };
      const state: Sweep = { policy, signal, ...lists, storeFailures: 0, units: 0, more: false };
      await makeExpiryOfBackups(deps, backups).settleLeft(signal).catch(incident);
      const { due, gone } = await survey(state);
      if (signal.aborted) return false;
      yield* backUpAll(due, state);
      if (signal.aborted) return false;
      if (pausedAtMs === null) {
        await findEndings(gone, state);
        yield* endAll(backups, state);
      }
      yield* overdueOf(due, state);
      return state.more && pausedAtMs === null && !signal.aborted;
    },
  };
}

/** How the directory is named among the units. No scope's id is like it. */
const DIRECTORY = 'directory';

function lineOf(unit: Unit, came: BackupResult): BackupLine {
  if (unit === null) return { kind: 'backup', unit: DIRECTORY, ...came };
  const { tenant, scope, vertical } = unit;
  return { kind: 'backup', unit: scope, tenant, scope, vertical, ...came };
}

function idsOf(copies: readonly ScheduledCopy[]): readonly string[] {
  return copies.map(({ id }) => id);
}
