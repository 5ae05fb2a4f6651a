/** The fetch for every request to an issuer: with a deadline, a size limit, and no redirects. */
import { OidcError } from './errors.ts';
import { readLimitedBody } from './limited-body.ts';

/** The purpose of a request. */
export interface FetchPurpose {
  /** The issuer that named the address, as in OIDC_ISSUER: it is asked itself, or its metadata names the address. */
  readonly issuer: string;
}

/**
 * The part of `fetch` that is used. An application guards against SSRF by passing a guarded fetch, which gets the
 * purpose: an exemption for the operator's own issuer must not serve another issuer, whose metadata can name any
 * address as an endpoint.
 */
export type FetchLike = (url: string, init: RequestInit, purpose: FetchPurpose) => Promise<Response>;

/** A fetch that is bound to its purpose and our limits. */
export type PeerFetch = (url: string, init: RequestInit) => Promise<Response>;

/** Returns a signal that aborts after so many milliseconds; `AbortSignal.timeout` outside of tests. */
export type Deadline = (ms: number) => AbortSignal;

/** The largest answer that is read from an issuer, in bytes. */
export const RESPONSE_BYTES_MAX = 1024 * 1024;

export interface PeerFetchOptions {
  readonly fetch: FetchLike;
  readonly issuer: string;
  readonly deadline: Deadline;
  readonly timeoutMs: number;
}

/**
 * Makes a `fetch` that returns a fully read response.
 * @throws OidcError `issuer_unavailable` on a network failure, a passed deadline (also while the body is
 * arriving), more than 1 MB (declared or not), or a server error.
 */
export function makePeerFetch({ fetch, issuer, deadline, timeoutMs }: PeerFetchOptions): PeerFetch {
  return async (url, init) => {
    const signal = deadline(timeoutMs);
    try {
      const response = await withDeadline(
        fetch(url, { ...init, redirect: 'manual', signal }, { issuer }),
        signal,
      );
      if (isOutage(response.status)) {
        await response.body?.cancel();
        throw new OidcError('issuer_unavailable', `The issuer answered with status ${response.status}.`);
      }
      const body = await withDeadline(readLimited(response), signal);
      return new Response(body.byteLength === 0 ? null : body, {
        status: response.status,
        headers: relevantHeaders(response.headers),
      });
    } catch (cause) {
      if (cause instanceof OidcError) throw cause;
      throw new OidcError('issuer_unavailable', 'The request to the issuer failed or took too long.', {
        cause,
      });
    }
  };
}

/** Settles as `work` does, or rejects when the signal aborts first. */
export function withDeadline<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/**
 * Whether a status is an outage. A redirect that is not followed can have status 0, from which no response can be
 * built.
 */
function isOutage(status: number): boolean {
  return status < 200 || status >= 500 || status === 408 || status === 429;
}

async function readLimited(response: Response): Promise<Uint8Array<ArrayBuffer>> {
  const body = await readLimitedBody(response, RESPONSE_BYTES_MAX);
  if (body === null) throw tooLarge();
  return body;
}

function tooLarge(): OidcError {
  return new OidcError(
    'issuer_unavailable',
    `The issuer answered with more than ${RESPONSE_BYTES_MAX} bytes.`,
  );
}

function relevantHeaders(headers: Headers): Headers {
  const relevant = new Headers();
  for (const name of ['content-type', 'www-authenticate']) {
    const value = headers.get(name);
    if (value !== null) relevant.set(name, value);
  }
  return relevant;
}
