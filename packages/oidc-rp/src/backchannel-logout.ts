/**
 * Receives an issuer's notice that a user signed out (OpenID Connect Back-Channel Logout 1.0). It is optional: the
 * application must remember ended sessions, and a relying party that only signs cookies does not.
 */
import { PlatformError, problemDocument } from '@freehold/contracts';
import type { Context, Env, Hono } from 'hono';
import type { OidcContext } from './context.ts';
import { OidcError } from './lib/errors.ts';
import { readLimitedBody } from './lib/limited-body.ts';
import { type LogoutToken, verifyLogoutToken } from './logout-token.ts';

/** The path to register at the issuer as `backchannel_logout_uri`, after the application's origin. */
export const BACKCHANNEL_LOGOUT_PATH = '/api/auth/backchannel-logout';

/** Logout tokens have about 1 KB; a larger body only costs memory. */
const BODY_BYTES_MAX = 16 * 1024;
/** Seconds after which an issuer should repeat its request. */
const RETRY_AFTER_S = 30;

export interface BackchannelLogoutHooks {
  /**
   * Ends the sessions that the token names; awaited before the issuer gets its answer. Must be idempotent: issuers
   * repeat a request whose answer they missed, and a captured one can be repeated until it expires (see
   * `token.jti`).
   */
  readonly onLogout: (token: LogoutToken, request: Request) => void | Promise<void>;
  /** Called for every refusal and failure, for the operator's log. */
  readonly onFailure?: (error: OidcError) => void;
}

export interface MountBackchannelLogoutOptions<E extends Env = Env>
  extends Pick<BackchannelLogoutHooks, 'onFailure'> {
  /** Returns the relying party of a request, such as its tenant's. */
  readonly resolve: (c: Context<E>) => OidcContext | Promise<OidcContext>;
  /** As in `BackchannelLogoutHooks`. */
  readonly onLogout: (token: LogoutToken, c: Context<E>) => void | Promise<void>;
}

/**
 * Mounts the address to which the issuer posts, and only that; `mountOidcRoutes` never mounts it. An error that
 * `resolve` throws goes to the application's error handler.
 */
export function mountBackchannelLogout<E extends Env>(
  app: Hono<E>,
  options: MountBackchannelLogoutOptions<E>,
): void {
  const { resolve, onLogout, onFailure } = options;
  // Every method, so that a wrong one is answered with the right one.
  app.all(BACKCHANNEL_LOGOUT_PATH, async (c) =>
    handleBackchannelLogout(await resolve(c), c.req.raw, {
      onLogout: (token) => onLogout(token, c),
      ...(onFailure === undefined ? {} : { onFailure }),
    }),
  );
}

/**
 * Answers a form POST with exactly one `logout_token` (section 2.5): 200 once `onLogout` is done, 400 for an
 * invalid request or token, 405 for another method, and 503 with `Retry-After` when the issuer's keys are
 * unavailable or `onLogout` throws, so that the issuer repeats. Errors are JSON as in section 2.8; no answer may
 * be stored. Rejects only for a body that breaks off, and for our own bugs.
 */
export async function handleBackchannelLogout(
  env: OidcContext,
  request: Request,
  hooks: BackchannelLogoutHooks,
): Promise<Response> {
  if (request.method !== 'POST') {
    return problemDocument(
      new PlatformError('method_not_allowed', 'This address takes POST.', { headers: { allow: 'POST' } }),
    );
  }
  try {
    const token = await verifyLogoutToken(env, await readLogoutToken(request));
    await endSessions(token, request, hooks);
    return new Response(null, { status: 200, headers: { 'cache-control': 'no-store' } });
  } catch (error) {
    if (!(error instanceof OidcError)) throw error;
    hooks.onFailure?.(error);
    return refusal(error);
  }
}

async function readLogoutToken(request: Request): Promise<string> {
  const mediaType = request.headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase();
  if (mediaType !== 'application/x-www-form-urlencoded') refuse('The body must be a form.');
  const body = await readLimitedBody(request, BODY_BYTES_MAX);
  if (body === null) refuse(`The body must have at most ${BODY_BYTES_MAX} bytes.`);
  const [token, ...others] = new URLSearchParams(new TextDecoder().decode(body)).getAll('logout_token');
  if (token === undefined || token === '' || others.length > 0) {
    refuse('The form must have exactly one logout_token.');
  }
  return token;
}

async function endSessions(
  token: LogoutToken,
  request: Request,
  { onLogout }: BackchannelLogoutHooks,
): Promise<void> {
  try {
    await onLogout(token, request);
  } catch (cause) {
    throw new OidcError('sign_out_incomplete', 'The sessions could not be ended.', { cause });
  }
}

/** The answer repeats nothing that the caller sent. */
function refusal(error: OidcError): Response {
  const headers = { 'cache-control': 'no-store' };
  if (error.code === 'logout_request_invalid') {
    return Response.json(
      { error: 'invalid_request', error_description: error.detail },
      { status: 400, headers },
    );
  }
  const isOurs = error.code === 'sign_out_incomplete';
  return Response.json(
    {
      error: isOurs ? 'server_error' : 'temporarily_unavailable',
      error_description: isOurs ? error.detail : 'The keys of the issuer are not available right now.',
    },
    { status: 503, headers: { ...headers, 'retry-after': String(RETRY_AFTER_S) } },
  );
}

function refuse(detail: string): never {
  throw new OidcError('logout_request_invalid', detail);
}
