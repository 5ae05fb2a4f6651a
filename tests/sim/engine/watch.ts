/**
 * Watches any engine from both sides: the stubs through which it is called, and the units that it calls. Checks its
 * promises: order, commits and answers. The observer of a unit hears of each method inside the transaction, in order.
 */
import { canonicalJson, fromFailure, PlatformError } from '@freehold/contracts';
import {
  type Admission,
  type Admit,
  admissionOf,
  type Engine,
  type EngineTools,
  failureOf,
  makeStub,
  type Outcome,
  RollbackThen,
  type SqlDatabase,
  TransactionLost,
  type UnitContext,
  type UnitDefinition,
  type UnitMethods,
  type UnitTools,
} from '@freehold/store';
import type { Life } from '../lib/scheduler.ts';
import type { Judge } from '../lib/violation.ts';
import type { Fault, Point } from './fuse.ts';

export interface UnitName {
  readonly kind: string;
  readonly key: string;
}

/** The observed state of one call. */
export interface WatchedCall {
  readonly unit: UnitName;
  /** The calls are numbered in the order in which they are made. */
  readonly number: number;
  readonly method: string;
  readonly input: unknown;
  /** The outcome of the method inside the unit. Null: it has not run. */
  outcome: Outcome | null;
  /** Whether it has written: its own rows, or a denial. */
  hasWritten: boolean;
  isCommitted: boolean;
}

/** The failures of a commit: a full disk has a reason of its own. */
const NOT_STORED: ReadonlySet<string | undefined> = new Set([
  'commit_failed',
  'storage_full',
  'storage_read_only',
  'too_many_open_files',
]);

/** The input as it passes through the engine, which does not look into it: with the number of the call. */
interface Envelope {
  readonly number: number;
  readonly input: unknown;
}

/** Observes one unit. It outlives the process in which the unit is open. */
export interface UnitObserver {
  /** The unit was opened; its state may have changed. */
  opened(db: SqlDatabase): void;
  /** A method begins. Memory that its input fills stays filled, even if the transaction is lost. */
  begun(call: WatchedCall): void;
  /** A method ran, inside its transaction. The writes of a failed method are not undone yet. */
  executed(call: WatchedCall, outcome: Outcome, db: SqlDatabase): void;
  /** The writes of a failed call were undone. */
  undone(db: SqlDatabase): void;
  /** Everything since the last commit is durable. */
  committed(): void;
  /** Everything since the last commit is lost. */
  lost(): void;
  /** A tool was called. `settle` hears how it ended, unless the process died. */
  asked<K extends keyof UnitTools>(
    tool: K,
    args: Parameters<UnitTools[K]>,
  ): (answer: { readonly value: unknown } | { readonly error: PlatformError }) => void;
}

export interface WatchParts {
  readonly engine: Engine & Partial<EngineTools>;
  readonly life: Life;
  readonly judge: Judge;
  readonly observerOf: (unit: UnitName) => UnitObserver;
  /** Passes a point at which a fault may strike; returns the fault. Death has happened when it returns. */
  readonly pass: (point: Point, unit: UnitName) => Fault | null;
  readonly trace: (line: string) => void;
  /** Wraps a unit with a defect, to show that the simulator finds it. */
  readonly tamper?: <M extends UnitMethods>(definition: UnitDefinition<M>) => UnitDefinition<M>;
}

export interface WatchedEngine extends Engine, EngineTools {
  /** The number of calls and tools without an answer. */
  readonly outstanding: number;
}

