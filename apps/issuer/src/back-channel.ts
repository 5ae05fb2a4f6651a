/**
 * Reports a sign-out to applications (OpenID Connect Back-Channel Logout 1.0). oidc-provider has one address for each
 * client; here one client can stand for several applications, each at its own origin.
 */

type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface BackChannelOptions {
  readonly fetch: Fetch;
  /** Is called with every application that could not be reached. */
  readonly onError: (error: unknown) => void;
}

export interface BackChannel {
  /** Sets the addresses of a client; none or one leaves everything to oidc-provider. */
  register(clientId: string, uris: readonly string[]): void;
  /** Records a redirect to an application of a client, in the session that its ID tokens and logout tokens name. */
  visited(sid: string, redirectUri: string): void;
  /**
   * Sends oidc-provider's requests. A logout token for a client with several addresses goes to those at whose origin
   * the session was used; to all when that is unknown. A failure is reported and stops no other delivery.
   */
  readonly fetch: Fetch;
}

/** The number of sessions in the memory adapter; the least recently used go first. */
const SESSIONS_MAX = 1000;

export function makeBackChannel({ fetch, onError }: BackChannelOptions): BackChannel {
  const addresses = new Map<string, readonly string[]>();
  const origins = new Map<string, ReadonlySet<string>>();

  async function send(uri: string, init: RequestInit): Promise<void> {
    try {
      const { status } = await fetch(uri, init);
      if (status !== 200 && status !== 204) throw new Error(`it answered with status ${status}`);
    } catch (cause) {
      onError(new Error(`${uri} could not be told of a sign-out.`, { cause }));
    }
  }

  return {
    register: (clientId, uris) => void addresses.set(clientId, uris),
    visited(sid, redirectUri) {
      const known = origins.get(sid) ?? new Set();
      origins.delete(sid);
      origins.set(sid, new Set([...known, new URL(redirectUri).origin]));
      const [oldest] = origins.keys();
      if (origins.size > SESSIONS_MAX && oldest !== undefined) origins.delete(oldest);
    },
    async fetch(url, init) {
      const { aud, sid } = logoutClaimsOf(init.body);
      const uris = (aud === undefined ? undefined : addresses.get(aud)) ?? [];
      if (uris.length < 2) return fetch(url, init);
      const visited = sid === undefined ? undefined : origins.get(sid);
      const concerned = uris.filter((uri) => visited === undefined || visited.has(new URL(uri).origin));
      await Promise.all(concerned.map((uri) => send(uri, init)));
      return new Response(null, { status: 200 });
    },
  };
}

/** The claims of our own new logout token; empty for any other body. */
function logoutClaimsOf(body: unknown): { readonly aud?: string; readonly sid?: string } {
  const token = body instanceof URLSearchParams ? body.get('logout_token') : null;
  const payload = token?.split('.')[1];
  return payload === undefined ? {} : JSON.parse(Buffer.from(payload, 'base64url').toString());
}
