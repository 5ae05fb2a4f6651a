/** From a request to a principal: who proves who is asking, and who that is to this business. */
import {
  AuthConfigError,
  type InstanceAuthCache,
  makeInstanceAuthCache,
  resolvePrincipal,
  type VerifyingAuthProvider,
} from '@freehold/auth';
import { PlatformError, type PrincipalId, problemDocument, toProblem } from '@freehold/contracts';
import { refusal } from '@freehold/contracts/http';
import { HTTPException } from 'hono/http-exception';
import { manifest } from '../manifest.ts';
import {
  type Caller,
  directoryOf,
  type FieldworkContext,
  type FieldworkDeps,
  requireNode,
  type Services,
  scopeOf,
} from './env.ts';

/** Where signing in begins. */
const LOGIN_PATH = '/api/auth/login';

/**
 * Makes the function that answers the auth provider of a request's instance. What was delivered to an instance is
 * kept between requests for as long as it stands; the worker's own bindings are the same for all of them.
 */
export function makeProviders(
  deps: FieldworkDeps,
  directory: Services['directory'],
): (c: FieldworkContext) => Promise<VerifyingAuthProvider> {
  const { now, random, fetch } = deps;
  let cache: { readonly bindings: string; readonly find: InstanceAuthCache } | null = null;

  const cacheFor = (c: FieldworkContext): InstanceAuthCache => {
    const env = Object.fromEntries(
      Object.keys(manifest.env).flatMap((key) => (typeof c.env[key] === 'string' ? [[key, c.env[key]]] : [])),
    );
    const bindings = JSON.stringify(env);
    if (cache?.bindings !== bindings) {
      const runtime = { onError: '/', ...deps.auth, now, random, fetch };
      cache = { bindings, find: makeInstanceAuthCache({ envSpec: manifest.env, env, runtime }) };
    }
    return cache.find;
  };

  return async (c) => {
    const node = requireNode(c);
    const auth = await cacheFor(c)({ directory: directory(node.tenant), scopeId: node.scope });
    try {
      return auth.provider();
    } catch (error) {
      if (error instanceof AuthConfigError) throw configException(c, error);
      throw error;
    }
  };
}

/**
 * Who is asking, settled once a request. While the owner seat waits to be claimed, this is what claims it.
 * @throws PlatformError `not_found` when the scope is not this tenant's.
 */
export function callerOf(services: Services, c: FieldworkContext): Promise<Caller> {
  const known = c.get('caller') as Promise<Caller> | undefined;
  if (known) return known;
  const caller = resolveCaller(services, c);
  // Whoever awaits it hears of a failure; a second listener must not make it an unhandled one.
  caller.catch(() => undefined);
  c.set('caller', caller);
  return caller;
}

async function resolveCaller(services: Services, c: FieldworkContext): Promise<Caller> {
  const { tenant, scope } = requireNode(c);
  const { tenantId } = await scopeOf(services, c).identify({});
  // The router has said whose scope this is. If it were wrong, one tenant's people would walk into another's.
  if (tenantId !== tenant) throw new PlatformError('not_found', 'There is no application at this address.');
  const subject = await (await services.provider(c)).resolve(c.req.raw.headers);
  if (!subject) return { subject: null, principal: null };
  const { session, ...issued } = subject;
  const found = await resolvePrincipal(directoryOf(services, c), {
    scopeId: scope,
    subject: issued,
    session,
  });
  return found.session === 'ended'
    ? { subject: null, principal: null }
    : { subject, principal: found.principal };
}

/**
 * The principal of a signed-in member: the gate of everything under `/api` but the door itself (spec 1).
 * @throws HTTPException 401 that says where to sign in; PlatformError `forbidden`, reason `not_a_member`.
 */
export async function authenticatedPrincipal(services: Services, c: FieldworkContext): Promise<PrincipalId> {
  const { subject, principal } = await callerOf(services, c);
  if (!subject) throw signInException();
  if (!principal)
    throw new PlatformError(
      'forbidden',
      'You are signed in, but you are not a member here. Ask the owner for an invite.',
      {
        reason: 'not_a_member',
      },
    );
  return principal;
}

/**
 * Demands a permission for the whole scope, for routes that are not operations. A refusal is in the denial log.
 * @throws PlatformError `permission_denied`
 */
export async function requirePermission(
  services: Services,
  c: FieldworkContext,
  permission: keyof typeof manifest.permissions,
): Promise<PrincipalId> {
  const principal = await authenticatedPrincipal(services, c);
  await scopeOf(services, c).check({ principal, permission });
  return principal;
}

/** 401 with the address of the sign-in beside the problem. A page decides itself whether to go there. */
export function signInException(): HTTPException {
  const error = new PlatformError('unauthenticated', 'Sign in first.');
  const { headers } = problemDocument(error);
  const body = { ...toProblem(error), loginUrl: `${LOGIN_PATH}?returnTo=%2F` };
  return new HTTPException(401, {
    message: error.message,
    res: new Response(JSON.stringify(body), { status: 401, headers }),
  });
}

/** A sign-in that is not set up, as the framework's exception with the status and the words of the error (spec 7.3). */
function configException(c: FieldworkContext, error: AuthConfigError): HTTPException {
  const code = error.status === 503 ? 'unavailable' : 'internal';
  const refused = new PlatformError(code, error.message, { reason: 'sign_in_not_configured' });
  const res = refusal(c.req.raw.headers, refused);
  return new HTTPException(error.status, { message: error.message, res, cause: error });
}
