/** Bytes of a request on their way to a host: never compressed, up to a limit, and let go of when the host is done. */
import { PlatformError } from '@freehold/contracts';
import { type Relay, relay } from './relay.ts';

interface ReceivedBytes {
  readonly body: ReadableStream<Uint8Array>;
  /** Ends what the host left unread. */
  end(): void;
  /** What was wrong with the bytes themselves: it explains the failure of the host better than the host can. */
  fault(): PlatformError | undefined;
}

/** No body is an empty one: the host says what that is worth. */
export function receivedBytes(source: ReadableStream<Uint8Array> | null, limitBytes?: number): ReceivedBytes {
  let size = 0;
  let fault: PlatformError | undefined;
  const watched: Relay = relay(source ?? new Response('').body ?? new ReadableStream(), {
    onPiece: (bytes) => {
      size += bytes;
      if (limitBytes === undefined || size <= limitBytes) return;
      fault = tooLarge(limitBytes);
      throw fault;
    },
    onFailure: (cause) => {
      fault = incomplete(cause);
      return fault;
    },
  });
  return {
    body: watched.body,
    end: () => watched.end(new Error('nobody reads on')),
    fault: () => fault,
  };
}

/**
 * Spares the sender of too much the upload; what arrives is counted all the same, because a header can lie.
 * @throws PlatformError `payload_too_large`.
 */
export function requireLength(headers: Headers, limitBytes: number | undefined): void {
  if (limitBytes !== undefined && Number(headers.get('content-length') ?? 0) > limitBytes)
    throw tooLarge(limitBytes);
}

/** @throws PlatformError `unsupported_media_type`. */
export function requireUncompressed(headers: Headers): void {
  const coding = headers.get('content-encoding');
  if (coding === null || coding.trim().toLowerCase() === 'identity') return;
  throw new PlatformError('unsupported_media_type', 'The body must not be compressed.', {
    headers: { 'accept-encoding': 'identity' },
  });
}

/** The media type without its parameters, in lower case; empty when there is none. */
export function mediaTypeOf(headers: Headers): string {
  return (headers.get('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

export function wrongMediaType(accept: string): PlatformError {
  return new PlatformError('unsupported_media_type', `The body must be ${accept}.`, { headers: { accept } });
}

function tooLarge(limitBytes: number): PlatformError {
  return new PlatformError('payload_too_large', `The body is larger than ${limitBytes} bytes.`);
}

function incomplete(cause: unknown): PlatformError {
  if (cause instanceof PlatformError) return cause;
  return new PlatformError('validation_failed', 'The body ended before it was complete.', {
    reason: 'body_incomplete',
    cause,
  });
}
