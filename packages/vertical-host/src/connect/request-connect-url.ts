/** Asks the platform for a consent URL, to send a person's browser to (spec 4.7). */
import { CONNECT_URL_PATH, type ConnectUrlResponse, connectUrlResponse } from '@freehold/contracts/http';
import {
  askPlatform,
  type PlatformAddress,
  PlatformRequestError,
  type PlatformRequestOptions,
} from './ask-platform.ts';

export interface ConnectUrlOrder extends PlatformAddress {
  readonly tenantId: string;
  /** One of this vertical's own scopes: every other is unknown to it. */
  readonly scopeId: string;
  /** A provider with a platform consent round. */
  readonly provider: string;
  /** The principal whose permission check passed; stamped on the resulting connection. */
  readonly createdBy: string;
  /** The caller's own name for the connected account; echoed back. */
  readonly subjectRef: string;
  /** An https URL of a surface that is bound to this scope. The answer comes back in its query. */
  readonly returnUrl: string;
  /** At most 900, which is also the default. More is refused, and not clamped. */
  readonly ttlSeconds?: number;
}

/** The platform's refusal. Reasons: `unknown_scope`, `no_consent_round`, `return_url_unbound` and others. */
export class ConnectUrlRequestError extends PlatformRequestError {
  override readonly name = 'ConnectUrlRequestError';
}

/**
 * Requests a consent URL. `vertical` of the answer is from the platform's own record.
 * @throws ConnectUrlRequestError when the platform refuses, or its answer is not part of its contract.
 * @throws TypeError as `fetch` does, when the control plane cannot be reached; also when it takes too long.
 */
export async function requestConnectUrl(
  { controlPlaneUrl, platformSecret, ...body }: ConnectUrlOrder,
  options: PlatformRequestOptions = {},
): Promise<ConnectUrlResponse> {
  const question = {
    path: CONNECT_URL_PATH,
    body,
    answer: connectUrlResponse,
    Refused: ConnectUrlRequestError,
  };
  return (await askPlatform({ controlPlaneUrl, platformSecret }, question, options)).value;
}
