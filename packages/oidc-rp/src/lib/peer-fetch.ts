/** How every request to an issuer is made: with a deadline, a size limit, and no redirect followed. */
import { OidcError } from './errors.ts';
import { readLimitedBody } from './limited-body.ts';

/** On whose behalf something is fetched. */
export interface FetchPurpose {
  /** The issuer that named the address, exactly as OIDC_ISSUER does: it is asked, or its metadata points there. */
  readonly issuer: string;
}

/**
 * The part of `fetch` that is used, the platform's own included. An SSRF guard is put in by passing a guarded one,
 * which is told the purpose: an exemption for the operator's own issuer must not serve another issuer, whose metadata
 * can name any address as an endpoint.
 */
export type FetchLike = (url: string, init: RequestInit, purpose: FetchPurpose) => Promise<Response>;

/** A fetch that knows its purpose, and keeps to our limits. */
export type PeerFetch = (url: string, init: RequestInit) => Promise<Response>;

/** A signal that aborts after so many milliseconds; `AbortSignal.timeout` outside of tests. */
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
 * A `fetch` that answers a fully read response, or throws `OidcError` `issuer_unavailable`: on a network failure, a
 * deadline that passes (also while the body is arriving), more than 1 MB (declared or not), or a server error.
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
        headers: keptHeaders(response.headers),
      });
    } catch (cause) {
      if (cause instanceof OidcError) throw cause;
      throw new OidcError('issuer_unavailable', 'The request to the issuer failed or took too long.', {
        cause,
      });
    }
  };
}

/** Settles as the work does, or rejects when the signal aborts first. */
export function withDeadline<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** A redirect that is not followed can be reported as status 0, which no response can be built from again. */
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

function keptHeaders(headers: Headers): Headers {
  const kept = new Headers();
  for (const name of ['content-type', 'www-authenticate']) {
    const value = headers.get(name);
    if (value !== null) kept.set(name, value);
  }
  return kept;
}
