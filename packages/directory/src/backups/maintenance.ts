/**
 * The backups that the platform makes by itself: long work in the log under the name of the platform, one after the other;
 * and the deletion of expired ones. A backup that a person ordered is never deleted here.
 *
 * Invariants:
 * 1. A backup is deleted only after a newer one of the same scope was written and verified in this very sweep, or when its
 *    scope was reaped.
 * 2. Nothing new is made of a tenant that is being deleted, and nothing of a reaped tenant is left.
 * 3. The unit that has waited longest comes first, so that none is passed over for ever; units that failed come last.
 */
import { PlatformError } from '@freehold/contracts';
import type { UnitStub } from '@freehold/store';
import type { AdminCall, AdminResult } from '../access/actors.ts';
import type { OperationRecord } from '../declarations/long-work.ts';
import type { LogHead } from '../declarations/records.ts';
import type { SweepUnit } from '../operations-log/recorder.ts';
import type { BackupStore } from './backup-store.ts';
import {
  type ExpiryDeps,
  type expiryOfBackupsMethods,
  makeExpiryOfBackups,
  PLATFORM,
} from './maintenance-expiry.ts';
import type { BackupMethods } from './operations.ts';
import {
  type BackupPolicy,
  expiredOf,
  expiredOfReaped,
  isDue,
  keptAfterReapMs,
  type ScheduledCopy,
  type UnitOfBackups,
} from './schedule.ts';

export interface BackupMaintenance {
  /**
   * Backs up the units that are due, and deletes expired backups; one line for each unit, for `recordSweep`. At most a
   * hundred are backed up, those that have waited longest; it returns whether a next sweep could go on at once. After three
   * failures in a row a vertical is skipped for this sweep; after three failures in a row of the place for backups, every
   * sweep is skipped for an hour. Units that have waited for more than two intervals are lines `failed`, reason `overdue`:
   * the ten oldest, once an hour.
   */
  sweep(policy: BackupPolicy, signal: AbortSignal): AsyncGenerator<BackupLine, boolean, undefined>;
}

export type BackupLine = Extract<SweepUnit, { readonly kind: 'backup' }>;

export interface BackupMaintenanceDeps extends Omit<ExpiryDeps, 'directory'>, UnitDeps {
  readonly directory: ExpiryDeps['directory'] &
    Pick<
      UnitStub<BackupMethods & ReturnType<typeof expiryOfBackupsMethods>>,
      'unitsToBackUp' | 'scheduledBackups' | 'directoryTimes'
    >;
  /** Null: no backup is made. */
  readonly backups: BackupStore | null;
  /** Counts the failures of the place for backups so far. */
  readonly storeFaults: () => number;
  /** Offers a head to the anchor. It does not reject. */
  readonly publish: (head: LogHead) => Promise<void>;
}

/** The most units that one sweep backs up, and the most reaped scopes whose backups it deletes. */
const UNITS_MAX = 100;
/** The first wait after a failure; each further one is twice as long, up to the interval itself. */
const RETRY_MS = 60 * 60 * 1000;
const FAILURES_IN_A_ROW_MAX = 3;
const PAUSE_MS = 60 * 60 * 1000;
const OVERDUE_INTERVALS = 2;
const OVERDUE_LINES_MAX = 10;
const OVERDUE_AGAIN_MS = 60 * 60 * 1000;

/** Backups of one unit that are to be deleted. */
interface Expiration {
  readonly unit: Unit;
  readonly ids: readonly string[];
  /** True for a reaped scope, which has no newer backup. */
  readonly reaped: boolean;
}

/** The state of one sweep. */
interface Sweep {
  readonly policy: BackupPolicy;
  readonly signal: AbortSignal;
  readonly expirations: Expiration[];
  readonly backedUp: Set<string>;
  /** By vertical: how many have failed in a row. */
  readonly inARow: Map<string, number>;
  storeFailures: number;
  units: number;
  /** Whether others are left for a next sweep. */
  more: boolean;
}

/** The last failure of a unit, and for how long it is not tried again. */
interface LastFailure {
  readonly count: number;
  readonly atMs: number;
  readonly waitMs: number;
}

export function makeBackupMaintenance(deps: BackupMaintenanceDeps): BackupMaintenance {
  return new ScheduledBackups(deps);
}

