/**
 * A change whose effect lies in a vertical, from end to end: the intent, the effect, and what became of it
 * (design: control-plane, "Audit").
 *
 * What is written down after the effect is what is known: `done` when the vertical has said so, `failed` when it
 * refused or was never asked, and nothing when neither is certain. Then the intent stays open, the caller is told so,
 * and the same call takes the work up again.
 *
 * A call that asks for events is answered once its intent is there. The rest happens behind the answer, to the end,
 * whoever listens.
 */
import { PlatformError, publicError, toProblem } from '@freehold/contracts';
import type { UnitStub } from '@freehold/store';
import type { AdminCall, AdminResult, OperationEvent } from '../actors.ts';
import type { LogHead } from '../declarations/records.ts';
import type { Sleep } from '../long-work/follow.ts';
import type { DirectoryMethods } from '../unit.ts';
import { isRefusal, outcomeUnknown } from '../verticals/outcome.ts';
import type { ChangeOutcome, StartedEffect } from './changes.ts';
import type { Effect, EffectDeps, Report } from './effects.ts';
import type { WorkBehind } from './effects-behind.ts';
import { onlyEvent, openEvents } from './effects-events.ts';
import type { WiringFacts } from './handlers.ts';

export interface EffectRunnerDeps {
  readonly directory: UnitStub<DirectoryMethods>;
  readonly effectDeps: EffectDeps;
  /**
   * True where this process is the only one that works on this directory: intents that a process before it left
   * running are then known not to be, and the keys they hold come free at once instead of after their lease.
   */
  readonly isOnlyProcess: boolean;
  readonly factsOf: (call: AdminCall) => WiringFacts;
  /** What follows every durable change. It does not reject. */
  readonly finalize: (outcome: ChangeOutcome) => Promise<AdminResult>;
  /** Offers a head to the anchor. It does not reject. */
  readonly publish: (head: LogHead) => Promise<void>;
  /** Waits between heartbeats. */
  readonly sleep: Sleep;
  /** Takes note of what goes on behind an answer. */
  readonly behind: Pick<WorkBehind, 'add'>;
  /** Receives errors that nobody expected, with what was being done. */
  readonly incident: (method: string) => (error: unknown) => void;
}

/** Builds the function that performs one call with an effect. */
export function makeEffectRunner({
  directory,
  effectDeps,
  isOnlyProcess,
  factsOf,
  finalize,
  publish,
  sleep,
  behind,
  incident,
}: EffectRunnerDeps): (effect: Effect, call: AdminCall) => Promise<AdminResult> {
  let recovery: Promise<unknown> | null = null;

  /** Runs before the first effect of this process, so that it ends no lease of its own. */
  const recover = async (): Promise<void> => {
    if (!isOnlyProcess) return;
    recovery ??= directory.endLeases().catch((error: unknown) => {
      recovery = null;
      throw error;
    });
    await recovery;
  };

  /** The effect did not happen. When even that cannot be written down, the intent stays open. */
  const fail = async (end: Parameters<typeof directory.fail>[0]): Promise<void> => {
    try {
      await publish(await directory.fail(end));
    } catch (unrecorded) {
      incident('fail')(unrecorded);
    }
  };

  /** Nobody knows. When the lease cannot be ended, it runs out, or ends with this process. */
  const leaveOpen = async (intent: number, error: unknown): Promise<never> => {
    if (!(error instanceof PlatformError)) incident('effect')(error);
    await directory.leaveOpen({ intent }).catch(incident('leaveOpen'));
    throw outcomeUnknown(error);
  };

  /** From the intent, which is written down, to the outcome. */
  const finish = async (
    effect: Effect,
    call: AdminCall,
    { intent: { sequence: intent }, prepared }: StartedEffect,
    report: Report,
  ): Promise<AdminResult> => {
    const facts = factsOf(call);
    const { facts: answer, reply } = await effect
      .run(effectDeps, call, prepared, report)
      .catch(async (error: unknown) => {
        if (!isRefusal(error)) return leaveOpen(intent, error);
        await fail({ call, facts, intent, prepared, code: publicError(error).code });
        throw error;
      });
    const settled = await directory
      .settle({ call, facts, intent, answer })
      .catch((error: unknown) => leaveOpen(intent, error));
    const result = await finalize(settled);
    effect.finalize?.({ call, prepared, value: result.value, report });
    return reply === undefined ? result : { ...result, value: reply };
  };

  /** The same, told to whoever listens. */
  const follow = (effect: Effect, call: AdminCall, started: StartedEffect): AdminResult => {
    const { stream: events, report, end } = openEvents(sleep);
    const work = finish(effect, call, started, report).then(
      (result) => end(doneEvent(result)),
      (error: unknown) => {
        if (!(error instanceof PlatformError)) incident('effect')(error);
        end({ event: 'failed', record: toProblem(publicError(error), call.requestId) });
      },
    );
    behind.add(work);
    return { status: 200, value: null, head: started.intent, replayed: false, events };
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
    if (call.events) return follow(effect, call, beginning);
    return finish(effect, call, beginning, () => undefined);
  };
}

function doneEvent({ value, head }: AdminResult): OperationEvent<unknown> {
  return { event: 'done', record: value, ...(head === undefined ? {} : { head }) };
}
