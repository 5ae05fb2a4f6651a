/** The fetch that goes to providers: guarded like that to issuers, and telling the operator what the guard refused. */
import type { OpsFailureInput } from '@freehold/directory';
import { AddressRefused, type Fetch } from '../network/guarded-fetch.ts';

/**
 * A caller of the API is told only that the provider cannot be reached, as for one that is down; the operator, who can
 * change it, is told why.
 */
export function makeProviderFetch(
  guarded: Fetch,
  onFailure: (failure: OpsFailureInput) => void,
): (url: string, init: RequestInit) => Promise<Response> {
  return async (url, init) => {
    try {
      return await guarded(url, init);
    } catch (error) {
      const refusal = refusalIn(error);
      if (refusal)
        onFailure({
          operation: 'connections.fetch',
          subject: new URL(url).hostname.slice(0, 128),
          reason: 'address_refused',
          detail: refusal.message,
        });
      throw error;
    }
  };
}

/** fetch wraps what a connection failed with. */
function refusalIn(error: unknown): AddressRefused | null {
  if (error instanceof AddressRefused) return error;
  const cause = error instanceof Error ? error.cause : null;
  return cause instanceof AddressRefused ? cause : null;
}
