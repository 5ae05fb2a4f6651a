/**
 * A change with an effect outside the directory, from end to end: the intent, the effect, the outcome (design:
 * control-plane, "Audit").
 *
 * The log says only what is known. `done`: the vertical confirmed it. `failed`: it refused or was never asked. Otherwise the
 * intent stays open, the caller learns that, and the same call resumes the work.
 *
 * A call for events is answered once its intent is logged. The rest goes on behind the answer, whether or not a reader
 * listens.
 */
import { PlatformError, publicError, toProblem } from '@freehold/contracts';
import type { UnitStub } from '@freehold/store';
import type { AdminCall, AdminResult, OperationEvent } from '../access/actors.ts';
import type { LogHead, LogTarget } from '../declarations/records.ts';
import type { Effect, EffectDeps, Report } from '../lib/effects.ts';
import type { WiringFacts } from '../lib/handlers.ts';
import { found, type Performer } from '../lib/performers.ts';
import { isRefusal, outcomeUnknown } from '../verticals/outcome.ts';
import type { beginEffect, ChangeInput, ChangeOutcome, EffectEnd, StartedEffect } from './changes.ts';
import { onlyEvent, openEvents, type Sleep } from './effect-events.ts';
import { Turns } from './turns.ts';

/** The methods of the directory that an effect needs. */
export type EffectDirectory = UnitStub<{
  begin(input: ChangeInput): ReturnType<typeof beginEffect>;
  settle(input: EffectEnd & { readonly answer: unknown }): ChangeOutcome;
  fail(input: FailedEffect): LogHead;
  leaveOpen(input: { readonly intent: number }): null;
  endLeases(): null;
}>;

type FailedEffect = EffectEnd & { readonly prepared: unknown; readonly code: PlatformError['code'] };

export interface EffectRunnerDeps {
  readonly directory: EffectDirectory;
  readonly effectDeps: EffectDeps;
  /**
   * True where no other process works on this directory. Then every intent that an earlier process left running has ended,
   * and its key comes free at once instead of after its lease.
   */
  readonly isOnlyProcess: boolean;
  readonly factsOf: (call: AdminCall) => WiringFacts;
  /** Follows every durable change. It does not reject. */
  readonly finalize: (outcome: ChangeOutcome) => Promise<AdminResult>;
  /** Offers a head to the anchor. It does not reject. */
  readonly publish: (head: LogHead) => Promise<void>;
  /** Waits between heartbeats. */
  readonly sleep: Sleep;
  /** Takes note of work that goes on behind an answer. */
  readonly behind: Pick<WorkBehind, 'add'>;
  /** Receives unexpected errors, with the name of the work. */
  readonly incident: (method: string) => (error: unknown) => void;
}

/** Builds the function that performs one call with an effect. */
export function makeEffectRunner(
  deps: EffectRunnerDeps,
): (effect: Effect, call: AdminCall) => Promise<AdminResult> {
  const { directory, effectDeps, isOnlyProcess, factsOf, finalize, publish, incident } = deps;
  let recovery: Promise<unknown> | null = null;
  const turns = new Turns();
  /** In its turn, from the effect to the recorded outcome. */
  const finishInTurn = (running: RunningEffect): Promise<AdminResult> => {
    const turn = running.effect.turn?.(running.call);
    return turn === undefined ? finish(deps, running) : turns.take(turn, () => finish(deps, running));
  };

  /** Runs before the first effect of this process, so that it ends no lease of its own. */
  const recover = async (): Promise<void> => {
    if (!isOnlyProcess) return;
    recovery ??= directory.endLeases().catch((error: unknown) => {
      recovery = null;
      throw error;
    });
    await recovery;
  };

  return async (effect, call) => {
    await effect.check(effectDeps, call);
    await recover();
    const beginning = await directory.begin({ call, facts: factsOf(call) });
    if ('outcome' in beginning) {
      const result = await finalize(beginning.outcome);
      return call.events ? { ...result, status: 200, events: onlyEvent(doneEvent(result)) } : result;
    }
    await publish(beginning.intent);
    if (!call.events) return finishInTurn({ effect, call, ...beginning, report: () => undefined });
    const { stream: events, report, end } = openEvents(deps.sleep);
    const work = finishInTurn({ effect, call, ...beginning, report }).then(
      (result) => end(doneEvent(result)),
      (error: unknown) => {
        if (!(error instanceof PlatformError)) incident('effect')(error);
        end({ event: 'failed', record: toProblem(publicError(error), call.requestId) });
      },
    );
    deps.behind.add(work);
    return { status: 200, value: null, head: beginning.intent, replayed: false, events };
  };
}

