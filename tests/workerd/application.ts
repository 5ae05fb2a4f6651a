/**
 * The application of both runtimes, by host name: the platform's own console, which signs in through the mounted
 * routes, and instances of a vertical, which sign in through the auth library with the identity directory of their
 * tenant. It does not depend on the runtime.
 */
import {
  doAuthProvider,
  type IdentityDirectory,
  type InstanceAuth,
  identityDirectory,
  type Mail,
  makeInstanceAuthCache,
  presentedTokenHash,
  recogniseCaller,
  resolvePrincipal,
  type VerifiedSubject,
  type VerifyingAuthProvider,
} from '@freehold/auth';
import {
  type AuthorizationServer,
  makeAuthorizationServer,
  makeClientDocuments,
} from '@freehold/auth/programs';
import { PlatformError, problemDocument, publicError } from '@freehold/contracts';
import { makeRateLimiter } from '@freehold/contracts/http';
import { makeRelyingParty, mountOidcRoutes, parseOidcEnv } from '@freehold/oidc-rp';
import type { Engine } from '@freehold/store';
import { Hono } from 'hono';

/** The tenant and the scope of an instance of the vertical. */
export interface Instance {
  readonly tenantId: string;
  readonly scopeId: string;
}

const ACME = 'tnt_01j00000000000000000000001';
const BIRCH = 'tnt_01j00000000000000000000002';
/** Two tenants have a scope of the same id, so that only the tenant keeps them apart. */
const SHARED_SCOPE = 'scp_01j00000000000000000000001';

export const ACCOUNTS_HOST = 'accounts.localhost';

/** The instances by host name. */
export const INSTANCES: Readonly<Record<string, Instance>> = {
  'acme.localhost': { tenantId: ACME, scopeId: SHARED_SCOPE },
  'birch.localhost': { tenantId: BIRCH, scopeId: SHARED_SCOPE },
  /** No settings are delivered to it, so the bindings choose: presented access tokens. */
  'tokens.localhost': { tenantId: ACME, scopeId: 'scp_01j00000000000000000000002' },
  /** No server listens at the address of its issuer. */
  'adrift.localhost': { tenantId: ACME, scopeId: 'scp_01j00000000000000000000003' },
  /** Its tenant's directory stores its credentials. */
  [ACCOUNTS_HOST]: { tenantId: BIRCH, scopeId: 'scp_01j00000000000000000000004' },
};

export const CONSOLE_HOST = 'console.localhost';
/** Stands in for the control plane and for mailboxes: only the tests call it. */
export const CONTROL_HOST = 'control.localhost';

export interface ApplicationOptions {
  readonly engine: Engine;
  /** The bindings: OIDC_* and SESSION_SECRET configure the console; AUTH_PROVIDER and OIDC_ISSUER the instances. */
  readonly env: Readonly<Record<string, unknown>>;
  /** Unexpected errors. */
  readonly incidents: string[];
}

export type Application = (request: Request) => Response | Promise<Response>;

/** Makes the application. Keep it: it holds the issuers' caches. */
export function makeApplication(options: ApplicationOptions): Application {
  const mails: Mail[] = [];
  const consoleApp = makeConsole(options.env);
  const serveInstance = makeVertical(options, mails);
  const control = makeControl(options, mails);
  return async (request) => {
    const { hostname } = new URL(request.url);
    if (hostname === CONSOLE_HOST) return consoleApp.fetch(request, options.env);
    if (hostname === CONTROL_HOST) return control.fetch(request);
    try {
      return await serveInstance(hostname, request);
    } catch (error) {
      return problemDocument(publicError(error));
    }
  };
}

/**
 * Component B as the platform's own apps use it: the three routes, and the signed-in subject. No directory, no store.
 */
function makeConsole(env: Readonly<Record<string, unknown>>): Hono {
  const app = new Hono();
  mountOidcRoutes(app, { onSuccess: '/home', onError: '/refused' });
  const relyingParty = makeRelyingParty({
    env: parseOidcEnv(env),
    fetch: (url, init) => fetch(url, init),
    now: Date.now,
  });
  app.get('/api/me', (c) => {
    const user = relyingParty.sessionFromHeaders(c.req.raw.headers);
    return user === null ? problemDocument(noPrincipal()) : c.json(user);
  });
  app.get('/:page?', (c) => c.text(`the console's ${c.req.path}`));
  return app;
}

