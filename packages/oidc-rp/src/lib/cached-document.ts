/** A document of an issuer: fetched at the first use, cached, shared, and served through a short outage. */
import { OidcError } from './errors.ts';
import { type Deadline, withDeadline } from './peer-fetch.ts';

/** A fetched copy is used this long. */
export const DOCUMENT_TTL_MS = 10 * 60 * 1000;
/** After a failure nothing is fetched for this long. */
export const FAILURE_TTL_MS = 30 * 1000;
/** The last good copy is served this long while the issuer is failing. */
export const STALE_MAX_MS = 24 * 60 * 60 * 1000;

export interface CachedDocument<T> {
  /**
   * Returns the document, at most 10 minutes old; up to 24 hours old while it cannot be fetched. Rejects with the
   * failure otherwise.
   */
  get(): Promise<T>;
  /** Fetches the document whatever the age of the copy. Shares a pending fetch. */
  refresh(): Promise<T>;
  /** Whether a fetch is pending, so that `refresh` would start none. */
  isRefreshing(): boolean;
}

export interface CachedDocumentOptions<T> {
  readonly load: () => Promise<T>;
  readonly now: () => number;
  readonly deadline: Deadline;
  /** The longest wait of one caller, whatever happens to the fetch that it shares. */
  readonly waitMaxMs: number;
}

/** Makes an empty cache; nothing is fetched until `get` or `refresh`. */
export function makeCachedDocument<T>(options: CachedDocumentOptions<T>): CachedDocument<T> {
  let good: { readonly document: T; readonly atMs: number } | undefined;
  let bad: { readonly failure: unknown; readonly atMs: number } | undefined;
  let pending: Promise<T> | undefined;

  function refresh(): Promise<T> {
    pending ??= start();
    const shared = pending;
    // In workerd a fetch dies with the request that began it. So each caller has a deadline of its own, and a
    // caller that gives up lets the next one start afresh.
    const signal = options.deadline(options.waitMaxMs);
    return withDeadline(shared, signal).catch((cause: unknown) => {
      if (!signal.aborted || cause !== signal.reason) throw cause;
      forget(shared);
      throw new OidcError('issuer_unavailable', 'Waiting for the issuer took too long.', { cause });
    });
  }

  function start(): Promise<T> {
    const started = options.load().then(
      (document) => {
        good = { document, atMs: options.now() };
        bad = undefined;
        forget(started);
        return document;
      },
      (failure: unknown) => {
        bad = { failure, atMs: options.now() };
        forget(started);
        throw failure;
      },
    );
    return started;
  }

  function forget(promise: Promise<T>): void {
    if (pending === promise) pending = undefined;
  }

  return {
    refresh,
    isRefreshing: () => pending !== undefined,
    async get() {
      if (good !== undefined && options.now() - good.atMs < DOCUMENT_TTL_MS) return good.document;
      try {
        if (bad !== undefined && options.now() - bad.atMs < FAILURE_TTL_MS) throw bad.failure;
        return await refresh();
      } catch (failure) {
        if (good !== undefined && options.now() - good.atMs < STALE_MAX_MS) return good.document;
        throw failure;
      }
    },
  };
}
