/**
 * Why no summary came, in the words of somebody who has never heard of providers and tokens: what happened, and what to
 * do now. The codes and reasons stay those of the model host.
 */
import { PlatformError } from '@freehold/contracts';
import type { ModelRefusal } from '@freehold/vertical-host/model';

const TELL = 'Tell whoever runs this platform';

const WORDS: Readonly<Partial<Record<ModelRefusal, string>>> = {
  model_unknown: `The provider does not have the language model that is named here. ${TELL}.`,
  model_credentials: `The language model does not accept the key of this platform. ${TELL}.`,
  model_quota: `The account of this platform at the provider of the language model is used up. ${TELL}.`,
  model_rate_limited: 'The language model is asked too often at the moment. Try again in a while.',
  model_unreachable: `The language model cannot be reached. Try again later. ${TELL} if it stays like this.`,
  model_timeout: 'The language model took too long. Try again.',
  model_unavailable: 'The language model cannot answer at the moment. Try again later.',
  model_context: 'The story of this order is longer than the language model can read at once.',
  model_refused: 'The provider of the language model refused to write about this order.',
  model_request: `The language model did not understand what it was asked. ${TELL}.`,
  model_answer: 'The answer of the language model broke off, or cannot be understood. Try again.',
  model_failed: `Asking the language model failed. Try again later. ${TELL} if it stays like this.`,
};

/** Those that only the operator can do something about, who learns of them by nobody else. */
const FOR_OPERATOR: ReadonlySet<string | undefined> = new Set([
  'model_unknown',
  'model_credentials',
  'model_quota',
  'model_request',
] satisfies ModelRefusal[]);

/** The same failure in words for people; what is none of the model host's is given back as it is. */
export function inPlainWords(failure: unknown): unknown {
  if (!(failure instanceof PlatformError)) return failure;
  const { code, reason, headers } = failure;
  const words = isRefusal(reason) ? WORDS[reason] : undefined;
  if (words === undefined || reason === undefined) return failure;
  return new PlatformError(code, words, {
    reason,
    cause: failure,
    ...(headers === undefined ? {} : { headers }),
  });
}

/** Whether the operator should hear of a failure: nobody expected it, or nobody else can put it right. */
export function isForOperator(failure: unknown): boolean {
  return !(failure instanceof PlatformError) || FOR_OPERATOR.has(failure.reason);
}

function isRefusal(reason: string | undefined): reason is ModelRefusal {
  return reason !== undefined && Object.hasOwn(WORDS, reason);
}
