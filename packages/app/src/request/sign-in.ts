/**
 * The sign-in of one instance. A delivered choice counts first, then the resolved settings: an issuer whose access
 * tokens are accepted, or accounts of the tenant's own directory.
 */
import {
  AuthConfigError,
  type AuthRuntime,
  type CachedInstance,
  type DirectoryAuthProvider,
  doAuthProvider,
  IDENTITY_CHOICE_KEY,
  type InstanceAuth,
  type InstanceAuthCache,
  makeInstanceAuthCache,
  makePasswordHasher,
  recogniseCaller,
  type VerifyingAuthProvider,
} from '@freehold/auth';
import { type EnvSpec, PlatformError, problemDocument } from '@freehold/contracts';
import { makeRateLimiter } from '@freehold/contracts/http';
import { HTTPException } from 'hono/http-exception';
import type { AppLook } from '../declaration/app.ts';
import type {
  AppContext,
  AppServices,
  Instance,
  Recognition,
  Services,
  SignIn,
  SignIns,
} from '../declaration/env.ts';
import { colorOf } from '../declaration/look.ts';
import { MCP_PATH, requireNode } from './caller.ts';

/** Where the holder of an account of the directory changes what it signs in with. */
const SECURITY_PATH = '/api/auth/security';
/** The longest name that the pages of the directory show. */
const APP_NAME_LENGTH_MAX = 80;

/** The instance that a person signs in at, and the bindings of all instances of its vertical. */
export interface SignInPlace {
  readonly node: Instance;
  readonly env: Readonly<Record<string, unknown>>;
}

/** The sender's part of a request. */
export interface Sender {
  readonly headers: Headers;
  /** The network address; null when it is unknown. */
  readonly clientAddress: string | null;
}

export interface SignInParts
  extends Pick<AppServices, 'now' | 'random' | 'fetch' | 'onIncident' | 'auth' | 'mailer'> {
  /** Names the vertical in incidents. */
  readonly slug: string;
  /** The settings that the vertical declares. */
  readonly envSpec: EnvSpec;
  /** The look of the pages and mails of the directory. */
  readonly look: AppLook | undefined;
  readonly directory: Services['directory'];
  /** The name of an instance, which the pages and mails of the directory show. */
  readonly nameOf: (node: Instance) => Promise<string>;
}

/** The sign-ins of all instances of a vertical. */
export interface InstanceSignIns {
  /** @throws AuthConfigError where it is not set up. */
  at(place: SignInPlace): Promise<SignIn>;
  /**
   * The same, with who is asking, and the version of the settings by which that was judged.
   * @throws AuthConfigError; PlatformError as `recogniseCaller` does.
   */
  recognise(place: SignInPlace, sender: Sender): Promise<Recognition & { readonly version: string }>;
  /** Drops the cached sign-in of a scope that is deleted. */
  forget(scope: { readonly scopeId: string }): void;
}

/**
 * Makes the sign-ins of a vertical. One is cached while the configuration of its instance is unchanged; the bindings are the
 * same for all of them.
 */
