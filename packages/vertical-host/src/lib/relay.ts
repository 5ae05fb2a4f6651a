/** Passes bytes from one stream to another: observes each piece, and ends both sides at once. */

export interface RelayOptions {
  /** Called each time that the reader waits for a piece. */
  readonly onAsk?: () => void;
  /** Receives the size of each piece before it is passed on. An error that it throws ends the relay. */
  readonly onPiece?: (bytes: number) => void;
  /** Called when the source has ended. An error that it throws replaces the end. */
  readonly onEnd?: () => void;
  /** Returns the error that the reader gets for a failure of the source. Default: the failure itself. */
  readonly onFailure?: (cause: unknown) => unknown;
}

export interface Relay {
  /** Asks the source for a piece only when the reader asks for one, so that pieces do not queue up. */
  readonly body: ReadableStream<Uint8Array>;
  /**
   * Waits for the first piece, which `body` then begins with.
   * @throws the failure of the source, unchanged: no answer was sent yet.
   */
  begin(): Promise<void>;
  /** Ends both sides early: the reader fails with the reason, and the source is cancelled. Never throws. */
  end(reason: unknown): void;
}

type Piece = Awaited<ReturnType<ReadableStreamDefaultReader<Uint8Array>['read']>>;

/** Takes the source over; it must have no other reader. */
export function relay(source: ReadableStream<Uint8Array>, options: RelayOptions = {}): Relay {
  const { onAsk, onPiece, onEnd, onFailure = (cause) => cause } = options;
  const reader = source.getReader();
  let first: Piece | undefined;
  let isOver = false;
  let reject: (reason: unknown) => void = () => undefined;

  const next = async (): Promise<Piece> => {
    const read = first ?? (await reader.read());
    first = undefined;
    // A stream of the host may hold anything.
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
