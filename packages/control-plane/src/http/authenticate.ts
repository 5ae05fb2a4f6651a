/** Who calls (spec 5.5): a bearer token, a vertical's own secret, or a staff session where the wiring brings one. */
import { PLATFORM_SECRET_HEADER, PlatformError } from '@freehold/contracts';
import { requireSameOrigin } from '@freehold/contracts/http';
import type { Actor, HostAdmin } from '@freehold/directory';

export interface Authentication {
  readonly hostAdmin: Pick<HostAdmin, 'authenticate'>;
  /**
   * Which vertical shows this secret. It rejects with a `PlatformError` for one that is nobody's. Default: here verticals
   * have nothing to show, and the header is not looked at.
   */
  readonly verticalOf?: (secret: string) => Promise<string>;
  /** The member of staff behind a request's session cookie, or null. */
  readonly staffSession?: ((request: Request) => Promise<Actor | null>) | undefined;
  /** The origin that browsers see this API at. Default: that of the request. */
  readonly origin?: (() => string) | undefined;
  /** Further parameters of the `WWW-Authenticate` of a refusal, a comma first. Default: none. */
  readonly challenge?: () => string;
}

/** RFC 6750, section 2.1: the scheme in any case, then a b64token. No token of ours is longer than this. */
const BEARER = /^bearer +([A-Za-z0-9\-._~+/]{1,512}=*)$/i;

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * The actor of a request. A request that brings an `Authorization` header is judged by it alone, and one that brings a
 * vertical's secret without it by that alone: a token that was revoked must not fall back to whatever else is sent along.
 * @throws PlatformError `unauthenticated`, reason `token_missing` or `token_invalid`; `forbidden`, reason
 * `platform_secret_unset` or `platform_secret_mismatch` for a vertical, and `cross_site` for a session on an unsafe
 * method that does not come from our own origin.
 */
export async function authenticate(request: Request, through: Authentication): Promise<Actor> {
  const authorization = request.headers.get('authorization');
  const { challenge = () => '', origin } = through;
  if (authorization !== null) {
    const token = BEARER.exec(authorization.trim())?.[1];
    const actor = token === undefined ? null : await through.hostAdmin.authenticate(token);
    if (actor) return actor;
    throw unauthenticated(
      'token_invalid',
      'The token is not one that is accepted here.',
      `, error="invalid_token"${challenge()}`,
    );
  }
  const secret = request.headers.get(PLATFORM_SECRET_HEADER);
  if (secret !== null && through.verticalOf) {
    const vertical = await through.verticalOf(secret);
    return { kind: 'vertical', id: vertical, name: vertical };
  }
  const actor = (await through.staffSession?.(request)) ?? null;
  if (!actor) throw unauthenticated('token_missing', 'Send a token: Authorization: Bearer ….', challenge());
  // A session is for the platform's own pages, and alone it proves no intent: saying nothing is refused too.
  if (!SAFE_METHODS.has(request.method))
    requireSameOrigin(request.headers, origin ?? new URL(request.url).origin, { pageOnly: true });
  return actor;
}

function unauthenticated(reason: string, detail: string, parameters: string): PlatformError {
  return new PlatformError('unauthenticated', detail, {
    reason,
    headers: { 'www-authenticate': `Bearer realm="control plane"${parameters}` },
  });
}
