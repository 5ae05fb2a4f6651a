/**
 * Group commit, the same on every engine: calls that wait on one unit run one after the other in one outer
 * transaction and are acknowledged after its single durable commit. A failing call rolls back its own savepoint
 * and nothing else (design: architecture, "A request, end to end").
 *
 * Invariants:
 * 1. Calls run in the order in which they were made.
 * 2. No caller hears of success before the commit that holds its writes returned.
 * 3. When the commit fails, every call of the group fails, and nothing of the group was kept.
 */
import { makeIdFactory, PlatformError } from '@freehold/contracts';
import {
  failureOf,
  type IncidentSink,
  type Outcome,
  plainValue,
  type UnitOptions,
  unknownUnit,
} from './engine.ts';
import { migrate } from './migrations.ts';
import type { GuardOptions, SqlDatabase } from './sql-database.ts';
import { RollbackThen, type UnitContext, type UnitDefinition, type UnitMethods } from './unit.ts';

/** The most calls that share one commit, so that one busy unit cannot hold the others up for long. */
const GROUP_CALLS_MAX = 256;

/** Says that the outer transaction is gone (a full disk, an I/O error): a savepoint throws it, the group fails. */
export class TransactionLost extends Error {
  override readonly name = 'TransactionLost';
}

/** The parts that an engine brings: a database, a durable transaction, clock and randomness. */
export interface UnitHost {
  readonly key: string;
  readonly db: SqlDatabase;
  guarded(options: GuardOptions): SqlDatabase;
  /**
   * Runs `work` in one transaction and returns when it is durable; throws, with nothing kept, when it is not. A
   * PlatformError that it throws reaches the callers as it is, and the host has reported it.
   */
  transact(work: () => void): void;
  /** Runs a task soon, never at once: other callers must have a chance to join the group. */
  schedule(task: () => void): void;
  now(): number;
  random(bytes: number): Uint8Array;
  readonly onIncident: IncidentSink;
}

/** An open unit. */
export interface RunningUnit {
  call(method: string, input: unknown): Promise<Outcome>;
  /** Whether nothing waits and nothing runs: only then may the database be closed. */
  readonly idle: boolean;
  /** Runs whatever waits, now. Does nothing when it is called from within a call of this unit. */
  drain(): void;
  /** Tells the unit that it is about to be closed. */
  end(): void;
}

interface PendingCall {
  readonly method: string;
  readonly input: unknown;
  readonly settle: (outcome: Outcome) => void;
}

/**
 * Opens a unit on a host: applies its migrations, then takes calls.
 * @throws PlatformError `not_found` for a unit that was never created (unless `create`), and what {@link migrate} throws.
 */
