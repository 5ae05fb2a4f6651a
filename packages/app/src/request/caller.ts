/** From a request to its instance, its caller and their operations; and the refusal of an anonymous caller. */
import type { IdentityDirectory, IdentityDirectoryUnit } from '@freehold/auth';
import { bearerChallenge, bearerErrorOf, protectedResourceMetadataUrl } from '@freehold/auth/resource-server';
import {
  PlatformError,
  type PrincipalId,
  type ProgramGrant,
  problemDocument,
  type ScopeId,
  type TenantId,
  toProblem,
} from '@freehold/contracts';
import { requireSameOrigin } from '@freehold/contracts/http';
import type { ScopeHost, ScopeStub } from '@freehold/kernel';
import type { Engine } from '@freehold/store';
import type { MiddlewareHandler } from 'hono';
import { HTTPException } from 'hono/http-exception';
import type { AppContext, AppEnv, Caller, Instance, Services, Tenants } from '../declaration/env.ts';

/** The page where signing in begins. */
const LOGIN_PATH = '/api/auth/login';
/** Methods that change nothing (RFC 9110, section 9.2.1). */
export const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
/** The endpoint for agents. */
export const MCP_PATH = '/api/mcp';
/** The number of scopes whose tenant is cached. */
const KNOWN_MAX = 10_000;

/** The instance that a request is for. @throws PlatformError `not_found` for a request that reached none. */
export function requireNode(c: AppContext): Instance {
  const { node } = c.env;
  if (!node)
    throw new PlatformError('not_found', 'There is no application at this address.', {
      reason: 'no_instance',
    });
  return { ...node, tenant: node.tenant as TenantId, scope: node.scope as ScopeId };
}

/** The origin of a request's instance, as browsers see it. */
export function originOf(c: AppContext): string {
  return requireNode(c).origin;
}

/** The scope of a request. */
export function scopeOf({ host }: Services, c: AppContext): ScopeStub {
  return host.scope(requireNode(c).scope);
}

/** The identity directory of a request's tenant. */
export function directoryOf({ directory }: Services, c: AppContext): IdentityDirectory {
  return directory(requireNode(c).tenant);
}

/** Returns the identity directory of a tenant; with `create`, also of a new one. */
export function makeDirectories(
  engine: Pick<Engine, 'unit'>,
  unit: IdentityDirectoryUnit,
): Services['directory'] {
  return (tenant, options) => engine.unit(unit, tenant, options);
}

/** A scope never changes its tenant, and asking it costs a call each time. */
export function makeTenants(host: Pick<ScopeHost, 'scope'>): Tenants {
  const known = new Map<string, TenantId>();
  return {
    of: async (scopeId) => {
      const found = known.get(scopeId);
      if (found !== undefined) return found;
      const { tenantId } = await host.scope(scopeId).identify({});
      if (known.size >= KNOWN_MAX) known.delete(known.keys().next().value as string);
      known.set(scopeId, tenantId);
      return tenantId;
    },
    forget: ({ scopeId }) => void known.delete(scopeId),
  };
}

/**
 * The caller of a request, identified once. While the owner seat is unclaimed, this claims it.
 *
 * Both gates are here, because the application's own routes may be anywhere and read nothing else of a request.
 * @throws HTTPException 401 while the declaration lets no person in. PlatformError `forbidden`, reason
 * `cross_site`, for an unsafe request of another site's page, on which cookies ride along; `not_found` when the scope is
 * not this tenant's.
 */
export async function callerOf(services: Services, c: AppContext): Promise<Caller> {
  const { authenticatedPrincipal: seam } = services.app;
  if (seam.kind === 'unauthenticated') throw notWiredException(c, seam.declaredAt);
  if (!SAFE_METHODS.has(c.req.method)) requireSameOrigin(c.req.raw.headers, requireNode(c).origin);
  const known = c.get('caller') as Promise<Caller> | undefined;
  if (known) return known;
  const caller = resolveCaller(services, c);
  // Callers that await it get the failure; this listener keeps it from being unhandled.
  caller.catch(() => undefined);
  c.set('caller', caller);
  return caller;
}

async function resolveCaller(services: Services, c: AppContext): Promise<Caller> {
  const { tenant, scope } = requireNode(c);
  const tenantId = await services.tenants.of(scope);
  // A second check of the router: a wrong scope would admit one tenant's members to another's data.
  if (tenantId !== tenant) throw new PlatformError('not_found', 'There is no application at this address.');
  const { signIn, subject, principal, grant } = await services.signIn.recognise(c);
  // A later refusal names the way to sign in here.
  c.set('signIn', signIn);
  return { subject, principal, grant };
}

