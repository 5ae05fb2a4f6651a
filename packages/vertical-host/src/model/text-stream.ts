/** The text of an answer, as a stream. */
import type { Call } from './call.ts';
import type { ModelAnswer } from './model-host.ts';
import type { ModelUsageLine } from './usage-line.ts';

export interface ModelTextStream {
  /** The text in pieces, of all steps. Errors as `run` rejects; cancelling it stops the provider. */
  readonly text: ReadableStream<string>;
  /**
   * Settles when the call is over: with the reason (`cancelled` when the reader cancelled) and its line, null when it
   * was cancelled before it spent anything. Rejects when `text` errors. It may be left unhandled.
   */
  readonly end: Promise<{
    readonly finish: ModelAnswer['finish'] | 'cancelled';
    readonly usage: ModelUsageLine | null;
  }>;
}

interface Part {
  readonly type: string;
  readonly text?: unknown;
  readonly error?: unknown;
}

/** Waits for the first text, so that a refusal rejects the call and not the stream. */
export async function streamOf({
  call,
  parts,
  finish,
}: {
  readonly call: Call;
  readonly parts: () => AsyncIterable<Part>;
  readonly finish: () => ModelAnswer['finish'];
}): Promise<ModelTextStream> {
  const end = Promise.withResolvers<Awaited<ModelTextStream['end']>>();
  end.promise.catch(() => undefined);
  const iterator = parts()[Symbol.asyncIterator]();
  let isCancelled = false;

  /** The next text; undefined when the line of the whole is recorded. */
  const next = async (): Promise<string | undefined> => {
    try {
      const text = await call.wait(nextText(iterator));
      if (text !== undefined) return text;
      call.requireAnswer();
    } catch (thrown) {
      // A cancellation also ends a pending read. Its line is already being recorded.
      if (isCancelled) throw thrown;
      const failure = await call.abandon(thrown);
      end.reject(failure);
      throw failure;
    }
    try {
      end.resolve({ finish: finish(), usage: await call.complete() });
      return undefined;
    } catch (unrecorded) {
      end.reject(unrecorded);
      throw unrecorded;
    }
  };

  let ahead = { text: await next() };
  let isAhead = true;
  const text = new ReadableStream<string>(
    {
      async pull(controller) {
        if (!isAhead) ahead = { text: await next() };
        isAhead = false;
        if (ahead.text === undefined) controller.close();
        else controller.enqueue(ahead.text);
      },
      async cancel() {
        // The whole answer has come and its line is recorded.
        if (isAhead && ahead.text === undefined) return;
        isCancelled = true;
        try {
          end.resolve({ finish: 'cancelled', usage: await call.cancel() });
        } catch (unrecorded) {
          end.reject(unrecorded);
          throw unrecorded;
        }
      },
    },
    // Reads only when the reader asks.
    { highWaterMark: 0 },
  );
  return { text, end: end.promise };
}

async function nextText(iterator: AsyncIterator<Part>): Promise<string | undefined> {
  for (;;) {
    const { done, value } = await iterator.next();
    if (done) return undefined;
    if (value.type === 'error') throw value.error;
    if (value.type === 'abort') throw new Error('the call was ended');
    if (value.type === 'text-delta' && typeof value.text === 'string' && value.text !== '') return value.text;
  }
}
