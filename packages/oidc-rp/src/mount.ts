/** `mountOidcRoutes`: exactly the three sign-in routes on a Hono application (spec 4.1, B-09). */
import type { Context, Env, Hono } from 'hono';
import type { OidcContext } from './context.ts';
import { CALLBACK_PATH, LOGIN_PATH, LOGOUT_PATH } from './cookies.ts';
import { type OidcEnv, parseOidcEnv } from './env.ts';
import { isRecord } from './lib/record.ts';
import { makeRelyingParty } from './relying-party.ts';
import { type AuthRoutesOptions, checkAuthRoutesOptions, handleAuthRequest } from './routes.ts';

export interface MountOidcOptions<E extends Env = Env> extends AuthRoutesOptions {
  /**
   * Returns the relying party of a request, such as its tenant's. Default: one made from the worker's bindings
   * (`c.env`), with the platform's own fetch and clock.
   */
  readonly resolve?: (c: Context<E>) => OidcContext | Promise<OidcContext>;
}

/** @throws TypeError when `onSuccess` or `onError` is not a same-origin path. */
export function mountOidcRoutes<E extends Env>(app: Hono<E>, options: MountOidcOptions<E> = {}): void {
  checkAuthRoutesOptions(options);
  const resolve = options.resolve ?? makeBindingsResolver();
  for (const path of [LOGIN_PATH, CALLBACK_PATH, LOGOUT_PATH]) {
    app.get(path, async (c) => handleAuthRequest(await resolve(c), c.req.raw, options));
  }
}

/**
 * Makes a resolver for a worker with one relying party: made at the first request, and again when a binding
 * changes.
 */
function makeBindingsResolver(): (c: { env: unknown }) => OidcContext {
  let made: { readonly key: string; readonly relyingParty: OidcContext } | undefined;
  return (c) => {
    const env: OidcEnv = parseOidcEnv(isRecord(c.env) ? c.env : {});
    const key = JSON.stringify(env);
    if (made?.key !== key) {
      made = {
        key,
        relyingParty: makeRelyingParty({ env, fetch: (url, init) => fetch(url, init), now: Date.now }),
      };
    }
    return made.relyingParty;
  };
}