/**
 * The principal of a signed-in member: the gate of everything under `/api` but the door itself (spec 1). Programs pass
 * only where {@link actingCaller} takes them, so that a route without a check of the grant is closed to them.
 * @throws HTTPException 401 that says how to sign in; PlatformError `forbidden`, reason `not_a_member` or
 * `program_not_allowed`.
 */
export async function authenticatedPrincipal(services: Services, c: AppContext): Promise<PrincipalId> {
  const { principal, program } = await actingCaller(services, c);
  requirePerson(program);
  return principal;
}

/** Demands that a person asks by themself. @throws PlatformError `forbidden`, reason `program_not_allowed`. */
export function requirePerson(program: ProgramGrant | null | undefined): void {
  if (!program) return;
  throw new PlatformError(
    'forbidden',
    `${program.name} cannot do this for you: programs use the operations of this application alone.`,
    { reason: 'program_not_allowed' },
  );
}

/**
 * The signed-in member, perhaps through a program: for calls of the scope, which checks the grant with each permission.
 * @throws HTTPException 401 that says how to sign in; PlatformError `forbidden`, reason `not_a_member`.
 */
export async function actingCaller(services: Services, c: AppContext): Promise<MemberCaller> {
  const { subject, principal, grant } = await callerOf(services, c);
  if (!subject) throw signInException(c);
  if (!principal)
    throw new PlatformError(
      'forbidden',
      'You are signed in, but you are not a member here. Ask the owner for an invite.',
      {
        reason: 'not_a_member',
      },
    );
  return grant === null ? { principal } : { principal, program: grant };
}

export interface MemberCaller {
  readonly principal: PrincipalId;
  readonly program?: ProgramGrant;
}

/**
 * Demands a permission for the whole scope, for routes that are not operations. A refusal is in the denial log.
 * @throws PlatformError `permission_denied`
 */
export async function requirePermission(
  services: Services,
  c: AppContext,
  permission: string,
): Promise<PrincipalId> {
  const principal = await authenticatedPrincipal(services, c);
  await scopeOf(services, c).check({ principal, permission });
  return principal;
}

/**
 * 401, with what there is to do about it: the address of the sign-in, for a page that decides itself whether to go
 * there; and the challenge that says to a program where access tokens are made (RFC 6750, RFC 9728).
 */
export function signInException(c: AppContext, why = 'Sign in first.'): HTTPException {
  const error = new PlatformError('unauthenticated', why);
  const { headers } = problemDocument(error);
  const mode = c.get('signIn')?.mode;
  if (mode !== undefined) headers.set('www-authenticate', challengeOf(c));
  const body = {
    ...toProblem(error),
    ...(mode === 'tokens' ? {} : { loginUrl: `${LOGIN_PATH}?returnTo=%2F` }),
  };
  return new HTTPException(401, {
    message: error.message,
    res: new Response(JSON.stringify(body), { status: 401, headers }),
  });
}

/** The endpoint for agents has metadata of its own: they compare its address with the one that they asked (RFC 9728, 3.3). */
function challengeOf(c: AppContext): string {
  const { origin } = requireNode(c);
  return bearerChallenge({
    resourceMetadata: protectedResourceMetadataUrl(c.req.path === MCP_PATH ? origin + MCP_PATH : origin),
    error: bearerErrorOf(c.req.raw.headers),
  });
}

/**
 * The refusal of everything under `/api` while the declaration lets no person in: it names the line to change.
 * @throws HTTPException 401
 */
export function notWired(declaredAt: string | null): MiddlewareHandler<AppEnv> {
  return async (c) => {
    throw notWiredException(c, declaredAt);
  };
}

/** 401 that names the line to change. */
export function notWiredException(c: AppContext, declaredAt: string | null): HTTPException {
  const place = declaredAt ?? 'the declaration of this application';
  return signInException(
    c,
    `Sign-in is not wired yet: in ${place}, replace unauthenticated() by signedIn().`,
  );
}

/**
 * Finishes each answer: `showProblem` may put a page in the place of a problem document, and no browser may guess another
 * content type than the declared one.
 */
export function finishing(showProblem: (c: AppContext) => Promise<void>): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    await next();
    if (c.res.headers.get('content-type')?.startsWith('application/problem+json')) await showProblem(c);
    c.header('x-content-type-options', 'nosniff');
  };
}