/** Remembers recent failures, and the pause after the place for backups failed, from sweep to sweep. */
class ScheduledBackups implements BackupMaintenance {
  readonly #deps: BackupMaintenanceDeps;
  readonly #failures = new Map<string, LastFailure>();
  #pausedAtMs: number | null = null;
  #overdueSaidMs: number | null = null;

  constructor(deps: BackupMaintenanceDeps) {
    this.#deps = deps;
  }

  async *sweep(policy: BackupPolicy, signal: AbortSignal): AsyncGenerator<BackupLine, boolean, undefined> {
    const { backups, incident } = this.#deps;
    if (backups === null || this.#isWithin(this.#pausedAtMs, PAUSE_MS)) return false;
    this.#pausedAtMs = null;
    const lists = { expirations: [], backedUp: new Set<string>(), inARow: new Map<string, number>() };
    const sweep: Sweep = { policy, signal, ...lists, storeFailures: 0, units: 0, more: false };
    await makeExpiryOfBackups(this.#deps, backups).settleLeft(signal).catch(incident);
    const { due, gone } = await this.#findDue(sweep);
    if (signal.aborted) return false;
    yield* this.#backUpAll(due, sweep);
    if (signal.aborted) return false;
    if (this.#pausedAtMs === null) {
      await this.#findExpirations(gone, sweep);
      yield* this.#expireAll(backups, sweep);
    }
    yield* this.#overdueOf(due, sweep);
    return sweep.more && this.#pausedAtMs === null && !signal.aborted;
  }

  /** Whether a moment is at most that long ago. Ignores the future: the clock was wrong when the moment was noted. */
  #isWithin(atMs: number | null, ms: number): boolean {
    const nowMs = this.#deps.now();
    return atMs !== null && atMs <= nowMs && nowMs < atMs + ms;
  }

  /** Whether its last failure is so recent that it is not tried again yet. */
  #waits(key: string): boolean {
    const last = this.#failures.get(key);
    return last !== undefined && this.#isWithin(last.atMs, last.waitMs);
  }

