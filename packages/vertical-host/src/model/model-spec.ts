/** The name of a model: `<provider_row>:<model_id>` (spec 4.8). */
import { PlatformError } from '@freehold/contracts';
import type { ModelRefusal } from './refusal.ts';

export interface ModelSpec {
  /** The row of providers, such as `openai` or `openai-compatible`. */
  readonly provider: string;
  /** The provider's own name of the model. It may have colons and slashes. */
  readonly modelId: string;
}

const PROVIDER = /^[a-z][a-z0-9-]{0,31}$/;
/** Google's model id becomes part of a path, so it must not lead to another address. */
const MODEL_ID = /^[A-Za-z0-9@][\w.:/@+-]{0,199}$/;
const LEADS_AWAY = /(?:^|\/)\.{1,2}(?:\/|$)|\/\//;

/**
 * Splits at the first colon.
 * @throws PlatformError `validation_failed`, reason `model_spec`. It does not repeat the input.
 */
export function parseModelSpec(spec: string): ModelSpec {
  const colon = spec.indexOf(':');
  const provider = spec.slice(0, Math.max(colon, 0));
  const modelId = spec.slice(colon + 1);
  if (!PROVIDER.test(provider) || !MODEL_ID.test(modelId) || LEADS_AWAY.test(modelId))
    throw new PlatformError(
      'validation_failed',
      'A model is named by its provider, a colon and its id, as in openai:gpt-5-mini.',
      { reason: 'model_spec' satisfies ModelRefusal },
    );
  return { provider, modelId };
}