interface RunningEffect extends StartedEffect {
  readonly effect: Effect;
  readonly call: AdminCall;
  readonly report: Report;
}

/** From the logged intent to the outcome. */
async function finish(
  deps: EffectRunnerDeps,
  { effect, call, intent: { sequence: intent }, prepared, report }: RunningEffect,
): Promise<AdminResult> {
  const { directory, effectDeps, factsOf, finalize, publish, incident } = deps;
  const facts = factsOf(call);

  const fail = async (error: unknown): Promise<void> => {
    try {
      await publish(await directory.fail({ call, facts, intent, prepared, code: publicError(error).code }));
    } catch (unrecorded) {
      // The intent stays open.
      incident('fail')(unrecorded);
    }
  };
  /** The outcome is unknown. A lease that cannot be ended here runs out, or ends with this process. */
  const leaveOpen = async (error: unknown): Promise<never> => {
    if (!(error instanceof PlatformError)) incident('effect')(error);
    await directory.leaveOpen({ intent }).catch(incident('leaveOpen'));
    throw outcomeUnknown(error);
  };

  const { facts: answer, reply } = await effect
    .run(effectDeps, call, prepared, report)
    .catch(async (error: unknown) => {
      if (!isRefusal(error)) return leaveOpen(error);
      await fail(error);
      throw error;
    });
  const settled = await directory.settle({ call, facts, intent, answer }).catch(leaveOpen);
  const result = await finalize(settled);
  effect.finalize?.({ call, prepared, value: result.value, report });
  return reply === undefined ? result : { ...result, value: reply };
}

function doneEvent({ value, head }: AdminResult): OperationEvent<unknown> {
  return { event: 'done', record: value, ...(head === undefined ? {} : { head }) };
}

export interface PlannerDeps {
  readonly directory: UnitStub<{
    planChange(input: { readonly call: AdminCall }): unknown;
    recordAccess(input: {
      readonly call: AdminCall;
      readonly target: LogTarget;
      readonly items: number;
    }): null;
  }>;
  readonly effectDeps: EffectDeps;
  /** By operation. A change inside the directory has none. */
  readonly effects: Readonly<Record<string, Effect>>;
}

/**
 * Makes the performer of plans: the checks of the effect, the directory's plan, and the effect's addition to it. A plan
 * leaves no trace but the row of the access log for a read of a tenant's data.
 */
export function makePlanner({ directory, effectDeps, effects }: PlannerDeps): Performer {
  return async (call, { name }) => {
    const effect = Object.hasOwn(effects, name) ? effects[name] : undefined;
    await effect?.check(effectDeps, call);
    const known = await directory.planChange({ call });
    const { value, read } = (await effect?.plan?.(effectDeps, call, known)) ?? { value: known };
    if (read) await directory.recordAccess({ call, ...read });
    return found(value);
  };
}

/** Work that goes on behind an answer. The platform waits for it when it stops. */
export interface WorkBehind {
  /** @param work does not reject. */
  add(work: Promise<void>): void;
  /** Resolves when none is left, and at the latest after 30 seconds: the log then has the intents. */
  idle(): Promise<void>;
}

const PATIENCE_MS = 30_000;

export function makeWorkBehind(sleep: Sleep): WorkBehind {
  const running = new Set<Promise<void>>();
  return {
    add: (work) => {
      running.add(work);
      void work.finally(() => running.delete(work));
    },
    idle: async () => {
      if (running.size === 0) return;
      const timer = new AbortController();
      await Promise.race([Promise.all(running), sleep(PATIENCE_MS, timer.signal)]);
      timer.abort();
    },
  };
}