export function watchEngine(parts: WatchParts): WatchedEngine {
  const { engine, life, judge, observerOf, pass, trace, tamper = (definition) => definition } = parts;
  const definitions = new Map<UnitDefinition, UnitDefinition>();
  const calls = new Map<number, WatchedCall>();
  /** The number of the last call that ran, by unit. */
  const lastRun = new Map<string, number>();
  let made = 0;
  let outstanding = 0;

  /** Finds the call that a method runs for. */
  const begin = (unit: UnitName, method: string, { number }: Envelope, mayBePutOff: boolean): WatchedCall => {
    const call = calls.get(number);
    const name = nameOf(unit);
    if (!call || call.method !== method || nameOf(call.unit) !== name)
      throw judge.fail('calls_in_order', `${name}.${method} ran, and no caller waits for it`);
    if (call.outcome !== null) judge.fail('calls_in_order', `${name}.${method} ran twice for one call`);
    if (mayBePutOff) return call;
    if (number <= (lastRun.get(name) ?? 0))
      judge.fail('calls_in_order', `${name}.${method} ran after a call that was made after it`);
    lastRun.set(name, number);
    return call;
  };

  /** Compares an answer with the recorded outcome. */
  const answered = (call: WatchedCall, outcome: Outcome): void => {
    calls.delete(call.number);
    const where = `${nameOf(call.unit)}.${call.method} ${textOf(call.input)}`;
    if (call.outcome === null) {
      if (outcome.ok) judge.fail('calls_in_order', `${where} was answered and never ran`);
      return;
    }
    if (!outcome.ok && NOT_STORED.has(outcome.failure.reason)) {
      if (call.isCommitted)
        judge.fail('all_or_nothing', `${where} was committed; its caller was told it was not`);
      return;
    }
    if (call.hasWritten && !call.isCommitted)
      judge.fail(
        call.outcome.ok ? 'acknowledged_is_durable' : 'denials',
        `${where} was answered before what it wrote was committed`,
      );
    if (summary(outcome) !== summary(call.outcome))
      judge.fail(
        'outcome',
        `${where} was answered ${summary(outcome)}; it had come to ${summary(call.outcome)}`,
      );
  };

  const watchMethods = <M extends UnitMethods>(
    definition: UnitDefinition<M>,
    unit: UnitName,
    context: UnitContext,
    methods: M,
  ): M => {
    const observer = observerOf(unit);
    const queries = new Set<string>(definition.queries);
    const { db } = context;
    const name = nameOf(unit);
    let group: WatchedCall[] = [];
    /** Expected roll-backs, one for each failed call. An unexpected one is that of the whole group. */
    let failures = 0;
    let isFull = false;

    const endGroup = (): WatchedCall[] => {
      const ended = group;
      group = [];
      failures = 0;
      if (isFull && !life.isDead) db.exec('PRAGMA max_page_count = 1073741823');
      isFull = false;
      return ended;
    };
    const onCommit = (): void => {
      if (life.isDead || group.length === 0) return;
      const ended = endGroup();
      if (pass('committed', unit) === 'power') return;
      for (const call of ended) call.isCommitted = true;
      observer.committed();
      trace(`  committed ${nameOf(unit)}: ${ended.map(({ method }) => method).join(' ')}`);
      dieIfDead();
    };
    context.onRollback(() => {
      if (life.isDead) return;
      if (failures > 0) {
        failures -= 1;
        observer.undone(db);
        return;
      }
      trace(
        `  lost ${nameOf(unit)}: ${endGroup()
          .map(({ method }) => method)
          .join(' ')}`,
      );
      observer.lost();
    });

    const record = (call: WatchedCall, outcome: Outcome): void => {
      call.outcome = outcome;
      try {
        observer.executed(call, outcome, db);
      } catch (error) {
        judge.requireSound();
        // A mistake of the model must not look like one of the platform.
        judge.fail('followed', `the model itself failed at ${name}: ${(error as Error).stack}`);
      }
    };
    const dieIfDead = (): void => {
      if (life.isDead) throw new TransactionLost('the process died');
    };

    const run = (name: string, method: (input: unknown) => unknown, envelope: Envelope): unknown => {
      dieIfDead();
      const call = begin(unit, name, envelope, definition.background?.includes(name) ?? false);
      const { input } = envelope;
      if (queries.has(name)) {
        const outcome = outcomeOf(() => method(input));
        record(call, outcome);
        return resultOf(outcome);
      }
      group.push(call);
      if (pass('method', unit) === 'full') {
        isFull = true;
        db.exec(
          `PRAGMA max_page_count = ${db.get<{ n: number }>('SELECT page_count AS n FROM pragma_page_count')?.n}`,
        );
      }
      dieIfDead();
      observer.begun(call);
      try {
        const value = method(input);
        call.hasWritten = true;
        record(call, { ok: true, value });
        context.afterCommit(onCommit);
        if (pass('written', unit) === 'broken') throw new TransactionLost('the disk failed');
        dieIfDead();
        return value;
      } catch (error) {
        if (error instanceof TransactionLost || life.isDead) throw error;
        failures += 1;
        if (!(error instanceof RollbackThen)) {
          if (call.outcome === null) record(call, { ok: false, failure: failureOf(error) });
          throw error;
        }
        throw new RollbackThen(error.error, () => {
          error.write();
          call.hasWritten = true;
          record(call, { ok: false, failure: failureOf(error.error) });
          context.afterCommit(onCommit);
          pass('written', unit);
          dieIfDead();
        });
      }
    };

    return Object.fromEntries(
      Object.entries(methods).map(([name, method]) => [
        name,
        (envelope: Envelope) => run(name, method, envelope),
      ]),
    ) as unknown as M;
  };

  const watched = <M extends UnitMethods>(original: UnitDefinition<M>): UnitDefinition<M> => {
    const known = definitions.get(original as unknown as UnitDefinition);
    if (known) return known as unknown as UnitDefinition<M>;
    const definition = tamper(original);
    const made: UnitDefinition<M> = {
      ...definition,
      open: (context) => {
        const unit = { kind: definition.kind, key: context.key };
        const methods = definition.open(context);
        if (life.isDead) return methods;
        observerOf(unit).opened(context.db);
        return watchMethods(definition, unit, context, methods);
      },
    };
    definitions.set(original as unknown as UnitDefinition, made as unknown as UnitDefinition);
    return made;
  };

  /** Waits for an answer; a call to a process that dies never gets one. */
  const answerOf = async <T>(ask: () => Promise<T>): Promise<{ value: T } | { error: unknown }> => {
    outstanding += 1;
    const answer = await ask().then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
    if (life.isDead) return new Promise(() => undefined);
    outstanding -= 1;
    return answer;
  };

  return {
    capabilities: engine.capabilities,
    close: () => engine.close(),
    get outstanding() {
      return outstanding;
    },
    unit: (definition, key, options = {}) => {
      const unit = { kind: definition.kind, key };
      const inner = engine.unit(watched(definition), key, options);
      const methods = inner as unknown as Record<string, (envelope: Envelope) => Promise<unknown>>;
      return makeStub(async (method, input) => {
        made += 1;
        const call: WatchedCall = {
          unit,
          number: made,
          method,
          input,
          outcome: null,
          hasWritten: false,
          isCommitted: false,
        };
        calls.set(call.number, call);
        const answer = await answerOf(
          () => methods[method]?.({ number: call.number, input }) ?? Promise.reject(),
        );
        const outcome: Outcome =
          'error' in answer
            ? { ok: false, failure: failureOf(answer.error) }
            : { ok: true, value: answer.value };
        answered(call, outcome);
        return outcome;
      });
    },
    tools: (definition, key) => {
      const unit = { kind: definition.kind, key };
      if (!engine.tools)
        throw new PlatformError('unsupported', 'This engine has no tools.', { reason: 'engine_cannot' });
      const inner = engine.tools(watched(definition), key);
      const observer = observerOf(unit);
      const staged = (admit: Admit | Admission | undefined): Admission => {
        const admission = admissionOf(admit);
        return {
          ...admission,
          admit: (db) => {
            pass('staged', unit);
            if (life.isDead) throw new TransactionLost('the process died');
            admission.admit(db);
            pass('staged', unit);
            if (life.isDead) throw new TransactionLost('the process died');
          },
        };
      };
      return new Proxy(inner, {
        get: (target, name: keyof UnitTools) => {
          if (typeof target[name] !== 'function') return undefined;
          return async (...args: never[]) => {
            const given: unknown[] = [...args];
            if (name === 'restore') given[2] = staged(args[2]);
            if (name === 'rewind') given[1] = staged(args[1]);
            const settle = observer.asked(name, args as never);
            const answer = await answerOf(() =>
              (target[name] as (...values: unknown[]) => Promise<unknown>)(...given),
            );
            if ('error' in answer) {
              const error = fromFailure(failureOf(answer.error));
              settle({ error });
              throw error;
            }
            settle(answer);
            return answer.value;
          };
        },
      });
    },
  };
}

export function nameOf({ kind, key }: UnitName): string {
  return `${kind}/${key.slice(-4)}`;
}

/** A value in a few words. */
export function textOf(value: unknown, length = 400): string {
  return canonicalJson(value ?? null).slice(0, length);
}

/** An outcome in one line, equal for equal outcomes. */
export function summary(outcome: Outcome): string {
  return outcome.ok
    ? `ok ${canonicalJson(outcome.value ?? null)}`
    : `${outcome.failure.code}/${outcome.failure.reason ?? ''}`;
}

function outcomeOf(work: () => unknown): Outcome & { readonly thrown?: unknown } {
  try {
    return { ok: true, value: work() };
  } catch (thrown) {
    return { ok: false, failure: failureOf(thrown), thrown };
  }
}

function resultOf(outcome: Outcome & { readonly thrown?: unknown }): unknown {
  if (outcome.ok) return outcome.value;
  throw outcome.thrown;
}
