/**
 * One request to a provider: with a deadline, a size limit and no redirect followed. The `fetch` is the wiring's guarded
 * one; what comes back is a stranger's, and is judged elsewhere.
 */
import type { Deadline } from '../verticals/client.ts';

/** The part of `fetch` that is used. An SSRF guard is put in by passing a guarded one. */
export type ProviderFetch = (url: string, init: RequestInit) => Promise<Response>;

/** What a provider did instead of what was asked of it. */
export type ProviderFault =
  /** It said no, and will say no again: the credential, the code or the person's consent is not there. */
  | 'refused'
  /** It could not be reached, took too long, or has trouble of its own. */
  | 'unreachable'
  /** It answered something that is not of the protocol, or that the operator's registration is wrong. */
  | 'unusable';

/** A question to a provider that has no good answer. Holds nothing of what was sent or received. */
export class ProviderFailure extends Error {
  override readonly name = 'ProviderFailure';
  readonly fault: ProviderFault;

  constructor(fault: ProviderFault, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.fault = fault;
  }
}

/** How long a provider may take. Somebody's browser waits meanwhile. */
const PROVIDER_TIMEOUT_MS = 10_000;
/** The largest answer that is read: tokens are some kilobytes. */
const ANSWER_BYTES_MAX = 256 * 1024;

export interface ProviderAnswer {
  readonly status: number;
  /** The parsed body, or undefined when it is no JSON. */
  readonly json: unknown;
}

export interface ProviderAccess {
  readonly fetch: ProviderFetch;
  readonly deadline: Deadline;
}

/** Asks. @throws ProviderFailure `unreachable`, or `unusable` for an answer that is too large. */
export async function askProvider(
  { fetch, deadline }: ProviderAccess,
  url: string,
  init: RequestInit,
): Promise<ProviderAnswer> {
  const signal = deadline(PROVIDER_TIMEOUT_MS);
  try {
    const asked = exchange(fetch, url, { ...init, redirect: 'manual', signal });
    return await Promise.race([asked, rejectOnAbort(signal)]);
  } catch (cause) {
    if (cause instanceof ProviderFailure) throw cause;
    throw new ProviderFailure('unreachable', 'The provider could not be reached.', cause);
  }
}

async function exchange(fetch: ProviderFetch, url: string, init: RequestInit): Promise<ProviderAnswer> {
  const response = await fetch(url, init);
  if (isOutage(response.status)) {
    response.body?.cancel().catch(() => undefined);
    throw new ProviderFailure('unreachable', `The provider answered with status ${response.status}.`);
  }
  return { status: response.status, json: parseJson(await readText(response)) };
}

/** A redirect that is not followed can be reported as status 0. */
function isOutage(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    // Leaving the loop cancels the stream, so nothing more is received.
    if (bytes > ANSWER_BYTES_MAX) throw new ProviderFailure('unusable', 'The provider answered too much.');
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** The parser's own error quotes the text, which may hold tokens: it goes nowhere. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A fetch that does not look at the signal is not waited for all the same. */
function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const abort = (): void =>
      reject(new ProviderFailure('unreachable', 'The provider took too long to answer.', signal.reason));
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}
