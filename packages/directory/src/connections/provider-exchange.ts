/**
 * Asks providers: one request with a deadline, a size limit and no redirect followed; the account behind a credential, and
 * so whether it works at all (spec 4.3.14); and the problems for callers when a provider fails.
 */
import { PlatformError } from '@freehold/contracts';
import type { Deadline } from '../verticals/client.ts';
import type { AccountProbe, ApiKeyProvider, OAuthProvider, ProviderRegistry } from './providers.ts';

/** The part of `fetch` that is used; the wiring passes one that is guarded against SSRF. */
export type ProviderFetch = (url: string, init: RequestInit) => Promise<Response>;

export type ProviderFault =
  /** The provider refused, and will refuse again: the credential, the code or the consent is not valid. */
  | 'refused'
  /** The provider could not be reached, took too long, or failed. */
  | 'unreachable'
  /** The answer is outside the protocol, or says that the operator's registration is wrong. */
  | 'unusable';

/** The failure of a question to a provider. Contains nothing of what was sent or received. */
export class ProviderFailure extends Error {
  override readonly name = 'ProviderFailure';
  readonly fault: ProviderFault;

  constructor(fault: ProviderFault, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.fault = fault;
  }
}

/** The most time that a provider may take: a browser waits meanwhile. */
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

/** @throws ProviderFailure `unreachable`, or `unusable` for an answer that is too large. */
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

/** Drops the parser's error, which quotes the text and may contain tokens. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Bounds a fetch that ignores the signal. */
function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const abort = (): void =>
      reject(new ProviderFailure('unreachable', 'The provider took too long to answer.', signal.reason));
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}

/** Null where the provider does not tell. */
export interface Account {
  readonly account: string | null;
  readonly accountName: string | null;
}

/** @throws ProviderFailure `refused` when the provider does not accept the access token. */
export async function probeToken(
  access: ProviderAccess,
  probe: AccountProbe,
  accessToken: string,
): Promise<Account> {
  const headers = { accept: 'application/json', authorization: `Bearer ${accessToken}` };
  return processProbe(probe, await askProvider(access, probe.endpoint, { method: 'GET', headers }));
}

/** @throws ProviderFailure `refused` when the provider does not accept the API key. */
export async function probeKey(
  access: ProviderAccess,
  { probe }: ApiKeyProvider,
  apiKey: string,
): Promise<Account> {
  const { header = 'authorization', tellsAccount = true } = probe;
  const { prefix = header.toLowerCase() === 'authorization' ? 'Bearer ' : '' } = probe;
  const headers = { accept: 'application/json', [header]: `${prefix}${apiKey}` };
  const answer = await askProvider(access, probe.endpoint, { method: 'GET', headers });
  if (tellsAccount) return processProbe(probe, answer);
  requireTaken(answer);
  return { account: null, accountName: null };
}

/** Judges an answer. @throws ProviderFailure */
export function processProbe(probe: AccountProbe, answer: ProviderAnswer): Account {
  requireTaken(answer);
  const account = textAt(answer.json, probe.account ?? 'sub');
  if (account === null) throw new ProviderFailure('unusable', 'The provider did not name the account.');
  return {
    account,
    accountName: probe.accountName === undefined ? null : textAt(answer.json, probe.accountName),
  };
}

function requireTaken({ status }: ProviderAnswer): void {
  if (status === 400 || status === 401 || status === 403)
    throw new ProviderFailure('refused', `The provider answered with status ${status}.`);
  if (status < 200 || status > 299)
    throw new ProviderFailure('unusable', `The provider answered with status ${status}.`);
}

/** An id is a short text or a whole number. */
function textAt(json: unknown, path: string): string | null {
  let value = json;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return null;
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  if (Number.isSafeInteger(value)) return String(value);
  const isText = typeof value === 'string' && value !== '' && value.length <= 256;
  return isText && !/\p{Cc}/u.test(value as string) ? (value as string) : null;
}

/**
 * A provider of API keys.
 * @throws PlatformError `validation_failed`, reason `unknown_provider`, or `consent_required` for one with a consent round.
 */
export function requireKeyProvider(registry: ProviderRegistry, key: string): ApiKeyProvider {
  const provider = registry.find(key);
  if (provider?.kind === 'api-key') return provider;
  throw provider
    ? providerRefused('consent_required', 'is connected by a consent round, not with a key')
    : unknownProvider();
}

/**
 * A provider with a platform consent round.
 * @throws PlatformError `validation_failed`, reason `unknown_provider`, or `no_consent_round` for one of API keys.
 */
export function requireConsentProvider(registry: ProviderRegistry, key: string): OAuthProvider {
  const provider = registry.find(key);
  if (provider?.kind === 'oauth2') return provider;
  throw provider ? providerRefused('no_consent_round', 'has no platform consent round') : unknownProvider();
}

/** The operator removed the provider from the registry, or changed its kind. */
export function providerGone(): PlatformError {
  return new PlatformError('unsupported', 'The provider of this connection is not set up here any more.', {
    reason: 'unknown_provider',
  });
}

/** The problem for a `ProviderFailure`; any other error stays as it is. */
export function providerProblem(error: unknown): unknown {
  if (!(error instanceof ProviderFailure)) return error;
  const { code, detail, ...options } = PROBLEMS_OF[error.fault];
  return new PlatformError(code, detail, { ...options, cause: error });
}

const PROBLEMS_OF = {
  refused: {
    code: 'validation_failed',
    detail: 'The provider does not take this credential.',
    reason: 'credential_refused',
    errors: [{ path: 'apiKey', message: 'is refused by the provider' }],
  },
  unreachable: {
    code: 'runtime_fault',
    detail: 'The provider cannot be reached at the moment.',
    reason: 'provider_unreachable',
  },
  unusable: {
    code: 'runtime_fault',
    detail: 'The provider answered something that cannot be used.',
    reason: 'provider_answer',
  },
} as const;

function unknownProvider(): PlatformError {
  return providerRefused('unknown_provider', 'names no provider of this platform');
}

function providerRefused(reason: string, message: string): PlatformError {
  return new PlatformError('validation_failed', `The body is not valid. provider: ${message}.`, {
    reason,
    errors: [{ path: 'provider', message }],
  });
}
