/** A language model for one call, within the limits of an instance. */
import type { ModelAnswer, ModelRequest, ModelTextStream } from '@freehold/vertical-host/model';

export type GovernedRequest = Pick<ModelRequest, 'system' | 'prompt' | 'maxOutputTokens' | 'signal'>;

/** A host for one call. All refusals are `PlatformError`s; none is retried. */
export interface GovernedModel {
  run(request: GovernedRequest): Promise<ModelAnswer>;
  stream(request: GovernedRequest): Promise<ModelTextStream>;
}