export function openUnit<M extends UnitMethods>(
  definition: UnitDefinition<M>,
  host: UnitHost,
  options: UnitOptions,
): RunningUnit {
  if (!options.create) requireCreated(definition.kind, host);
  const rollbackTasks: (() => void)[] = [];
  const closeTasks: (() => void)[] = [];
  let commitTasks: (() => void)[] = [];

  const context: UnitContext = {
    key: host.key,
    db: host.db,
    guarded: (options) => host.guarded(options),
    now: () => host.now(),
    random: (bytes) => host.random(bytes),
    newId: makeIdFactory(host),
    afterCommit: (task) => commitTasks.push(task),
    onRollback: (task) => rollbackTasks.push(task),
    onClose: (task) => closeTasks.push(task),
    report: (error, method) => report(error, method),
  };
  migrateAll(definition, host);
  const methods = definition.open(context);
  const queries = new Set<string>(definition.queries);

  let waiting: PendingCall[] = [];
  let scheduled = false;
  /** True while a group runs: a call that is made from inside one must not see what is not committed. */
  let running = false;

  const call = (method: string, input: unknown): Promise<Outcome> => {
    // Between two groups nothing is uncommitted, so a read with no call before it needs no transaction.
    if (waiting.length === 0 && !running && queries.has(method))
      return Promise.resolve(attempt(method, () => run(method, input)));
    return new Promise((settle) => {
      waiting.push({ method, input, settle });
      if (!scheduled) {
        scheduled = true;
        host.schedule(flush);
      }
    });
  };

  const flush = (): void => {
    scheduled = false;
    if (waiting.length === 0) return;
    const group = waiting.length > GROUP_CALLS_MAX ? waiting.splice(0, GROUP_CALLS_MAX) : waiting;
    if (group === waiting) waiting = [];
    else {
      scheduled = true;
      host.schedule(flush);
    }
    running = true;
    const outcomes = runGroup(group);
    running = false;
    for (let i = 0; i < group.length; i++) (group[i] as PendingCall).settle(outcomes[i] as Outcome);
  };

  const runGroup = (group: readonly PendingCall[]): readonly Outcome[] => {
    const outcomes: Outcome[] = [];
    commitTasks = [];
    try {
      host.transact(() => {
        for (const each of group) outcomes.push(runOne(each));
      });
    } catch (error) {
      dropCaches();
      if (!(error instanceof PlatformError)) report(error, group.map((each) => each.method).join(','));
      return group.map(() => ({ ok: false, failure: failureOf(notKept(error)) }));
    }
    for (const task of commitTasks) runTask('afterCommit', task);
    return outcomes;
  };

  const runOne = ({ method, input }: PendingCall): Outcome => {
    if (queries.has(method)) return attempt(method, () => run(method, input));
    const tasksBefore = commitTasks.length;
    try {
      return { ok: true, value: host.db.savepoint(() => run(method, input)) };
    } catch (thrown) {
      const error = safeThrown(thrown);
      if (error instanceof TransactionLost) throw error;
      dropCaches();
      commitTasks.length = tasksBefore;
      return error instanceof RollbackThen ? writeInstead(method, error) : failed(method, error);
    }
  };

  /** When even that write fails, the caller hears of this, and the rest of the group goes on. */
  const writeInstead = (method: string, { error, write }: RollbackThen): Outcome => {
    const tasksBefore = commitTasks.length;
    try {
      host.db.savepoint(write);
      return failed(method, error);
    } catch (thrown) {
      if (thrown instanceof TransactionLost) throw thrown;
      dropCaches();
      commitTasks.length = tasksBefore;
      return failed(method, thrown);
    }
  };

  const run = (method: string, input: unknown): unknown => {
    const implementation = Object.hasOwn(methods, method) ? methods[method] : undefined;
    if (!implementation)
      throw new PlatformError('unsupported', `A ${definition.kind} has no method of this name.`, {
        reason: 'unknown_method',
      });
    const value = implementation(input);
    if (isThenable(value)) {
      // A transaction cannot wait for the outside world: what a promise did after its first step would be lost.
      Promise.resolve(value).catch(() => undefined);
      throw new TypeError(
        `${definition.kind}.${method} returned a promise; a unit's methods are synchronous`,
      );
    }
    return plainValue(value);
  };

  const attempt = (method: string, work: () => unknown): Outcome => {
    try {
      return { ok: true, value: work() };
    } catch (error) {
      return failed(method, error);
    }
  };

  const failed = (method: string, thrown: unknown): Outcome => {
    const error = safeThrown(thrown);
    if (!(error instanceof PlatformError)) report(error, method);
    return { ok: false, failure: failureOf(error) };
  };

  const dropCaches = (): void => {
    for (const task of rollbackTasks) runTask('onRollback', task);
  };

  /** The group's outcome is settled by now: a task that fails is an incident and changes nothing else. */
  const runTask = (name: string, task: () => unknown): void => {
    try {
      const value = task();
      if (isThenable(value)) Promise.resolve(value).catch((error: unknown) => report(error, name));
    } catch (error) {
      report(error, name);
    }
  };

  const report = (error: unknown, method: string): void => {
    try {
      host.onIncident(error, { kind: definition.kind, key: host.key, method });
    } catch {
      // A sink must not throw. One that does must not leave the callers of a group without an answer.
    }
  };

  return {
    call,
    get idle() {
      return waiting.length === 0 && !running;
    },
    drain: () => {
      while (waiting.length > 0 && !running) flush();
    },
    end: () => {
      for (const task of closeTasks.splice(0)) runTask('onClose', task);
    },
  };
}

/** A unit exists from the commit of its first migration on; an empty file that a crash left behind is none. */
function requireCreated(kind: string, host: UnitHost): void {
  const journal = host.db.get(
    "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '_spine_migrations'",
  );
  if (!journal) throw unknownUnit(kind);
}

/** All that is missing, or nothing: the code before can open the unit again after a failure. */
function migrateAll<M extends UnitMethods>(definition: UnitDefinition<M>, host: UnitHost): void {
  let failure: unknown;
  const work = (): void => {
    try {
      for (const set of definition.migrations) {
        const through = set.guarded
          ? { through: host.guarded({ protectedPrefix: '_spine_', readOnly: false }) }
          : {};
        migrate(host.db, set, { nowMs: host.now(), ...through });
      }
    } catch (error) {
      // A full disk is no fault of the migration.
      if (error instanceof PlatformError && error.cause instanceof TransactionLost) throw error.cause;
      if (!(error instanceof TransactionLost)) failure = error;
      throw error;
    }
  };
  try {
    host.transact(work);
  } catch (error) {
    throw failure ?? notKept(error);
  }
}

function notKept(cause: unknown): PlatformError {
  if (cause instanceof PlatformError) return cause;
  return new PlatformError(
    'unavailable',
    'This could not be stored, and nothing of it was kept. Try again.',
    {
      reason: 'commit_failed',
      headers: { 'retry-after': '1' },
      cause,
    },
  );
}

/** The thrown value, or an error in its place where reading it fails: that must cost only its own call. */
function safeThrown(thrown: unknown): unknown {
  try {
    if (thrown instanceof PlatformError) failureOf(thrown);
    return thrown;
  } catch {
    return new TypeError('something was thrown that cannot be looked at');
  }
}

/** Whether a value is a promise or behaves like one. */
export function isThenable(value: unknown): boolean {
  return (
    typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
  );
}
