/**
 * Client ID Metadata Documents (draft-ietf-oauth-client-id-metadata-document): the `client_id` is the https address of a
 * document, which its host alone can write. A program needs no registration then, and its host name is proven.
 */
import type { JSONWebKeySet } from 'jose';
import { type Client, parseClient, parseKeys } from './client.ts';
import { OAuthError } from './errors.ts';

/** Section 6.6 of the draft recommends 5 KiB. */
const DOCUMENT_BYTES_MAX = 5 * 1_024;
/** Twenty keys of 4,096 bits, with their certificates left out. */
const KEYS_BYTES_MAX = 32 * 1_024;
const TIMEOUT_MS = 5_000;
const TTL_MS = 5 * 60_000;
/** A host that cannot be reached is asked again after this, so that retries do not load it. */
const FAILED_TTL_MS = 30_000;
const DOCUMENTS_MAX = 500;
const ID_LENGTH_MAX = 500;
/** The purpose of the fetch: it is no issuer's, so that no exemption of an issuer from the guard applies. */
const PURPOSE = { issuer: 'client-metadata-document' };

export type DocumentFetch = (
  url: string,
  init: RequestInit,
  purpose: { readonly issuer: string },
) => Promise<Response>;

/**
 * Whether a `client_id` is the address of a document (section 3 of the draft): https, with a path, without a fragment, a
 * user, a password or dot segments. It is compared as text, so that it must be written as a parser writes it.
 */
export function isDocumentId(id: string): boolean {
  if (!id.startsWith('https://') || id.length > ID_LENGTH_MAX || !URL.canParse(id)) return false;
  const { href, pathname, username, password } = new URL(id);
  return href === id && pathname !== '/' && username === '' && password === '' && !id.includes('#');
}

export interface ClientDocuments {
  /** Returns the client behind an address. @throws OAuthError `invalid_client`, or `invalid_client_metadata`. */
  load(id: string): Promise<Client>;
  /**
   * Returns the public keys of a client as its document has them now. Only clients that a person let in are asked about, so
   * that no anonymous sender chooses an address.
   * @param isAgain whether no known key fits: keys that are older than half a minute are fetched anew.
   * @throws as {@link load}.
   */
  loadKeys(id: string, isAgain?: boolean): Promise<JSONWebKeySet>;
}

/** @param fetch refuses addresses that are not public: any person who may sign in chooses the address. */
export function makeClientDocuments({
  fetch,
  now,
  deadline = (ms) => AbortSignal.timeout(ms),
}: {
  readonly fetch: DocumentFetch;
  readonly now: () => number;
  readonly deadline?: (ms: number) => AbortSignal;
}): ClientDocuments {
  const clients = makeCache<Client>(now, (id) => fetchClient(id, fetch, deadline(TIMEOUT_MS)));
  const keySets = makeCache<JSONWebKeySet>(now, async (uri) =>
    parseKeys(await fetchDocument(uri, { fetch, bytesMax: KEYS_BYTES_MAX }, deadline(TIMEOUT_MS))),
  );
  return {
    load: (id) => clients(id),
    loadKeys: async (id, isAgain = false) => {
      const { keys } = await clients(id, isAgain);
      if (!keys)
        throw new OAuthError('invalid_client', 'The document at the client_id has no keys any more.');
      return 'jwks' in keys ? keys.jwks : keySets(keys.uri, isAgain);
    },
  };
}

/** Remembers what was loaded by its address. @returns a look-up; `isAgain` loads what is older than half a minute anew. */
function makeCache<T>(
  now: () => number,
  load: (address: string) => Promise<T>,
): (address: string, isAgain?: boolean) => Promise<T> {
  const known = new Map<
    string,
    { readonly sinceMs: number; readonly untilMs: number; readonly value: Promise<T> }
  >();
  const remember = (address: string, value: Promise<T>, ttlMs: number): void => {
    known.delete(address);
    known.set(address, { sinceMs: now(), untilMs: now() + ttlMs, value });
    if (known.size > DOCUMENTS_MAX) known.delete(known.keys().next().value as string);
  };
  return async (address, isAgain = false) => {
    const found = known.get(address);
    const isFresh = found && found.untilMs > now() && !(isAgain && now() - found.sinceMs >= FAILED_TTL_MS);
    if (isFresh) return found.value;
    const value = load(address);
    remember(address, value, TTL_MS);
    try {
      return await value;
    } catch (error) {
      remember(address, value, FAILED_TTL_MS);
      throw error;
    }
  };
}

async function fetchClient(id: string, fetch: DocumentFetch, signal: AbortSignal): Promise<Client> {
  const document = await fetchDocument(id, { fetch, bytesMax: DOCUMENT_BYTES_MAX }, signal);
  // Section 4.1: a document says whose it is, so that no other page of the host passes for one.
  if (document.client_id !== id)
    throw new OAuthError('invalid_client', 'The document at the client_id names another client_id.');
  if ('client_secret' in document || 'client_secret_expires_at' in document)
    throw new OAuthError('invalid_client', 'The document at the client_id must not hold a secret.');
  return parseClient({ id, kind: 'document' }, document);
}

/** Every failure is told with the same words: the program, or the person, must not look around by way of this server. */
async function fetchDocument(
  id: string,
  { fetch, bytesMax }: { readonly fetch: DocumentFetch; readonly bytesMax: number },
  signal: AbortSignal,
): Promise<Readonly<Record<string, unknown>>> {
  try {
    const response = await untilAborted(
      fetch(id, { headers: { accept: 'application/json' }, redirect: 'manual', signal }, PURPOSE),
      signal,
    );
    const type = response.headers.get('content-type') ?? '';
    // Section 4: a redirect is not followed, since it would be another host's word.
    if (response.status !== 200 || !/^application\/(?:[\w.-]+\+)?json\b/i.test(type)) {
      await response.body?.cancel();
      throw new TypeError('the answer is no document');
    }
    const value: unknown = JSON.parse(await untilAborted(readText(response, bytesMax), signal));
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw new TypeError('the document is no object');
    return value as Readonly<Record<string, unknown>>;
  } catch (cause) {
    throw new OAuthError(
      'invalid_client',
      `The document at the client_id, or its keys, could not be read: JSON of at most ${bytesMax} bytes at a public address, without a redirect.`,
      { cause },
    );
  }
}

async function readText({ headers, body }: Response, bytesMax: number): Promise<string> {
  if (Number(headers.get('content-length') ?? 0) > bytesMax) {
    await body?.cancel();
    throw new TypeError('the document is too large');
  }
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });
  let text = '';
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    // Leaving the loop cancels the stream.
    if (size > bytesMax) throw new TypeError('the document is too large');
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
