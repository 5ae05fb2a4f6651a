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
import { PlatformError, problemDocument } from '@freehold/contracts';
import { HTTPException } from 'hono/http-exception';
import type { AppContext, AppServices, Instance, Services, SignIn, SignIns } from '../declaration/env.ts';
import { colorOf } from '../declaration/look.ts';
import { requireNode } from './caller.ts';

/** Where the holder of an account of the directory changes what it signs in with. */
const SECURITY_PATH = '/api/auth/security';
/** The longest name that the pages of the directory show. */
const APP_NAME_LENGTH_MAX = 80;

/**
 * Makes the function that returns the sign-in of a request's instance. It is cached while the configuration of the
 * instance is unchanged; the worker's own bindings are the same for all of them.
 */
export function makeSignIns(
  deps: AppServices,
  { host, directory, manifest, app }: Pick<Services, 'host' | 'directory' | 'manifest' | 'app'>,
): SignIns {
  const { now, random, fetch } = deps;
  const color = colorOf(app.look ?? {});
  const language = app.look?.language;
  const runtime: AuthRuntime = {
    onError: '/',
    backchannelLogout: true,
    // A person who cancels or comes back late is no incident; a failing issuer is.
    onFailure: (error) => {
      if (error.status >= 500)
        deps.onIncident(error, { kind: manifest.slug, key: error.code, method: 'sign-in' });
    },
    ...deps.auth,
    now,
    random,
    fetch,
  };
  let cache: { readonly bindings: string; readonly find: InstanceAuthCache } | null = null;
  // Hashing a password is dear on purpose. One hasher bounds how many are hashed at once, for all instances together.
  const passwordHasher = makePasswordHasher({ random });
  /** The cache of configurations answers the same one until something changes, so that it is the key here. */
  const made = new WeakMap<InstanceAuth, SignIn>();

  const cacheFor = (c: AppContext): InstanceAuthCache => {
    const env = Object.fromEntries(
      Object.keys(manifest.env).flatMap((key) => (typeof c.env[key] === 'string' ? [[key, c.env[key]]] : [])),
    );
    const bindings = JSON.stringify(env);
    if (cache?.bindings !== bindings) {
      cache = { bindings, find: makeInstanceAuthCache({ envSpec: manifest.env, env, runtime }) };
    }
    return cache.find;
  };

  const make = async (auth: InstanceAuth, node: Instance): Promise<SignIn> => {
    // A choice that was delivered and cannot be used is a fault to be told, not a reason to let people sign up.
    const isChosen = Object.hasOwn(auth.config, IDENTITY_CHOICE_KEY);
    if (!isChosen && auth.settings.AUTH_PROVIDER === 'directory') {
      const { name } = await host.scope(node.scope).identify({});
      return directorySignIn(makeDirectoryProvider(name, auth, node), auth.settings);
    }
    return issuerSignIn(auth.provider(), auth.identity === null ? 'tokens' : 'hosted', auth.settings);
  };

  const makeDirectoryProvider = (
    business: string,
    auth: InstanceAuth,
    { tenant, scope, origin, cookieDomain }: Instance,
  ): DirectoryAuthProvider => {
    if (!deps.mailer)
      throw new AuthConfigError(500, 'AUTH_PROVIDER is directory, and there is no way to send mail.');
    return doAuthProvider({
      tenantId: tenant,
      scopeId: scope,
      sessionSecret: auth.sessionSecrets,
      directory: directory(tenant),
      mailer: deps.mailer,
      baseUrl: auth.settings.BASE_URL || origin,
      theme: {
        appName: business.slice(0, APP_NAME_LENGTH_MAX),
        ...(color && { accentColor: color }),
        ...(language && { language }),
      },
      // A misspelt value closes it.
      signUp: auth.settings.SIGN_UP === 'open' ? 'open' : 'closed',
      runtime: cookieDomain === undefined ? runtime : { ...runtime, cookieDomain },
      passwordHasher,
      onIncident: (error) => deps.onIncident(error, { kind: manifest.slug, key: scope, method: 'sign-in' }),
    });
  };

  const instanceOf = ({ tenant, scope, origin, cookieDomain }: Instance): CachedInstance => ({
    directory: directory(tenant),
    scopeId: scope,
    // Clients that take the address apart and put it together again write it with a slash.
    resource: [origin, `${origin}/`],
    cookieDomain,
  });

  const signInOf = async (c: AppContext, auth: InstanceAuth): Promise<SignIn> => {
    const node = requireNode(c);
    const known = made.get(auth);
    if (known) return known;
    try {
      const signIn = await make(auth, node);
      made.set(auth, signIn);
      return signIn;
    } catch (error) {
      if (error instanceof AuthConfigError) throw configException(error);
      throw error;
    }
  };
  const find = async (c: AppContext): Promise<SignIn> =>
    signInOf(c, await cacheFor(c)(instanceOf(requireNode(c))));

  return Object.assign(find, {
    recognise: (c: AppContext) =>
      recogniseCaller({
        cache: cacheFor(c),
        instance: instanceOf(requireNode(c)),
        headers: c.req.raw.headers,
        clientAddress: c.env.clientAddress ?? null,
        now,
        signInOf: (auth) => signInOf(c, auth),
      }),
    // Forgets the cached sign-in together with its configuration.
    forget: (scope: { scopeId: string }) => cache?.find.forget(scope),
  });
}

function issuerSignIn(
  provider: VerifyingAuthProvider,
  mode: 'hosted' | 'tokens',
  settings: InstanceAuth['settings'],
): SignIn {
  return { mode, provider, settings, handle: (request) => provider.handle(request) };
}

function directorySignIn(provider: DirectoryAuthProvider, settings: InstanceAuth['settings']): SignIn {
  return {
    mode: 'directory',
    securityUrl: SECURITY_PATH,
    provider,
    settings,
    handle: (request, { clientAddress }) =>
      provider.handle(request, clientAddress === null ? {} : { clientAddress }),
  };
}

/** A sign-in that is not set up, as the framework's exception with the status and the words of the error (spec 7.3). */
function configException(error: AuthConfigError): HTTPException {
  const code = error.status === 503 ? 'unavailable' : 'internal';
  const refused = new PlatformError(code, error.message, { reason: 'sign_in_not_configured' });
  const res = problemDocument(refused);
  return new HTTPException(error.status, { message: error.message, res, cause: error });
}
