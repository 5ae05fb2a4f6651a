/**
 * A change whose effect lies in a vertical, from end to end: the intent, the effect, and what became of it
 * (design: control-plane, "Audit").
 *
 * What is written down after the effect is what is known: `done` when the vertical has said so, `failed` when it
 * refused or was never asked, and nothing when neither is certain. Then the intent stays open, the caller is told so,
 * and the same call takes the work up again.
 */
import { PlatformError, publicError } from '@freehold/contracts';
import type { UnitStub } from '@freehold/store';
import type { AdminCall, AdminResult } from '../actors.ts';
import type { LogHead } from '../declarations/records.ts';
import type { DirectoryMethods } from '../unit.ts';
import { isRefusal, outcomeUnknown } from '../verticals/outcome.ts';
import type { ChangeOutcome } from './changes.ts';
import type { Effect, EffectDeps } from './effects.ts';
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
  readonly conclude: (outcome: ChangeOutcome) => Promise<AdminResult>;
  /** Offers a head to the anchor. It does not reject. */
  readonly publish: (head: LogHead) => Promise<void>;
  /** Receives errors that nobody expected, with what was being done. */
  readonly incident: (method: string) => (error: unknown) => void;
}

/** Builds the function that performs one call with an effect. */
export function makeEffectRunner({
  directory,
  effectDeps,
  isOnlyProcess,
  factsOf,
  conclude,
  publish,
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

  return async (effect, call) => {
    await effect.check(effectDeps, call);
    await recover();
    const facts = factsOf(call);
    const beginning = await directory.begin({ call, facts });
    if ('outcome' in beginning) return conclude(beginning.outcome);
    const { prepared } = beginning;
    const intent = beginning.intent.sequence;
    await publish(beginning.intent);
    const { facts: answer, reply } = await effect
      .run(effectDeps, call, prepared)
      .catch(async (error: unknown) => {
        if (!isRefusal(error)) return leaveOpen(intent, error);
        await fail({ call, facts, intent, prepared, code: publicError(error).code });
        throw error;
      });
    const settled = await directory
      .settle({ call, facts, intent, answer })
      .catch((error: unknown) => leaveOpen(intent, error));
    const result = await conclude(settled);
    return reply === undefined ? result : { ...result, value: reply };
  };
}
