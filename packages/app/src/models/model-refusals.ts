/**
 * Refusals of a language model, for a person who knows nothing of providers and tokens: what happened, and what to do. The
 * codes and reasons stay those of the model host.
 */
import { PlatformError } from '@freehold/contracts';
import type { ModelRefusal } from '@freehold/vertical-host/model';

const TELL = 'Tell the operator of this platform';

const MESSAGES: Readonly<Partial<Record<ModelRefusal, string>>> = {
  model_unknown: `The provider does not have the language model that is named here. ${TELL}.`,
  model_credentials: `The language model does not accept the key of this platform. ${TELL}.`,
  model_quota: `The account of this platform at the provider of the language model is used up. ${TELL}.`,
  model_rate_limited: 'The language model is asked too often at the moment. Try again in a while.',
  model_unreachable: `The language model cannot be reached. Try again later. ${TELL} if it stays like this.`,
  model_timeout: 'The language model took too long. Try again.',
  model_unavailable: 'The language model cannot answer at the moment. Try again later.',
  model_context: 'The text is longer than the language model can read at once.',
  model_refused: 'The provider of the language model refused to answer this.',
  model_request: `The language model did not understand what it was asked. ${TELL}.`,
  model_answer: 'The answer of the language model broke off, or cannot be understood. Try again.',
  model_failed: `Asking the language model failed. Try again later. ${TELL} if it stays like this.`,
};

/** Failures that only the operator can repair, and would not learn of otherwise. */
const FOR_OPERATOR: ReadonlySet<string | undefined> = new Set([
  'model_unknown',
  'model_credentials',
  'model_quota',
  'model_request',
] satisfies ModelRefusal[]);

/** The same failure in words for people; other errors are returned unchanged. */
export function inPlainWords(failure: unknown): unknown {
  if (!(failure instanceof PlatformError)) return failure;
  const { code, reason, headers } = failure;
  const words = isRefusal(reason) ? MESSAGES[reason] : undefined;
  if (words === undefined || reason === undefined) return failure;
  return new PlatformError(code, words, {
    reason,
    cause: failure,
    ...(headers === undefined ? {} : { headers }),
  });
}

/** Whether the operator should hear of a failure: it is unexpected, or only the operator can repair it. */
export function isForOperator(failure: unknown): boolean {
  return !(failure instanceof PlatformError) || FOR_OPERATOR.has(failure.reason);
}

function isRefusal(reason: string | undefined): reason is ModelRefusal {
  return reason !== undefined && Object.hasOwn(MESSAGES, reason);
}
