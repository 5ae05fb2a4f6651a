/** The life of one call: what may end it before its time, and the one line that is written when it ends. */
import { PlatformError } from '@freehold/contracts';
import { makeWatchdog, type SetTimer } from '../client/watchdog.ts';
import type { Meter } from './meter.ts';
import { badAnswer, contentRefused, judgeProviderFailure, tookTooLong } from './provider-failure.ts';
import type { ModelUsageLine } from './usage-line.ts';

type Outcome = ModelUsageLine['outcome'];

export interface CallParts {
  readonly provider: string;
  readonly meter: Meter;
  readonly timeoutMs: number;
  readonly setTimer: SetTimer;
  /** The caller's own. */
  readonly signal: AbortSignal | undefined;
  readonly makeLine: (outcome: Outcome) => ModelUsageLine;
  readonly record: (line: ModelUsageLine) => unknown;
}

export interface Call {
  /** Aborts when the call is over early, whoever ended it. */
  readonly signal: AbortSignal;
  /** Ends the call. */
  readonly fail: (error: unknown) => void;
  /** Waits for the provider, and no longer than it may take. */
  readonly wait: <T>(work: PromiseLike<T>) => Promise<T>;
  /** Throws when the provider ended in a way that is no answer. */
  readonly requireAnswer: () => void;
  /** Records the line of a call that went well, and answers it. @throws what `record` throws. */
  readonly complete: () => Promise<ModelUsageLine>;
  /**
   * Records the line of a call that failed, if it may have spent anything, and answers what it failed with.
   * @returns the failure; an AggregateError of it and what `record` threw, when both went wrong.
   */
  readonly abandon: (thrown: unknown) => Promise<unknown>;
  /** Records the line of a call that nobody reads on, if it may have spent anything. @throws what `record` throws. */
  readonly cancel: () => Promise<ModelUsageLine | null>;
}

export function makeCall(parts: CallParts): Call {
  const { provider, meter } = parts;
  const own = new AbortController();
  const watchdog = makeWatchdog(parts.timeoutMs, parts.setTimer, () => refusal(tookTooLong(provider)));
  // The provider is not waited for until somebody waits.
  watchdog.rest();
  const signal = AbortSignal.any([own.signal, watchdog.signal, ...(parts.signal ? [parts.signal] : [])]);

  const record = async (outcome: Outcome): Promise<ModelUsageLine> => {
    // Made before anything is waited for: what a provider still sends afterwards does not change it.
    const line = parts.makeLine(outcome);
    await parts.record(line);
    return line;
  };

  const call: Call = {
    signal,
    fail: (error) => own.abort(error),

    wait: async (work) => {
      const over = Promise.withResolvers<never>();
      const stop = (): void => over.reject(signal.reason);
      // Raced against, because a model that somebody else wrote may not listen to signals.
      signal.addEventListener('abort', stop, { once: true });
      if (signal.aborted) stop();
      watchdog.watch();
      try {
        return await Promise.race([work, over.promise]);
      } catch (thrown) {
        throw signal.aborted ? signal.reason : judgeProviderFailure(thrown, provider);
      } finally {
        watchdog.rest();
        signal.removeEventListener('abort', stop);
      }
    },

    requireAnswer: () => {
      const { unified, raw } = meter.ending() ?? { unified: 'interrupted' };
      if (unified === 'content-filter') throw refusal(contentRefused(provider));
      // `other` without a word of the provider's own is how some libraries say that there was no end.
      const isOpen = unified === 'interrupted' || (unified === 'other' && raw === undefined);
      if (unified === 'error' || isOpen) throw refusal(badAnswer(provider));
    },

    complete: () => record('completed'),

    abandon: async (thrown) => {
      // Whatever is still going on at the provider is not waited for any longer.
      own.abort(thrown);
      if (meter.answers().length === 0) return thrown;
      try {
        await record(parts.signal?.aborted ? 'cancelled' : 'failed');
        return thrown;
      } catch (unrecorded) {
        return new AggregateError(
          [thrown, unrecorded],
          'A model call failed, and what it took could not be recorded.',
        );
      }
    },

    cancel: async () => {
      own.abort(new Error('nobody reads on'));
      return meter.answers().length === 0 ? null : record('cancelled');
    },
  };
  return call;
}

function refusal({
  code,
  reason,
  detail,
}: ReturnType<typeof badAnswer | typeof contentRefused | typeof tookTooLong>) {
  return new PlatformError(code, detail, { reason });
}
