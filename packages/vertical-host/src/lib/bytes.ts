/** Bytes of a request on their way to a host, and bytes of a host as an answer: streamed both ways, never held whole. */
import { PlatformError } from '@freehold/contracts';
import type { Context } from 'hono';
import { type ProblemOptions, recordIncident } from './problem-response.ts';
import { type Relay, relay } from './relay.ts';
import { privateHeaders } from './request.ts';

interface ReceivedBytes {
  readonly body: ReadableStream<Uint8Array>;
  /** Ends the stream that the host did not read to its end. */
  end(): void;
  /** The fault of the bytes themselves, which explains a failure of the host better than the host can. */
  fault(): PlatformError | undefined;
}

/** A missing body counts as an empty one, which the host judges. */
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
    end: () => watched.end(new Error('the host has stopped reading')),
    fault: () => fault,
  };
}

/**
 * Refuses an announced length, which spares the sender the upload. The bytes are counted too, because a header can lie.
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

interface SentBytes {
  readonly body: ReadableStream<Uint8Array>;
  /** The name that the receiver may save it under; any text. */
  readonly filename: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Answers a stream. A failure before its first piece is thrown, and becomes a problem document; a later failure breaks
 * the answer off, and is recorded.
 */
export async function bytesResponse(
  c: Context,
  { body, filename, headers }: SentBytes,
  options: ProblemOptions,
): Promise<Response> {
  const { body: sent, begin } = relay(body, {
    onFailure: (cause) => {
      recordIncident(c, cause, options);
      // Servers may print a broken stream's error, its message also to the caller.
      const broken = new PlatformError('internal', 'The answer broke off.');
      return Object.assign(broken, { stack: broken.message });
    },
  });
  await begin();
  const response = new Response(c.req.method === 'HEAD' ? null : sent, {
    headers: {
      'content-disposition': contentDisposition(filename),
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
      ...privateHeaders(c),
      ...headers,
    },
  });
  // An export holds its snapshot of the database until it is read or cancelled.
  if (c.req.method === 'HEAD') await sent.cancel().catch(() => undefined);
  return response;
}

/** RFC 6266: the file is saved and never shown; its true name in UTF-8, and a safe one in ASCII. */
function contentDisposition(filename: string): string {
  const plain = filename.replaceAll(/[^\w. -]/g, '_');
  const encoded = encodeURIComponent(filename.toWellFormed()).replaceAll(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
