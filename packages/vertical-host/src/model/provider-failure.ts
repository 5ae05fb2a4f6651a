/**
 * Failures of a provider, in the platform's own words. The errors of the libraries carry prompts, answers, addresses
 * and bodies, some of them in their messages: none of that is passed on, not even as a cause.
 */
import { PlatformError, type ProblemCode } from '@freehold/contracts';
import type { ModelRefusal } from './refusal.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The facts in an error, whatever shape it has. */
interface Evidence {
  readonly name: string;
  /** The status of the answer; undefined when there was none. */
  readonly status: number | undefined;
  /** Machine-readable codes of the provider, such as `context_length_exceeded`. */
  readonly codes: readonly string[];
  /** Prose of the provider. It is searched and never shown. */
  readonly prose: string;
  readonly retryAfter: string | undefined;
}

const CONTEXT_CODES = [
  'context_length_exceeded',
  'exceed_context_size_error',
  'request_too_large',
  'string_above_max_length',
];
const CONTEXT_PROSE =
  /prompt is too long|maximum context length|context (?:length|window|size)|token count .*exceeds/i;
const REFUSED_CODES = ['content_filter', 'content_policy_violation', 'moderation_blocked'];
const REFUSED_PROSE = /content (?:management )?policy|usage polic/i;
const QUOTA_CODES = [
  'insufficient_quota',
  'billing_error',
  'billing_hard_limit_reached',
  'billing_not_active',
];
const QUOTA_PROSE = /credit balance/i;
const UNKNOWN_CODES = ['model_not_found', 'not_found_error'];

/**
 * Classifies an error of a library. A `PlatformError` is returned unchanged.
 * @param provider the row, as it is shown.
 */
export function judgeProviderFailure(thrown: unknown, provider: string): PlatformError {
  if (thrown instanceof PlatformError) return thrown;
  const evidence = readEvidence(thrown);
  const { code, reason, detail } = judge(evidence, provider);
  const mayWait = code === 'rate_limited' || code === 'unavailable';
  return new PlatformError(code, detail, {
    reason,
    ...(mayWait && evidence.retryAfter !== undefined
      ? { headers: { 'retry-after': evidence.retryAfter } }
      : {}),
    // The class of the error alone: enough to investigate, and no text of the provider or the caller.
    cause: new Error(`${evidence.name}, status ${evidence.status ?? 'none'}`),
  });
}

/**
 * Whether the provider certainly generated nothing for this request: it refused, or was never reached. Everything
 * else, silence above all, may have been generated and will be billed.
 */
export function isUnspent(thrown: unknown): boolean {
  const { status } = readEvidence(thrown);
  return status === undefined ? wasNeverSent(thrown) : status >= 300;
}

function judge(
  { name, status, codes, prose }: Evidence,
  provider: string,
): { code: ProblemCode; reason: ModelRefusal; detail: string } {
  const says = (words: readonly string[], pattern?: RegExp): boolean =>
    codes.some((code) => words.includes(code)) || (pattern?.test(prose) ?? false);

  if (says(QUOTA_CODES, QUOTA_PROSE) || status === 402)
    return {
      code: 'unavailable',
      reason: 'model_quota',
      detail: `The platform's account with ${provider} is used up.`,
    };
  if (says(CONTEXT_CODES, CONTEXT_PROSE) || status === 413)
    return {
      code: 'payload_too_large',
      reason: 'model_context',
      detail: `This is more than the model of ${provider} can read at once.`,
    };
  if (says(REFUSED_CODES, REFUSED_PROSE)) return contentRefused(provider);
  if (status === 429 || says(['rate_limit_error', 'rate_limit_exceeded']))
    return {
      code: 'rate_limited',
      reason: 'model_rate_limited',
      detail: `${provider} is asked too often at the moment. Try again later.`,
    };
  if (status === 401 || status === 403)
    return {
      code: 'unavailable',
      reason: 'model_credentials',
      detail: `${provider} does not accept the platform's credentials.`,
    };
  if (status === 404 || says(UNKNOWN_CODES))
    return {
      code: 'unsupported',
      reason: 'model_unknown',
      detail: `${provider} has no such model for this platform.`,
    };
  if (status === 408 || status === 504) return tookTooLong(provider);
  if ((status !== undefined && status >= 500) || says(['overloaded_error', 'server_error', 'api_error']))
    return {
      code: 'unavailable',
      reason: 'model_unavailable',
      detail: `${provider} cannot answer at the moment. Try again later.`,
    };
  if (status === undefined)
    return name === 'AI_APICallError' ? unreachable(provider) : failed(name, provider);
  if (status >= 400)
    return {
      code: 'runtime_fault',
      reason: 'model_request',
      detail: `${provider} did not accept the request (status ${status}).`,
    };
  return badAnswer(provider);
}

/** The error of an answer that ended early, or cannot be read. */
export function badAnswer(provider: string) {
  return {
    code: 'runtime_fault',
    reason: 'model_answer',
    detail: `The answer of ${provider} broke off or cannot be understood.`,
  } as const;
}

/** The error of an answer that the provider's rules on content ended. */
export function contentRefused(provider: string) {
  return {
    code: 'forbidden',
    reason: 'model_refused',
    detail: `${provider} refused to answer this.`,
  } as const;
}

/** The error when time is up. */
export function tookTooLong(provider: string) {
  return {
    code: 'unavailable',
    reason: 'model_timeout',
    detail: `${provider} took too long to answer.`,
  } as const;
}

function unreachable(provider: string) {
  return {
    code: 'unavailable',
    reason: 'model_unreachable',
    detail: `There is no connection to ${provider}, or it broke.`,
  } as const;
}

const BAD_ANSWERS = [
  'AI_JSONParseError',
  'AI_TypeValidationError',
  'AI_InvalidResponseDataError',
  'AI_EmptyResponseBodyError',
  'AI_NoContentGeneratedError',
  'AI_NoOutputGeneratedError',
  'AI_StreamProviderError',
];

function failed(name: string, provider: string) {
  if (BAD_ANSWERS.includes(name)) return badAnswer(provider);
  return {
    code: 'runtime_fault',
    reason: 'model_failed',
    detail: `The call of ${provider} failed.`,
  } as const;
}

function readEvidence(thrown: unknown): Evidence {
  // A retried call ends in an error that holds those of all attempts: the last one has the final reason.
  const error = fields(fields(thrown).lastError ?? thrown);
  const data = fields(error.data);
  const stated = fields(data.error ?? fields(data.response).error ?? data);
  const given = [error.code, error.type, stated.code, stated.type, stated.status];
  const headers = fields(error.responseHeaders);
  return {
    name: typeof error.name === 'string' ? error.name.slice(0, 64) : typeof thrown,
    status: [error.statusCode, stated.statusCode].find((value) => typeof value === 'number'),
    codes: given.filter((value) => typeof value === 'string'),
    prose: [thrown, error.message, stated.message].filter((value) => typeof value === 'string').join('\n'),
    retryAfter: [headers['retry-after']].find(
      (value): value is string => typeof value === 'string' && /^\d{1,6}$/.test(value),
    ),
  };
}

const NEVER_SENT = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'];

function wasNeverSent(thrown: unknown): boolean {
  let error = fields(fields(thrown).lastError ?? thrown);
  for (let depth = 0; depth < 5; depth++) {
    if (typeof error.code === 'string' && NEVER_SENT.includes(error.code)) return true;
    error = fields(error.cause);
  }
  return false;
}

function fields(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}
