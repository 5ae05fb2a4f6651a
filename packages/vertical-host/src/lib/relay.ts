/** Bytes on their way from one side to the other: watched piece by piece, and ended for both sides at once. */

export interface RelayOptions {
  /** Is told each time that the reader waits for a piece. */
  readonly onAsk?: () => void;
  /** Is told the size of each piece before it goes on. What it throws ends the relay. */
  readonly onPiece?: (bytes: number) => void;
  /** Is told that the source has ended. What it throws takes the place of the end. */
  readonly onEnd?: () => void;
  /** Answers what the reader is told instead of a failure of the source. Default: the failure itself. */
  readonly onFailure?: (cause: unknown) => unknown;
}

export interface Relay {
  /** Asks the source for a piece only when it is asked for one, so that nothing piles up in between. */
  readonly body: ReadableStream<Uint8Array>;
  /**
   * Waits for the first piece, which `body` then begins with.
   * @throws whatever the source fails with, unchanged: nobody was answered yet.
   */
  begin(): Promise<void>;
  /** Ends it before its time: the reader fails with the reason, the source is told to stop. Never throws. */
  end(reason: unknown): void;
}

type Piece = Awaited<ReturnType<ReadableStreamDefaultReader<Uint8Array>['read']>>;

/** Takes the source over; nobody else may read it. */
export function relay(source: ReadableStream<Uint8Array>, options: RelayOptions = {}): Relay {
  const { onAsk, onPiece, onEnd, onFailure = (cause) => cause } = options;
  const reader = source.getReader();
  let first: Piece | undefined;
  let isOver = false;
  let reject: (reason: unknown) => void = () => undefined;

  const next = async (): Promise<Piece> => {
    const read = first ?? (await reader.read());
    first = undefined;
    // Whoever made the stream may have made it of anything.
    if (!read.done && !(read.value instanceof Uint8Array))
      throw new TypeError('a stream of bytes yielded something else');
    return read;
  };

  const end = (reason: unknown): void => {
    if (isOver) return;
    isOver = true;
    reject(reason);
    reader.cancel(reason).catch(() => undefined);
  };

  const body = new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        reject = (reason) => controller.error(reason);
      },
      pull: async (controller) => {
        try {
          onAsk?.();
          const { done, value } = await next().catch((cause: unknown) => {
            throw onFailure(cause);
          });
          if (isOver) return;
          if (done) {
            onEnd?.();
            isOver = true;
            controller.close();
          } else {
            onPiece?.(value.byteLength);
            controller.enqueue(value);
          }
        } catch (reason) {
          end(reason);
        }
      },
      cancel: async (reason) => {
        isOver = true;
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );

  return {
    body,
    begin: async () => {
      first = await next();
    },
    end,
  };
}
