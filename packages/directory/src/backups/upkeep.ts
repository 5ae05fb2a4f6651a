/**
 * The backups that the platform makes by itself: long work like anybody's, in the log under the name of the platform, one
 * after the other; and the end of those that have had their time. What somebody ordered is not its to delete.
 *
 * Invariants:
 * 1. Something is deleted only right after a newer backup of the same was written, read back and found the same, or
 *    when what it is a backup of was reaped.
 * 2. Nothing new is made of a tenant that is being deleted, and nothing of one that was reaped is left.
 */
import { PlatformError } from '@freehold/contracts';
import type { UnitStub } from '@freehold/store';
import type { Actor, AdminCall, AdminResult } from '../actors.ts';
import type { OperationRecord } from '../declarations/long-work.ts';
import type { SweepUnit } from '../operations-log/recorder.ts';
import type { DirectoryMethods } from '../unit.ts';
import type { BackupStore } from './backup-store.ts';
import { type BackupPolicy, expiredOf, expiredOfReaped, isDue } from './retention.ts';
import type { ScheduledCopy, UnitOfBackups } from './scheduled-store.ts';

export interface BackupUpkeep {
  /**
   * Backs up whatever is due and deletes what has had its time; one line for each that was gone at, for `recordSweep`.
   * At most a hundred at a time: called every few minutes, it goes on where it was. When three fail in a row it
   * is not them, and nothing is tried for an hour.
   */
  sweep(policy: BackupPolicy, signal: AbortSignal): AsyncGenerator<BackupLine, void, undefined>;
}

export type BackupLine = Extract<SweepUnit, { readonly kind: 'backup' }>;

export interface BackupUpkeepDeps {
  readonly directory: Pick<UnitStub<DirectoryMethods>, 'unitsToBackUp' | 'scheduledBackups'>;
  /** Null: nothing is ever made. */
  readonly backups: BackupStore | null;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly newRequestId: () => string;
  /** Begins long work. */
  readonly begin: (call: AdminCall) => Promise<AdminResult>;
  /** Performs `operations.get`. */
  readonly follow: (call: AdminCall) => Promise<AdminResult>;
  /** Deletes a backup: `scope-backups.delete`, `directory-backups.delete`. */
  readonly remove: (call: AdminCall) => Promise<unknown>;
  /** Receives what nobody expected. */
  readonly incident: (error: unknown) => void;
}

/** How many are gone at in one sweep: their lines are written down when it ends. Nobody waits for the next hundred long. */
const UNITS_MAX = 100;
/** The first wait after a failure; each further one is twice as long, up to the interval itself. */
const RETRY_MS = 60 * 60 * 1000;
const FAILURES_IN_A_ROW_MAX = 3;
const PAUSE_MS = 60 * 60 * 1000;

/** Who the log names. */
const PLATFORM: Actor = { kind: 'system', id: 'backups', name: "The platform's own backups" };

/** What is backed up: a scope, or the directory, which has none. */
type Unit = Pick<UnitOfBackups, 'tenant' | 'scope' | 'vertical'> | null;
type Came = Pick<BackupLine, 'outcome' | 'reason'>;

