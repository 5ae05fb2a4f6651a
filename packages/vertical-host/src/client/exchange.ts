/** One request to a vertical and its answer, over any `fetch`; a watchdog ends it when the vertical is silent. */
import {
  MANAGED_SCOPE_HEADER,
  MANAGED_TENANT_HEADER,
  type ManagementRoute,
  PLATFORM_SECRET_HEADER,
  PlatformError,
} from '@freehold/contracts';
import type { z } from 'zod';
import { relay } from '../lib/relay.ts';
import { makeWatchdog, type SetTimer, type Watchdog } from '../lib/watchdog.ts';
import { brokeOff, dropBody, type NoAnswer, processJson, requireSuccess } from './judge-answer.ts';

export interface ExchangeParts {
  readonly baseUrl: string;
  readonly fetch: (request: Request) => Promise<Response>;
  readonly platformSecret: string;
  readonly setTimer: SetTimer;
}

/** Bytes that go along with a request. */
export interface Content {
  readonly mediaType: string;
  readonly body: ReadableStream<Uint8Array>;
}

interface Question<R extends ManagementRoute> {
  readonly route: R;
  /** The fields of the route's schema, without the bytes. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly content?: Content;
  /** The longest silence of the vertical, in milliseconds: without an answer, a piece taken, or a piece sent. */
  readonly silenceMs: number;
}

interface OpenQuestion<R extends ManagementRoute, Head> extends Question<R> {
  readonly mediaType: (head: Head) => string;
  /** Reads the head from the headers. @throws PlatformError when they are not those of the route. */
  readonly head: (headers: Headers) => Head;
  /** The number of bytes to come, where the headers say it. */
  readonly bytes?: (head: Head) => number;
}

export interface Exchange {
  /** Sends a request, and returns the JSON of the answer. */
  ask<R extends ManagementRoute>(question: Question<R>): Promise<z.output<R['response']>>;
  /** Sends a request for bytes. The body fails with a `PlatformError` when they break off. */
  open<R extends ManagementRoute, Head>(
    question: OpenQuestion<R, Head>,
  ): Promise<{ readonly head: Head; readonly body: ReadableStream<Uint8Array> }>;
}

/**
 * Both methods reject with a `PlatformError`: the vertical's own refusal; `unavailable` (503), reason
 * `vertical_unreachable` or `vertical_timeout`; `runtime_fault` (502), reason `vertical_answer`. When the bytes to
 * send fail, they reject with that failure.
 */
export function makeExchange(parts: ExchangeParts): Exchange {
  const send = async (question: Question<ManagementRoute>, watchdog: Watchdog): Promise<Response> => {
    const request = requestOf(parts, question, watchdog.signal);
    // In an async function, so that a `fetch` that throws becomes one that rejects.
    const sent = (async () => parts.fetch(request))();
    try {
      return await Promise.race([sent, watchdog.expired]);
    } catch (cause) {
      sent.then(dropBody, () => undefined);
      if (cause instanceof PlatformError) throw cause;
      throw new PlatformError('unavailable', 'The application behind this scope could not be reached.', {
        reason: 'vertical_unreachable' satisfies NoAnswer,
        cause,
      });
    }
  };

  return {
    ask: async ({ content, ...question }) => {
      const watchdog = makeWatchdog(question.silenceMs, parts.setTimer, silent);
      const failures: unknown[] = [];
      const upload =
        content &&
        relay(content.body, {
          // While this side waits for the bytes to send, the vertical's time does not run.
          onAsk: watchdog.rest,
          onPiece: watchdog.watch,
          onEnd: watchdog.watch,
          onFailure: (cause) => {
            failures.push(cause);
            return cause;
          },
        });
      try {
        const body = upload && content ? { content: { ...content, body: upload.body } } : {};
        const response = await send({ ...question, ...body }, watchdog);
        return await Promise.race([processJson(question.route, response), watchdog.expired]);
      } catch (error) {
        throw failures.length > 0 ? failures[0] : error;
      } finally {
        watchdog.rest();
        upload?.end(new Error('the answer is there'));
      }
    },

    open: async ({ head: readHead, mediaType, bytes, ...question }) => {
      const watchdog = makeWatchdog(question.silenceMs, parts.setTimer, silent);
      try {
        const response = await send(question, watchdog);
        const judge = async () => {
          if (!response.ok) await requireSuccess(response, '');
          const head = readHead(response.headers);
          await requireSuccess(response, mediaType(head));
          return head;
        };
        const head = await Promise.race([judge(), watchdog.expired]).catch((error: unknown) => {
          dropBody(response);
          throw error;
        });
        return { head, body: received(response, watchdog, bytes?.(head)) };
      } finally {
        watchdog.rest();
      }
    },
  };
}

/** The bytes of an answer: whole, or failing. The vertical's time runs while the reader waits for a piece. */
function received(
  response: Response,
  watchdog: Watchdog,
  bytesExpected: number | undefined,
): ReadableStream<Uint8Array> {
  let bytes = 0;
  const { body, end } = relay(response.body ?? new Blob([]).stream(), {
    onAsk: watchdog.watch,
    onPiece: (size) => {
      watchdog.rest();
      bytes += size;
    },
    onEnd: () => {
      watchdog.rest();
      if (bytesExpected !== undefined && bytes !== bytesExpected) throw brokeOff();
    },
    onFailure: (cause) => {
      watchdog.rest();
      return cause instanceof PlatformError ? cause : brokeOff(cause);
    },
  });
  watchdog.expired.catch(end);
  return body;
}

function requestOf(
  { baseUrl, platformSecret }: ExchangeParts,
  { route, fields, content }: Question<ManagementRoute>,
  signal: AbortSignal,
): Request {
  const inPath = new Set<string>();
  const path = route.path.replaceAll(/:(\w+)/g, (_, name: string) => {
    inPath.add(name);
    return encodeURIComponent(String(fields[name]).toWellFormed());
  });
  const url = new URL(`${baseUrl.replace(/\/$/, '')}/internal/${path}`);
  const rest = Object.entries(fields).filter(([name, value]) => value !== undefined && !inPath.has(name));
  const headers = new Headers({ [PLATFORM_SECRET_HEADER]: platformSecret, accept: '*/*' });
  for (const [name, value] of [
    [MANAGED_TENANT_HEADER, fields.tenantId],
    [MANAGED_SCOPE_HEADER, fields.scopeId],
  ] as const)
    if (typeof value === 'string') headers.set(name, value.toWellFormed());
  // A redirect would carry the platform secret to another address.
  const options = { method: route.method, headers, redirect: 'manual', signal } as const;
  if (route.takes === 'json') {
    headers.set('content-type', 'application/json');
    return new Request(url, { ...options, body: JSON.stringify(Object.fromEntries(rest)) });
  }
  if (route.takes !== 'form') {
    for (const [name, value] of rest)
      url.searchParams.set(name, typeof value === 'object' ? JSON.stringify(value) : String(value));
  }
  if (!content) return new Request(url, options);
  headers.set('content-type', content.mediaType);
  // In a variable, because workerd streams without `duplex` and its types do not know the property.
  const streaming = { ...options, body: content.body, duplex: 'half' } as const;
  return new Request(url, streaming);
}

function silent(): PlatformError {
  return new PlatformError('unavailable', 'The application behind this scope took too long to answer.', {
    reason: 'vertical_timeout' satisfies NoAnswer,
  });
}