export function makeInstanceSignIns(parts: SignInParts): InstanceSignIns {
  const { slug, envSpec, now, random, fetch, onIncident } = parts;
  const runtime: AuthRuntime = {
    onError: '/',
    backchannelLogout: true,
    // A person who cancels or comes back late is no incident; a failing issuer is.
    onFailure: (error) => {
      if (error.status >= 500) onIncident(error, { kind: slug, key: error.code, method: 'sign-in' });
    },
    ...parts.auth,
    now,
    random,
    fetch,
  };
  let cache: { readonly bindings: string; readonly find: InstanceAuthCache } | null = null;
  // Hashing a password is dear on purpose. One hasher bounds how many are hashed at once, for all instances together.
  const passwordHasher = makePasswordHasher({ random });
  // The limit of each program is its owner's; the one here is never used.
  const limiter = makeRateLimiter(now, { calls: 1, windowSeconds: 60 });
  /** The cache of configurations answers the same one until something changes, so that it is the key here. */
  const made = new WeakMap<InstanceAuth, SignIn>();

  const cacheFor = ({ env: bound }: SignInPlace): InstanceAuthCache => {
    const env = Object.fromEntries(
      Object.keys(envSpec).flatMap((key) => (typeof bound[key] === 'string' ? [[key, bound[key]]] : [])),
    );
    const bindings = JSON.stringify(env);
    if (cache?.bindings !== bindings)
      cache = { bindings, find: makeInstanceAuthCache({ envSpec, env, runtime }) };
    return cache.find;
  };

  const make = async (auth: InstanceAuth, node: Instance): Promise<SignIn> => {
    // A choice that was delivered and cannot be used is a fault to be told, not a reason to let people sign up.
    const isChosen = Object.hasOwn(auth.config, IDENTITY_CHOICE_KEY);
    if (!isChosen && auth.settings.AUTH_PROVIDER === 'directory')
      return directorySignIn(makeDirectoryProvider(await parts.nameOf(node), auth, node), auth);
    return issuerSignIn(auth.provider(), auth);
  };

  const makeDirectoryProvider = (
    business: string,
    auth: InstanceAuth,
    { tenant, scope, origin, cookieDomain }: Instance,
  ): DirectoryAuthProvider => {
    const { mailer, look = {} } = parts;
    const color = colorOf(look);
    if (!mailer)
      throw new AuthConfigError(500, 'AUTH_PROVIDER is directory, and there is no way to send mail.');
    return doAuthProvider({
      tenantId: tenant,
      scopeId: scope,
      sessionSecret: auth.sessionSecrets,
      directory: parts.directory(tenant),
      mailer,
      baseUrl: auth.settings.BASE_URL || origin,
      theme: {
        appName: business.slice(0, APP_NAME_LENGTH_MAX),
        ...(color && { accentColor: color }),
        ...(look.language !== undefined && { language: look.language }),
      },
      // A misspelt value closes it.
      signUp: auth.settings.SIGN_UP === 'open' ? 'open' : 'closed',
      runtime: cookieDomain === undefined ? runtime : { ...runtime, cookieDomain },
      passwordHasher,
      onIncident: (error) => onIncident(error, { kind: slug, key: scope, method: 'sign-in' }),
    });
  };

  const instanceOf = ({ node: { tenant, scope, origin, cookieDomain } }: SignInPlace): CachedInstance => ({
    directory: parts.directory(tenant),
    scopeId: scope,
    // Clients that take the address apart and put it together again write it with a slash.
    resource: [origin, `${origin}/`, origin + MCP_PATH],
    cookieDomain,
  });

  const signInOf = async (node: Instance, auth: InstanceAuth): Promise<SignIn> => {
    const known = made.get(auth);
    if (known) return known;
    const signIn = await make(auth, node);
    made.set(auth, signIn);
    return signIn;
  };

  return {
    at: async (place) => signInOf(place.node, await cacheFor(place)(instanceOf(place))),
    recognise: (place, { headers, clientAddress }) =>
      recogniseCaller({
        cache: cacheFor(place),
        instance: instanceOf(place),
        headers,
        clientAddress,
        now,
        limiter,
        onIncident: (error) => onIncident(error, { kind: slug, key: place.node.scope, method: 'programs' }),
        signInOf: (auth) => signInOf(place.node, auth),
      }),
    // Forgets the cached sign-in together with its configuration.
    forget: (scope) => cache?.find.forget(scope),
  };
}

/** The sign-ins as the routes of an application ask for them. */
export function makeSignIns(signIns: InstanceSignIns): SignIns {
  const placeOf = (c: AppContext): SignInPlace => ({ node: requireNode(c), env: c.env });
  const senderOf = (c: AppContext): Sender => ({
    headers: c.req.raw.headers,
    clientAddress: c.env.clientAddress ?? null,
  });
  const find = (c: AppContext): Promise<SignIn> => signIns.at(placeOf(c)).catch(raise);
  return Object.assign(find, {
    recognise: (c: AppContext) => signIns.recognise(placeOf(c), senderOf(c)).catch(raise),
    forget: signIns.forget,
  });
}

function raise(error: unknown): never {
  throw error instanceof AuthConfigError ? configException(notConfigured(error)) : error;
}

/** A sign-in that is not set up, as an error of the platform: with the status and the words of the error (spec 7.3). */
export function notConfigured({ status, message }: AuthConfigError): PlatformError {
  return new PlatformError(status === 503 ? 'unavailable' : 'internal', message, {
    reason: 'sign_in_not_configured',
  });
}

/** The framework's exception for a sign-in that is not set up; every other error as it is. */
export function configException(error: PlatformError): PlatformError | HTTPException {
  if (error.reason !== 'sign_in_not_configured') return error;
  const status = error.code === 'unavailable' ? 503 : 500;
  return new HTTPException(status, { message: error.message, res: problemDocument(error), cause: error });
}

function issuerSignIn(
  provider: VerifyingAuthProvider,
  { identity, settings, sessionSecrets }: InstanceAuth,
): SignIn {
  const handle: SignIn['handle'] = (request) => provider.handle(request);
  return identity === null
    ? { mode: 'tokens', provider, settings, handle }
    : { mode: 'hosted', provider, settings, sessionSecrets, handle };
}

function directorySignIn(
  provider: DirectoryAuthProvider,
  { settings, sessionSecrets }: InstanceAuth,
): SignIn {
  return {
    mode: 'directory',
    securityUrl: SECURITY_PATH,
    provider,
    settings,
    sessionSecrets,
    handle: (request, { clientAddress }) =>
      provider.handle(request, clientAddress === null ? {} : { clientAddress }),
  };
}
