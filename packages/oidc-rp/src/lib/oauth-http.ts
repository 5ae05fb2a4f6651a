/** Passes our limited fetch to oauth4webapi. */
import { allowInsecureRequests, customFetch } from 'oauth4webapi';
import type { PeerFetch } from './peer-fetch.ts';

interface OAuthRequestInit {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: URLSearchParams | undefined;
}

/** Returns the request options for every oauth4webapi call. */
export function oauthHttp(fetch: PeerFetch): {
  [customFetch]: (url: string, init: OAuthRequestInit) => Promise<Response>;
  [allowInsecureRequests]: true;
} {
  return {
    [customFetch]: (url, { method, headers, body }) =>
      fetch(url, body === undefined ? { method, headers } : { method, headers, body }),
    // `parseOidcEnv` and `judgeMetadata` decide which plain-http addresses are acceptable, since they know
    // loopback; oauth4webapi only knows all or none.
    [allowInsecureRequests]: true,
  };
}