/** Component A as a vertical uses it: a provider, and the tenant's directory. */
function makeVertical({ engine, env, incidents }: ApplicationOptions, mails: Mail[]) {
  const authOf = makeInstanceAuthCache({
    envSpec: {},
    env,
    runtime: { onSuccess: '/home', onError: '/refused', backchannelLogout: true },
  });
  const now = Date.now;
  const documents = makeClientDocuments({ fetch: () => Promise.reject(new TypeError('no documents')), now });
  const limiter = makeRateLimiter(now, { calls: 1_000, windowSeconds: 60 });
  let accounts: VerifyingAuthProvider | undefined;

  /** The provider that the configuration selects, except where the vertical stores accounts itself (spec A-18). */
  const providerOf = (hostname: string, auth: InstanceAuth): VerifyingAuthProvider => {
    if (hostname !== ACCOUNTS_HOST) return auth.provider();
    accounts ??= doAuthProvider({
      ...instanceAt(hostname),
      sessionSecret: auth.sessionSecrets,
      directory: engine.unit(identityDirectory, instanceAt(hostname).tenantId),
      mailer: { send: async (mail) => void mails.push(mail) },
      runtime: { onSuccess: '/home' },
      onIncident: (error) => void incidents.push(String(error)),
    });
    return accounts;
  };

  return async (hostname: string, request: Request): Promise<Response> => {
    const { tenantId, scopeId } = instanceAt(hostname);
    const directory = engine.unit(identityDirectory, tenantId);
    const { origin, pathname } = new URL(request.url);
    const instance = { directory, scopeId, resource: origin };
    const auth = await authOf(instance);
    const provider = providerOf(hostname, auth);
    if (pathname.startsWith('/api/auth/')) return provider.handle(request);
    const server = makeAuthorizationServer({
      ...{ tenantId, scopeId, origin, directory, documents, now },
      resources: [origin],
      sessionSecrets: auth.sessionSecrets,
      random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
    });
    const answered = await server.handle(request);
    if (answered) return answered;
    if (pathname === LET_IN_PATH) return letIn(server, await provider.resolve(request.headers), request);
    if (presentedTokenHash(request.headers) !== null) {
      const { grant, principal } = await recogniseCaller({
        ...{ cache: authOf, instance, headers: request.headers, clientAddress: null, now, limiter },
        signInOf: async (known) => ({ provider: providerOf(hostname, known) }),
        onIncident: (error) => void incidents.push(String(error)),
      });
      if (grant === null) throw noPrincipal();
      return Response.json({ grant, principal });
    }
    if (pathname !== '/api/me') return new Response(`the instance's ${pathname}`);
    const subject = await provider.resolve(request.headers);
    if (subject === null) throw noPrincipal();
    const { session } = subject;
    const resolved = await resolvePrincipal(directory, { scopeId, subject, session });
    return Response.json({ subject, ...resolved });
  };
}

/** Stands in for the consent page: the person who is signed in lets the program of the query read. */
export const LET_IN_PATH = '/let-in';

async function letIn(
  server: AuthorizationServer,
  subject: VerifiedSubject | null,
  { url }: Request,
): Promise<Response> {
  if (!subject?.session) throw noPrincipal();
  const by = { subject, sid: subject.session.sid };
  const ticket = server.makeTicket(await server.readRequest(new URL(url).searchParams), by);
  const asked = server.openTicket(ticket, by);
  if (!asked) throw new TypeError('the ticket was not opened');
  return new Response(null, {
    status: 303,
    headers: { location: await server.letIn(asked, by, { access: 'read' }) },
  });
}

/** The settings that the control plane delivers to an instance. */
export interface Provisioning {
  readonly hostname: string;
  readonly config: Readonly<Record<string, string>>;
}

function makeControl({ engine, incidents }: ApplicationOptions, mails: readonly Mail[]): Hono {
  const app = new Hono();
  const { tenantId, scopeId } = instanceAt(ACCOUNTS_HOST);
  const accountDirectory = (): IdentityDirectory => engine.unit(identityDirectory, tenantId);

  app.post('/provision', async (c) => {
    const { hostname, config }: Provisioning = await c.req.json();
    const instance = instanceAt(hostname);
    const directory = engine.unit(identityDirectory, instance.tenantId, { create: true });
    await directory.setPendingOwner({ scopeId: instance.scopeId });
    await directory.putConfig({ scopeId: instance.scopeId, config });
    return c.json(null);
  });
  app.get('/incidents', (c) => c.json(incidents));
  app.get('/mails', (c) => c.json(mails));
  app.post('/accounts', async (c) => c.json(await accountDirectory().importAccount(await c.req.json())));
  app.get('/stored-password', async (c) => {
    const email = c.req.query('email') ?? '';
    return c.json(await accountDirectory().beginPassword({ scopeId, email }));
  });
  return app;
}

/** @throws PlatformError `not_found`. */
function instanceAt(hostname: string): Instance {
  const instance = INSTANCES[hostname];
  if (instance === undefined) throw new PlatformError('not_found', 'There is no such instance.');
  return instance;
}

function noPrincipal(): PlatformError {
  return new PlatformError('unauthenticated', 'There is no session.');
}