export function makeBackupUpkeep(deps: BackupUpkeepDeps): BackupUpkeep {
  const { directory, backups, now, incident } = deps;
  const failures = new Map<string, { readonly count: number; readonly againAtMs: number }>();
  let pausedUntilMs = 0;

  /** Whether its last failure is so recent that it is not tried again yet. */
  const rests = (key: string): boolean => (failures.get(key)?.againAtMs ?? 0) > now();

  const note = (key: string, { outcome }: Came, everyMs: number): void => {
    if (outcome !== 'failed') return void failures.delete(key);
    const count = (failures.get(key)?.count ?? 0) + 1;
    const waitMs = Math.min(everyMs, RETRY_MS * 2 ** Math.min(count - 1, 20));
    failures.set(key, { count, againAtMs: now() + waitMs });
  };

  /** Null when the platform stops meanwhile: the next process takes the work up. */
  const attempt = async (work: () => Promise<Came | null>): Promise<Came | null> => {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof PlatformError)) incident(error);
      return { outcome: 'failed', reason: wordOf(error) };
    }
  };

  const backUp = async (unit: Unit, policy: BackupPolicy, signal: AbortSignal): Promise<Came | null> => {
    const begun = await beginBackup(deps, unit);
    if ('outcome' in begun) return begun;
    const ended = await endOf(deps, begun.id, signal);
    if (!ended) return null;
    if (ended.state === 'cancelled') return { outcome: 'failed', reason: 'cancelled' };
    if (ended.state !== 'done') return { outcome: 'failed', reason: reasonOf(ended) };
    const copies = await directory.scheduledBackups({ scope: unit?.scope ?? null });
    const clean = await expire(unit, expiredOf(copies, policy, now()));
    return clean ? { outcome: 'swept', reason: 'backed_up' } : { outcome: 'failed', reason: 'expiry_failed' };
  };

  /** Answers whether all of them are gone. */
  const expire = async (unit: Unit, copies: readonly ScheduledCopy[]): Promise<boolean> => {
    let clean = true;
    for (const { id } of copies) {
      await deps.remove(callOf(deps, unit, 'delete', id)).catch((error: unknown) => {
        // Somebody was quicker.
        if (error instanceof PlatformError && error.code === 'not_found') return;
        if (!(error instanceof PlatformError)) incident(error);
        clean = false;
      });
    }
    return clean;
  };

  /** What is left of what was reaped. Null where nothing has to go. */
  const clearAway = async (unit: UnitOfBackups, policy: BackupPolicy): Promise<Came | null> => {
    const copies = await directory.scheduledBackups({ scope: unit.scope });
    const over = unit.state === 'erased' ? copies : expiredOfReaped(copies, policy, now());
    if (over.length === 0) return null;
    return (await expire(unit, over))
      ? { outcome: 'swept', reason: 'expired' }
      : { outcome: 'failed', reason: 'expiry_failed' };
  };

  /** What there is to do about one, or null. */
  const workOn = async (
    unit: UnitOfBackups,
    policy: BackupPolicy,
    signal: AbortSignal,
  ): Promise<Came | null> => {
    const { state, scope, newestAtMs } = unit;
    if (state === 'still' || rests(scope)) return null;
    if (state !== 'kept') return newestAtMs === null ? null : attempt(() => clearAway(unit, policy));
    if (!isDue(scope, { newestAtMs, everyMs: policy.everyMs, nowMs: now() })) return null;
    return attempt(() => backUp(unit, policy, signal));
  };

  const workOnDirectory = async (policy: BackupPolicy, signal: AbortSignal): Promise<Came | null> => {
    const [newest] = await directory.scheduledBackups({ scope: null });
    const due = { newestAtMs: newest?.atMs ?? null, everyMs: policy.everyMs, nowMs: now() };
    return rests(DIRECTORY) || !isDue(DIRECTORY, due) ? null : attempt(() => backUp(null, policy, signal));
  };

  async function* linesOf(policy: BackupPolicy, signal: AbortSignal): AsyncGenerator<BackupLine, void> {
    const came = await workOnDirectory(policy, signal);
    if (came) yield { kind: 'backup', unit: DIRECTORY, ...came };
    for (let after: string | null = null; ; ) {
      const page: readonly UnitOfBackups[] = await directory.unitsToBackUp({ after });
      for (const unit of page) {
        if (signal.aborted) return;
        const { tenant, scope, vertical } = unit;
        const line = await workOn(unit, policy, signal);
        if (line) yield { kind: 'backup', unit: scope, tenant, scope, vertical, ...line };
      }
      after = page.at(-1)?.scope ?? null;
      if (after === null) return;
    }
  }

  return {
    sweep: async function* sweep(policy, signal) {
      if (backups === null || now() < pausedUntilMs) return;
      let units = 0;
      let inARow = 0;
      for await (const line of linesOf(policy, signal)) {
        note(line.unit, line, policy.everyMs);
        yield line;
        // What is passed over costs nothing, and is not in the way of what is behind it.
        if (line.outcome === 'skipped') continue;
        units += 1;
        inARow = line.outcome === 'failed' ? inARow + 1 : 0;
        if (inARow >= FAILURES_IN_A_ROW_MAX) pausedUntilMs = now() + PAUSE_MS;
        if (units >= UNITS_MAX || inARow >= FAILURES_IN_A_ROW_MAX || signal.aborted) return;
      }
    },
  };
}

/** How the directory is named among the units. No scope's id is like it. */
const DIRECTORY = 'directory';

/** What is in other hands just now, or has gone since, is passed over and looked at again. */
const PASSED_OVER: ReadonlySet<string> = new Set([
  'conflict',
  'not_found',
  'invalid_transition',
  'unsupported',
]);

async function beginBackup(deps: BackupUpkeepDeps, unit: Unit): Promise<{ readonly id: string } | Came> {
  try {
    const { value } = await deps.begin(callOf(deps, unit, 'create'));
    return { id: (value as OperationRecord).id };
  } catch (error) {
    if (!(error instanceof PlatformError && PASSED_OVER.has(error.code))) throw error;
    return { outcome: 'skipped', reason: wordOf(error) };
  }
}

/** Waits for the end of long work, or until the platform stops: then null. */
async function endOf(
  deps: BackupUpkeepDeps,
  id: string,
  signal: AbortSignal,
): Promise<OperationRecord | null> {
  const stopped = Promise.withResolvers<null>();
  const stop = (): void => stopped.resolve(null);
  signal.addEventListener('abort', stop, { once: true });
  try {
    while (!signal.aborted) {
      const looked = deps.follow({
        operation: 'operations.get',
        params: { operation: id },
        query: { wait: '60s' },
        body: {},
        actor: PLATFORM,
        requestId: deps.newRequestId(),
      });
      const record = (await Promise.race([looked, stopped.promise]))?.value as OperationRecord | undefined;
      // Nobody waits for that answer any more, whatever it is.
      if (!record) looked.catch(() => undefined);
      else if (record.finishedAt !== null) return record;
    }
    return null;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function callOf(
  { newRequestId }: BackupUpkeepDeps,
  unit: Unit,
  verb: 'create' | 'delete',
  backup?: string,
): AdminCall {
  const of = unit === null ? {} : { tenant: unit.tenant, scope: unit.scope };
  return {
    operation: `${unit === null ? 'directory' : 'scope'}-backups.${verb}`,
    params: { ...of, ...(backup === undefined ? {} : { backup }) },
    query: {},
    body: unit === null || verb === 'delete' ? {} : { format: 'ndjson' },
    actor: PLATFORM,
    requestId: newRequestId(),
  };
}

function reasonOf({ problem }: OperationRecord): string {
  return problem?.reason ?? problem?.code ?? 'unknown';
}

function wordOf(error: unknown): string {
  return error instanceof PlatformError ? (error.reason ?? error.code) : 'internal';
}