  #note(key: string, { outcome }: BackupResult, everyMs: number): void {
    if (outcome === 'failed')
      this.#failures.set(key, failureAfter(this.#failures.get(key), this.#deps.now(), everyMs));
    else this.#failures.delete(key);
  }

  /** Searches the whole fleet: due units, longest waiting first, and reaped scopes that have backups left. */
  async #findDue({ policy: { everyMs }, signal }: Sweep) {
    const { directory, now } = this.#deps;
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
    return { due: due.sort(byWait((scope) => this.#failures.has(scope))), gone };
  }

  async *#backUpAll(due: readonly UnitOfBackups[], sweep: Sweep): AsyncGenerator<BackupLine, void> {
    const everyMs = sweep.policy.everyMs;
    const ofDirectory = { newestAtMs: await this.#newestOfDirectory(), everyMs, nowMs: this.#deps.now() };
    const first = !this.#waits(DIRECTORY) && isDue(DIRECTORY, ofDirectory) ? [null] : [];
    for (const unit of [...first, ...due]) {
      const failing = unit && (sweep.inARow.get(unit.vertical) ?? 0) >= FAILURES_IN_A_ROW_MAX;
      if (unit && (failing || this.#waits(unit.scope))) continue;
      if (sweep.units >= UNITS_MAX) {
        sweep.more = true;
        return;
      }
      const line = await this.#backUpOne(unit, sweep);
      if (line) yield line;
      if (sweep.signal.aborted || this.#pausedAtMs !== null) return;
    }
  }

  /** Backs one up and remembers the result. Null when the platform stops meanwhile: the next process resumes it. */
  async #backUpOne(unit: Unit, sweep: Sweep): Promise<BackupLine | null> {
    const { incident, storeFaults } = this.#deps;
    const faults = storeFaults();
    const result = await this.#backUp(unit, sweep).catch((error: unknown): BackupResult => {
      if (!(error instanceof PlatformError)) incident(error);
      return { outcome: 'failed', reason: reasonOfError(error) };
    });
    if (!result) return null;
    const line = lineOf(unit, result);
    this.#note(line.unit, result, sweep.policy.everyMs);
    // A skipped unit costs nothing, and is not counted.
    if (result.outcome === 'skipped') return line;
    const isOfStore = result.outcome === 'failed' && storeFaults() > faults;
    countIn(sweep, line, isOfStore);
    if (sweep.storeFailures >= FAILURES_IN_A_ROW_MAX) this.#pausedAtMs = this.#deps.now();
    return line;
  }

  async #backUp(unit: Unit, { policy, signal, expirations }: Sweep): Promise<BackupResult | null> {
    const { directory, now } = this.#deps;
    const result = await backUpUnit(this.#deps, unit, signal);
    if (result?.outcome !== 'swept') return result;
    const copies = await directory.scheduledBackups({ scope: unit?.scope ?? null });
    expirations.push({ unit, ids: idsOf(expiredOf(copies, policy, now())), reaped: false });
    return result;
  }

  /** When the directory was backed up last, or null. */
  async #newestOfDirectory(): Promise<number | null> {
    const { directory, now } = this.#deps;
    return (
      (await directory.scheduledBackups({ scope: null })).find(({ atMs }) => atMs <= now())?.atMs ?? null
    );
  }

  /** Finds the expired backups of reaped scopes. */
  async #findExpirations(gone: readonly UnitOfBackups[], sweep: Sweep): Promise<void> {
    const { directory, now } = this.#deps;
    const { policy, expirations } = sweep;
    let seenMs: readonly number[] | null = null;
    let found = 0;
    for (const unit of gone) {
      const { scope, state, oldestAtMs } = unit;
      const isErased = state === 'erased';
      const isRetained = !isErased && (oldestAtMs ?? 0) >= now() - keptAfterReapMs(policy);
      if (isRetained || this.#waits(scope)) continue;
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
  }

  async *#expireAll(
    store: BackupStore,
    { expirations, policy, signal }: Sweep,
  ): AsyncGenerator<BackupLine, void> {
    const ids = expirations.flatMap((each) => each.ids);
    const left = await makeExpiryOfBackups(this.#deps, store).expire(ids, signal);
    for (const { unit, ids, reaped } of expirations) {
      const failed = ids.some((id) => left.has(id));
      if (!failed && !reaped) continue;
      const result: BackupResult = failed
        ? { outcome: 'failed', reason: 'expiry_failed' }
        : { outcome: 'swept', reason: 'expired' };
      const line = lineOf(unit, result);
      // For a living scope the next backup tries again: only a reaped one waits.
      if (reaped) this.#note(line.unit, result, policy.everyMs);
      yield line;
    }
  }

  /** Reports units without a backup for too long, whatever the cause, so that an operator hears of it. */
  async *#overdueOf(
    due: readonly UnitOfBackups[],
    { policy, backedUp }: Sweep,
  ): AsyncGenerator<BackupLine, void> {
    if (this.#isWithin(this.#overdueSaidMs, OVERDUE_AGAIN_MS)) return;
    const directorySince = await this.#newestOfDirectory();
    const nowMs = this.#deps.now();
    const late = [
      ...(directorySince === null ? [] : [{ unit: null, sinceMs: directorySince }]),
      ...due
        .filter(({ scope }) => !backedUp.has(scope))
        .map((unit) => ({ unit, sinceMs: unit.newestAtMs ?? unit.createdAtMs })),
    ]
      .filter(({ sinceMs }) => nowMs - sinceMs > OVERDUE_INTERVALS * policy.everyMs)
      .sort((a, b) => a.sinceMs - b.sinceMs);
    if (late.length > 0) this.#overdueSaidMs = nowMs;
    for (const { unit } of late.slice(0, OVERDUE_LINES_MAX))
      yield lineOf(unit, { outcome: 'failed', reason: 'overdue' });
  }
}

function failureAfter(last: LastFailure | undefined, nowMs: number, everyMs: number): LastFailure {
  const count = (last?.count ?? 0) + 1;
  return { count, atMs: nowMs, waitMs: Math.min(everyMs, RETRY_MS * 2 ** Math.min(count - 1, 20)) };
}

/** Counts a backup that was made or failed. A failure of the place does not count against the vertical. */
function countIn(sweep: Sweep, { unit, vertical, outcome }: BackupLine, isOfStore: boolean): void {
  const failed = outcome === 'failed';
  sweep.units += 1;
  if (!failed) sweep.backedUp.add(unit);
  sweep.storeFailures = isOfStore ? sweep.storeFailures + 1 : 0;
  if (vertical && !isOfStore) sweep.inARow.set(vertical, failed ? (sweep.inARow.get(vertical) ?? 0) + 1 : 0);
}

/** Units that failed the last time come last; among the others, the one that has waited longest comes first. */
function byWait(hasFailed: (scope: string) => boolean) {
  const rank = ({ scope, newestAtMs }: UnitOfBackups) =>
    [hasFailed(scope) ? 1 : 0, newestAtMs ?? Number.NEGATIVE_INFINITY] as const;
  return (a: UnitOfBackups, b: UnitOfBackups): number => {
    const [x, y] = [rank(a), rank(b)];
    if (x[0] !== y[0]) return x[0] - y[0];
    return x[1] < y[1] ? -1 : x[1] > y[1] ? 1 : 0;
  };
}

/** Names the directory among the units. No scope has such an id. */
const DIRECTORY = 'directory';

function lineOf(unit: Unit, result: BackupResult): BackupLine {
  if (unit === null) return { kind: 'backup', unit: DIRECTORY, ...result };
  const { tenant, scope, vertical } = unit;
  return { kind: 'backup', unit: scope, tenant, scope, vertical, ...result };
}

function idsOf(copies: readonly ScheduledCopy[]): readonly string[] {
  return copies.map(({ id }) => id);
}

interface UnitDeps {
  /** Begins long work. */
  readonly begin: (call: AdminCall) => Promise<AdminResult>;
  /** Performs `operations.get`. */
  readonly waitFor: (call: AdminCall) => Promise<AdminResult>;
  readonly newRequestId: () => string;
}

/** A scope, or null for the directory. */
type Unit = Pick<UnitOfBackups, 'tenant' | 'scope' | 'vertical'> | null;
type BackupResult = Pick<Extract<SweepUnit, { readonly kind: 'backup' }>, 'outcome' | 'reason'>;

/** Backs one up. Null when the platform stops meanwhile: the next process resumes it. */
async function backUpUnit(deps: UnitDeps, unit: Unit, signal: AbortSignal): Promise<BackupResult | null> {
  const begun = await beginBackup(deps, unit);
  if ('outcome' in begun) return begun;
  const ended = await endOf(deps, begun.id, signal);
  if (!ended) return null;
  if (ended.state === 'cancelled') return { outcome: 'failed', reason: 'cancelled' };
  if (ended.state !== 'done') return { outcome: 'failed', reason: reasonOf(ended) };
  return { outcome: 'swept', reason: 'backed_up' };
}

/** Units that other work holds, or that are gone, are skipped and tried again. */
const SKIPPED_CODES: ReadonlySet<string> = new Set([
  'conflict',
  'not_found',
  'invalid_transition',
  'unsupported',
]);

async function beginBackup(deps: UnitDeps, unit: Unit): Promise<{ readonly id: string } | BackupResult> {
  try {
    const { value } = await deps.begin(callOf(deps, unit));
    return { id: (value as OperationRecord).id };
  } catch (error) {
    if (!(error instanceof PlatformError && SKIPPED_CODES.has(error.code))) throw error;
    return { outcome: 'skipped', reason: reasonOfError(error) };
  }
}

/** Waits for the end of long work, or until the platform stops: then null. */
async function endOf(deps: UnitDeps, id: string, signal: AbortSignal): Promise<OperationRecord | null> {
  const stopped = Promise.withResolvers<null>();
  const stop = (): void => stopped.resolve(null);
  signal.addEventListener('abort', stop, { once: true });
  try {
    while (!signal.aborted) {
      const looked = deps.waitFor({
        operation: 'operations.get',
        params: { operation: id },
        query: { wait: '60s' },
        body: {},
        actor: PLATFORM,
        requestId: deps.newRequestId(),
      });
      const record = (await Promise.race([looked, stopped.promise]))?.value as OperationRecord | undefined;
      // The platform stops: no code waits for the answer any more.
      if (!record) looked.catch(() => undefined);
      else if (record.finishedAt !== null) return record;
    }
    return null;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function callOf({ newRequestId }: UnitDeps, unit: Unit): AdminCall {
  return {
    operation: `${unit === null ? 'directory' : 'scope'}-backups.create`,
    params: unit === null ? {} : { tenant: unit.tenant, scope: unit.scope },
    query: {},
    body: unit === null ? {} : { format: 'ndjson' },
    actor: PLATFORM,
    requestId: newRequestId(),
  };
}

function reasonOf({ problem }: OperationRecord): string {
  return problem?.reason ?? problem?.code ?? 'unknown';
}

function reasonOfError(error: unknown): string {
  return error instanceof PlatformError ? (error.reason ?? error.code) : 'internal';
}
