/**
 * The sign-in of a vertical whose code may be hostile, in front of it: it answers what is below `/api/auth/` and what programs
 * ask to be let in, judges cookies, passwords and tokens, and tells the application who is calling.
 */
import { AuthConfigError, type IdentityDirectory, type Mailer } from '@freehold/auth';
import {
  PlatformError,
  publicError,
  type ScopeId,
  type TenantId,
  toFailure,
  type VerticalManifest,
} from '@freehold/contracts';
import { isSameOrigin, readJsonObject } from '@freehold/contracts/http';
import { requestIds } from '@freehold/vertical-host';
import { Hono } from 'hono';
import type { AppLook } from '../declaration/app.ts';
import type { AppEnv, AppServices, Instance, Node, SignIn } from '../declaration/env.ts';
import type { HostedCaller } from '../declaration/hosted-caller.ts';
import { HOLDINGS_PATH } from '../members/me-routes.ts';
import { programPermissions } from '../programs/parts.ts';
import { mountPrograms, PROGRAM_BASES } from '../programs/program-routes.ts';
import { answerSignIn, SIGN_IN_BASE } from '../request/answer-sign-in.ts';
import { requireNode, SAFE_METHODS } from '../request/caller.ts';
import { makeInstanceSignIns, makeSignIns, notConfigured, type SignInPlace } from '../request/sign-in.ts';

/** The time in which an application says what its member may do, and the size of that. */
const ASK_MS = 3_000;
const ANSWER_BYTES_MAX = 64 * 1_024;

/** Everything below these is answered here. */
const BASES = [SIGN_IN_BASE, ...PROGRAM_BASES];

export interface SignInProxyOptions
  extends Pick<AppServices, 'now' | 'random' | 'fetch' | 'onIncident' | 'auth'> {
  /** The declaration of the version that runs. */
  readonly manifest: Pick<VerticalManifest, 'slug' | 'env'> & Partial<Pick<VerticalManifest, 'permissions'>>;
  /** False for an application that lets no person in: no person is recognised, and it answers all addresses itself. */
  readonly letsPeopleIn: boolean;
  /** The declared look. */
  readonly look: AppLook;
  /** Null: no mail is sent. */
  readonly mailer: Mailer | null;
  readonly directory: (tenant: TenantId) => IdentityDirectory;
  readonly nameOf: (instance: { readonly tenant: string; readonly scope: string }) => Promise<string>;
}

/** The sender's part of a request, beside the request itself. */
export interface ProxiedRequest {
  readonly node: Node;
  readonly clientAddress: string | null;
  /** The settings that every instance is bound to. */
  readonly bindings: Readonly<Record<string, string>>;
  /** Asks the application in the name of a caller. */
  readonly ask: (request: Request, caller: HostedCaller) => Promise<Response>;
}

export interface SignInProxy {
  /** Returns the answer of the sign-in itself, or what the application is told about the caller of another request. */
  meet(
    request: Request,
    asked: ProxiedRequest,
  ): Promise<{ readonly answer: Response } | { readonly caller: HostedCaller }>;
  /** Drops the cached sign-in of a scope that is deleted. */
  forget(scope: { readonly scopeId: string }): void;
}

export function makeSignInProxy(options: SignInProxyOptions): SignInProxy {
  const { manifest, letsPeopleIn, mailer, ...parts } = options;
  const signIns = makeInstanceSignIns({
    ...parts,
    slug: manifest.slug,
    envSpec: manifest.env,
    ...(mailer && { mailer }),
  });
  const placeOf = ({ node, bindings }: ProxiedRequest): SignInPlace => ({
    node: instanceOf(node),
    env: bindings,
  });

  const askedBy = new WeakMap<Request, ProxiedRequest>();

  const routes = new Hono<AppEnv>();
  routes.use('*', requestIds());
  routes.all(`${SIGN_IN_BASE}*`, async (c) =>
    answerSignIn(await signIns.at({ node: requireNode(c), env: c.env }), c),
  );
  mountPrograms(routes, {
    ...parts,
    slug: manifest.slug,
    ...(mailer && { mailer }),
    signIn: makeSignIns(signIns),
    permissions: programPermissions(manifest.permissions ?? {}),
    holdings: async ({ c, node }) => {
      const asked = askedBy.get(c.req.raw);
      if (!asked) return null;
      const request = new Request(node.origin + HOLDINGS_PATH, { signal: AbortSignal.timeout(ASK_MS) });
      return permissionsIn(async () => asked.ask(request, await callerOf(c.req.raw, asked)));
    },
  });
  // The application answers it, so that it looks like all its failures.
  routes.onError((error) => {
    throw error;
  });

  const callerOf = async (request: Request, asked: ProxiedRequest): Promise<HostedCaller> => {
    const { node } = asked;
    // Cookies ride along on requests of other sites' pages: such a request has no caller.
    const isOwn = SAFE_METHODS.has(request.method) || isSameOrigin(request.headers, node.origin);
    const headers = isOwn && letsPeopleIn ? request.headers : new Headers();
    const sender = { headers, clientAddress: asked.clientAddress };
    const { signIn, ...told } = await signIns.recognise(placeOf(asked), sender);
    return { ok: true, ...told, signIn: shownOf(signIn) };
  };

  return {
    meet: async (request, asked) => {
      try {
        const { pathname } = new URL(request.url);
        const isOwn = letsPeopleIn && BASES.some((base) => pathname.startsWith(base));
        if (!isOwn) return { caller: await callerOf(request, asked) };
        const { node, clientAddress, bindings } = asked;
        askedBy.set(request, asked);
        return { answer: await routes.fetch(request, { ...bindings, node, clientAddress }) };
      } catch (error) {
        const failure = error instanceof AuthConfigError ? notConfigured(error) : publicError(error);
        if (!(error instanceof AuthConfigError || error instanceof PlatformError))
          parts.onIncident(error, { kind: manifest.slug, key: asked.node.scope, method: 'sign-in' });
        return { caller: { ok: false, failure: toFailure(failure) } };
      }
    },
    forget: signIns.forget,
  };
}

/**
 * Reads what an application says of its member. It may be hostile, or older than the question: an answer of another form is
 * none, and a permission that it makes up is none that can be given.
 */
async function permissionsIn(ask: () => Promise<Response>): Promise<readonly string[] | null> {
  try {
    const response = await ask();
    if (response.status !== 200) {
      await response.body?.cancel();
      return null;
    }
    const { permissions, recordPermissions = [] } = await readJsonObject(response, ANSWER_BYTES_MAX);
    if (!Array.isArray(permissions) || !Array.isArray(recordPermissions)) return null;
    return [...permissions, ...recordPermissions].filter((each) => typeof each === 'string');
  } catch {
    return null;
  }
}

function instanceOf(node: Node): Instance {
  return { ...node, tenant: node.tenant as TenantId, scope: node.scope as ScopeId };
}

function shownOf({ mode, securityUrl, provider: { authorizationServers } }: SignIn) {
  return {
    mode,
    ...(securityUrl === undefined ? {} : { securityUrl }),
    ...(authorizationServers === undefined ? {} : { authorizationServers }),
  };
}
