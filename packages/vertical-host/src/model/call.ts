/** The life of one call: the causes that end it early, and the one usage line that is written when it ends. */
import { PlatformError } from '@freehold/contracts';
import { makeWatchdog, type SetTimer } from '../lib/watchdog.ts';
import type { Meter } from './meter.ts';
import { badAnswer, contentRefused, judgeProviderFailure, tookTooLong } from './provider-failure.ts';
import type { ModelUsageLine } from './usage-line.ts';

type Outcome = ModelUsageLine['outcome'];

export interface CallParts {
  readonly provider: string;
  readonly meter: Meter;
  readonly timeoutMs: number;
  readonly setTimer: SetTimer;
  /** The caller's own signal. */
  readonly signal: AbortSignal | undefined;
  readonly makeLine: (outcome: Outcome) => ModelUsageLine;
  readonly record: (line: ModelUsageLine) => unknown;
}

export interface Call {
  /** Aborts when the call ends early, for any cause. */
  readonly signal: AbortSignal;
  /** Ends the call. */
  readonly fail: (error: unknown) => void;
  /** Waits for the provider, for as long as its time lasts. */
  readonly wait: <T>(work: PromiseLike<T>) => Promise<T>;
  /** Throws when the provider ended without an answer. */
  readonly requireAnswer: () => void;
  /** Records and returns the line of a successful call. @throws the error of `record`. */
  readonly complete: () => Promise<ModelUsageLine>;
  /**
   * Records the line of a failed call that may have spent tokens.
   * @returns the failure; an AggregateError of it and the error of `record`, when both failed.
   */
  readonly abandon: (thrown: unknown) => Promise<unknown>;
  /** Records the line of a cancelled call that may have spent tokens. @throws the error of `record`. */
  readonly cancel: () => Promise<ModelUsageLine | null>;
}

export function makeCall(parts: CallParts): Call {
  const { provider, meter } = parts;
  const own = new AbortController();
  const watchdog = makeWatchdog(parts.timeoutMs, parts.setTimer, () => refusal(tookTooLong(provider)));
  // The provider's time runs only while a caller waits.
  watchdog.rest();
  const signal = AbortSignal.any([own.signal, watchdog.signal, ...(parts.signal ? [parts.signal] : [])]);

  const record = async (outcome: Outcome): Promise<ModelUsageLine> => {
    // Made before any await: later pieces of the provider must not change it.
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
      // A race, because a vertical's own model may ignore signals.
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
      // Some libraries report a missing end as `other` without the provider's own reason.
      const isOpen = unified === 'interrupted' || (unified === 'other' && raw === undefined);
      if (unified === 'error' || isOpen) throw refusal(badAnswer(provider));
    },

    complete: () => record('completed'),

    abandon: async (thrown) => {
      // Work in progress at the provider is not waited for any longer.
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
      own.abort(new Error('the reader has stopped'));
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
