/**
 * The invite routes of an application (spec 4.2): list, create, revoke, accept. The application says what a scope, an
 * admin and an invitable role are; this file puts the steps into the right order.
 */

import {
  type Page,
  PlatformError,
  type PrincipalId,
  parseInput,
  principalId,
  type ScopeRef,
} from '@freehold/contracts';
import { queryFields, readJsonObject, requireSameOrigin, textReader } from '@freehold/contracts/http';
import type { Context, Env, Hono, MiddlewareHandler } from 'hono';
import { HTTPException } from 'hono/http-exception';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { z } from 'zod';
import type { IdentityDirectory } from '../identity-directory/unit.ts';
import { type EmailMatch, inviterLostRight } from '../invites/operations.ts';
import { problemAnswer } from '../lib/answers.ts';
import { refusal } from '../lib/refusals.ts';
import type { VerifyingAuthProvider } from '../lib/subject.ts';
import { takeLeftoverRoles, unlessUnknown } from '../member-changes/settle-invites.ts';
import {
  acceptInviteBody,
  createInviteBody,
  type InviteRecord,
  type ListQuery,
  listInvitesQuery,
  type PreviewRecord,
  revokeInviteBody,
  showInviteQuery,
  toInviteRecord,
  toPreviewRecord,
} from './wire.ts';

export {
  acceptedInvite,
  acceptInviteBody,
  createdInvite,
  createInviteBody,
  type InviteRecord,
  invitePreview,
  inviteRecord,
  type PreviewRecord,
  revokeInviteBody,
} from './wire.ts';

/** An invite's body is a few words. */
const BODY_BYTES_MAX = 16 * 1_024;

const readListQuery = textReader('The query', listInvitesQuery);
const readShowQuery = textReader('The query', showInviteQuery);

export interface ScopeRoleAssignment extends ScopeRef {
  readonly principal: PrincipalId;
  readonly role: string;
}

export type InviteDirectory = Pick<
  IdentityDirectory,
  | 'newPrincipal'
  | 'createInvite'
  | 'listInvites'
  | 'showInvite'
  | 'revokeInvite'
  | 'claimInvite'
  | 'inviteTerms'
  | 'withdrawInvites'
  | 'leftoverRoles'
  | 'leftoverRolesTaken'
>;

/** Proves the accepting caller. A 401 challenges for an access token only where the provider takes one. */
export type InviteProvider = Pick<VerifyingAuthProvider, 'resolve' | 'authorizationServers'>;

/** The application's part. Its errors reach the application's error handler untouched. */
export interface InviteRouteDeps<E extends Env = Env> {
  /** Returns the tenant and the scope that a request is for. */
  scope(c: Context<E>): ScopeRef | Promise<ScopeRef>;
  /** Returns the acting admin's principal. Throws when the caller is none. */
  requireAdmin(c: Context<E>, scope: ScopeRef): PrincipalId | Promise<PrincipalId>;
  /** The roles that an invite may have. */
  readonly roles: readonly string[];
  /**
   * Whether a principal may invite a person at a role, now: whether they may invite at all, and the role is at most
   * their own. It is asked when an invite is made, and again when it is accepted: then the request is the invited
   * person's, so that the answer depends on `inviter` alone.
   */
  mayInvite(c: Context<E>, inviter: PrincipalId, role: string): boolean | Promise<boolean>;
  directory(c: Context<E>): InviteDirectory | Promise<InviteDirectory>;
  provider(c: Context<E>): InviteProvider | Promise<InviteProvider>;
  /** The host's: grants the role. `by` is the acting admin. */
  assignScopeRole(c: Context<E>, assignment: ScopeRoleAssignment, by: PrincipalId): unknown;
  /** The host's: revokes the role. Revoking an absent one succeeds. `platform`: the inviter lost the right. */
  revokeScopeRole(c: Context<E>, assignment: ScopeRoleAssignment, by: PrincipalId | 'platform'): unknown;
  /**
   * The host's: takes every role of a principal, in the platform's name: of an owner whom the operator replaced. Without
   * it the roles stay until `settleInvites` of the vertical takes them; no person can use them.
   */
  endScopeRoles?(c: Context<E>, principal: ScopeRef & { readonly principal: PrincipalId }): unknown;
  /**
   * Gets a failure that changes no answer: roles of ended invites that could not be taken now, and are taken the next time.
   * Default: a line on the standard error output.
   */
  onIncident?(c: Context<E>, error: unknown): void;
  /** The origin at which browsers reach the application. Default: the request's own. */
  origin?(c: Context<E>): string;
  /** The meaning of an invite's e-mail address to this application: the library gates on nothing itself. */
  readonly emailMatch: EmailMatch;
}

/**
 * Mounts the four routes. The mount's own refusals are HTTP exceptions with a problem document (spec 7.4).
 *
 * - `GET /api/invites` lists a page for an admin; with `?token=` it shows the invite to the holder of a link, and
 *   changes nothing, because mail scanners follow links.
 * - `POST /api/invites` `{role, email?, name?, ttlSeconds?}` answers 201 `{invite, url}`; the link is shown once.
 * - `POST /api/invites/:principal/revoke` answers `{invite}`; it can be repeated.
 * - `POST /api/accept-invite` `{token}` answers `{principal, role}` for the signed-in caller.
 */
export function mountInviteRoutes<E extends Env>(app: Hono<E>, deps: InviteRouteDeps<E>): void {
  const guard: MiddlewareHandler<E> = async (c, next) => {
    c.header('cache-control', 'no-store');
    c.header('x-content-type-options', 'nosniff');
    if (c.req.method === 'POST') await own(() => requireSameOrigin(c.req.raw.headers, originOf(c, deps)));
    await next();
  };
  const steps = makeInviteSteps(deps);
  app.get('/api/invites', guard, async (c: Context<E>) => {
    if (c.req.query('token') === undefined)
      return c.json(await steps.list(c, () => own(() => readListQuery(queryOf(c)))));
    const { token } = await own(() => readShowQuery(queryOf(c)));
    // This page's own address holds the token: no link on it may pass it on.
    c.header('referrer-policy', 'no-referrer');
    return c.json(await steps.show(c, token));
  });
  app.post('/api/invites', guard, async (c: Context<E>) =>
    c.json(await steps.create(c, () => readBody(c, createInviteBody)), 201),
  );
  app.post('/api/invites/:principal/revoke', guard, async (c: Context<E>) =>
    c.json(
      await steps.revoke(c, async () => {
        const principal = await own(() => parseInput('The address', principalId, c.req.param('principal')));
        await readBody(c, revokeInviteBody);
        return principal;
      }),
    ),
  );
  app.post('/api/accept-invite', guard, async (c: Context<E>) => {
    const { token } = await readBody(c, acceptInviteBody);
    return c.json(await steps.accept(c, token));
  });
}

/** The steps behind the routes, for pages of the application that take the same steps. */
export interface InviteSteps<E extends Env = Env> {
  /** A page of the invites, for an admin. The query is read after the permission was checked. */
  list(c: Context<E>, readQuery: () => Awaitable<ListQuery>): Promise<Page<InviteRecord>>;
  /** The preview for the holder of a link. Changes nothing. */
  show(c: Context<E>, token: string): Promise<PreviewRecord>;
  /** Makes an invite; the link is in this answer alone. The body is read after the permission was checked. */
  create(
    c: Context<E>,
    readBody: () => Awaitable<z.output<typeof createInviteBody>>,
  ): Promise<{ readonly invite: InviteRecord; readonly url: string }>;
  /** Ends an invite with its role, for an admin. It can be repeated. */
  revoke(
    c: Context<E>,
    readPrincipal: () => Awaitable<PrincipalId>,
  ): Promise<{ readonly invite: InviteRecord }>;
  /** Binds the signed-in caller to the invite of a token. */
  accept(c: Context<E>, token: string): Promise<{ readonly principal: PrincipalId; readonly role: string }>;
}

type Awaitable<T> = T | Promise<T>;

/** Their refusals are those of the routes: HTTP exceptions, and the errors of the application and the directory. */
export function makeInviteSteps<E extends Env>(deps: InviteRouteDeps<E>): InviteSteps<E> {
  return {
    list: (c, readQuery) => listInvites(c, deps, readQuery),
    show: (c, token) => showInvite(c, deps, token),
    create: (c, read) => createInvite(c, deps, read),
    revoke: (c, read) => revokeInvite(c, deps, read),
    accept: (c, token) => acceptInvite(c, deps, token),
  };
}

async function listInvites<E extends Env>(
  c: Context<E>,
  deps: InviteRouteDeps<E>,
  readQuery: () => Awaitable<ListQuery>,
): Promise<Page<InviteRecord>> {
  const scope = await deps.scope(c);
  await deps.requireAdmin(c, scope);
  const { limit, cursor } = await readQuery();
  const directory = await deps.directory(c);
  const page = await directory.listInvites({
    scopeId: scope.scopeId,
    limit,
    ...(cursor === undefined ? {} : { cursor }),
  });
  return { items: page.items.map(toInviteRecord), nextCursor: page.nextCursor };
}

async function showInvite<E extends Env>(
  c: Context<E>,
  deps: InviteRouteDeps<E>,
  token: string,
): Promise<PreviewRecord> {
  const { scopeId } = await deps.scope(c);
  const directory = await deps.directory(c);
  return toPreviewRecord(await directory.showInvite({ token, scopeId }));
}

async function createInvite<E extends Env>(
  c: Context<E>,
  deps: InviteRouteDeps<E>,
  readInvite: () => Awaitable<z.output<typeof createInviteBody>>,
): Promise<{ invite: InviteRecord; url: string }> {
  const { tenantId, scopeId } = await deps.scope(c);
  const by = await deps.requireAdmin(c, { tenantId, scopeId });
  const body = await readInvite();
  if (!deps.roles.includes(body.role)) throw httpProblem(roleNotOffered(deps.roles));
  if (!(await deps.mayInvite(c, by, body.role)))
    throw httpProblem(
      refusal('forbidden', 'role_above_own', 'You can invite a person to your own role at most.'),
    );

  const directory = await deps.directory(c);
  const principal = await directory.newPrincipal();
  const assignment: ScopeRoleAssignment = { tenantId, scopeId, principal, role: body.role };
  // The grant comes first: an invite that was sent out must not turn out to be worth nothing.
  await deps.assignScopeRole(c, assignment, by);
  const { email, name, ttlSeconds } = body;
  const { invite, token } = await directory
    .createInvite({
      scopeId,
      principal,
      role: body.role,
      createdBy: by,
      ...(email === undefined ? {} : { email, emailMatch: deps.emailMatch }),
      ...(name === undefined ? {} : { name }),
      ...(ttlSeconds === undefined ? {} : { ttlMs: ttlSeconds * 1_000 }),
    })
    .catch((failure: unknown) => revokeGrant(c, deps, { assignment, by, failure }));
  return { invite: toInviteRecord(invite), url: `${originOf(c, deps)}/?invite=${token}` };
}

async function revokeInvite<E extends Env>(
  c: Context<E>,
  deps: InviteRouteDeps<E>,
  readPrincipal: () => Awaitable<PrincipalId>,
): Promise<{ invite: InviteRecord }> {
  const { tenantId, scopeId } = await deps.scope(c);
  const by = await deps.requireAdmin(c, { tenantId, scopeId });
  const principal = await readPrincipal();
  const directory = await deps.directory(c);
  // The invite first, so that it is not accepted in between; a retry revokes a grant that stayed behind.
  const { invite } = await directory.revokeInvite({ scopeId, principal, by });
  await unlessUnknown(async () => {
    await deps.revokeScopeRole(c, { tenantId, scopeId, principal, role: invite.role }, by);
  });
  await directory.leftoverRolesTaken({ scopeId, principals: [principal] });
  return { invite: toInviteRecord(invite) };
}

async function acceptInvite<E extends Env>(
  c: Context<E>,
  deps: InviteRouteDeps<E>,
  token: string,
): Promise<{ principal: PrincipalId; role: string }> {
  const scope = await deps.scope(c);
  const { scopeId } = scope;
  const provider = await deps.provider(c);
  const subject = await provider.resolve(c.req.raw.headers);
  if (!subject) {
    const takesTokens = provider.authorizationServers !== undefined;
    throw httpProblem(
      new PlatformError(
        'unauthenticated',
        'Sign in to accept the invite.',
        takesTokens ? { headers: { 'www-authenticate': 'Bearer' } } : {},
      ),
    );
  }
  const directory = await deps.directory(c);
  await requireInviter(c, deps, { scope, directory, token });
  const { principal, role } = await directory.claimInvite({ scopeId, token, subject });
  await endLeftoverRoles(c, deps, { scope, directory });
  return { principal, role };
}

/**
 * Requires that the maker of an invite may still make it. Otherwise the invite ends here, with its role: a link that was
 * made before must not bring back a member who was removed or lowered.
 */
async function requireInviter<E extends Env>(
  c: Context<E>,
  deps: InviteRouteDeps<E>,
  attempt: { readonly scope: ScopeRef; readonly directory: InviteDirectory; readonly token: string },
): Promise<void> {
  const { scope, directory, token } = attempt;
  const { scopeId } = scope;
  const { principal, inviter, role, state } = await directory.inviteTerms({ scopeId, token });
  if (state !== 'pending' || inviter === null || (await deps.mayInvite(c, inviter, role))) return;
  await directory.withdrawInvites({ scopeId, principals: [principal] });
  await endLeftoverRoles(c, deps, { scope, directory });
  throw httpProblem(inviterLostRight('invalid_transition'));
}

/**
 * Takes the roles of principals that stand for no person any more: of ended invites, of an owner who was replaced. The
 * answer is about another matter, which is done: a failure is an incident, and the next call takes the rest.
 */
async function endLeftoverRoles<E extends Env>(
  c: Context<E>,
  deps: InviteRouteDeps<E>,
  { scope, directory }: { readonly scope: ScopeRef; readonly directory: InviteDirectory },
): Promise<void> {
  const settled = takeLeftoverRoles({
    directory,
    scopeId: scope.scopeId,
    takeRole: async ({ principal, role }) => {
      if (role !== null) await deps.revokeScopeRole(c, { ...scope, principal, role }, 'platform');
      else if (deps.endScopeRoles) await deps.endScopeRoles(c, { ...scope, principal });
      return role !== null || deps.endScopeRoles !== undefined;
    },
  });
  await settled.catch((error: unknown) => (deps.onIncident ?? printIncident)(c, error));
}

/**
 * Revokes the grant of an invite that could not be stored, then throws that failure. When the grant cannot be revoked
 * either, the failure says so and holds both causes.
 */
async function revokeGrant<E extends Env>(
  c: Context<E>,
  deps: InviteRouteDeps<E>,
  attempt: { assignment: ScopeRoleAssignment; by: PrincipalId; failure: unknown },
): Promise<never> {
  const { assignment, by, failure } = attempt;
  try {
    await deps.revokeScopeRole(c, assignment, by);
  } catch (second) {
    throw httpProblem(
      new PlatformError(
        'internal',
        `The invite could not be stored, and the role of ${assignment.principal} could not be revoked.`,
        { reason: 'grant_left_behind', cause: new AggregateError([failure, second]) },
      ),
    );
  }
  throw failure;
}

function printIncident(_c: unknown, error: unknown): void {
  // biome-ignore lint/suspicious/noConsole: an application that takes no incidents has no other place for them.
  console.error('Roles of ended invites could not be taken.', error);
}

function originOf<E extends Env>(c: Context<E>, deps: InviteRouteDeps<E>): string {
  return deps.origin?.(c) ?? new URL(c.req.url).origin;
}

function queryOf(c: Context) {
  return queryFields(new URL(c.req.url));
}

function readBody<S extends z.ZodType>(c: Context, schema: S): Promise<z.output<S>> {
  return own(async () => {
    const body = await readJsonObject(c.req.raw, BODY_BYTES_MAX).catch((error: unknown) => {
      // Elsewhere 415; for these routes the specification makes a body that is not JSON a 400 (spec 7.4).
      if (!(error instanceof PlatformError) || error.code !== 'unsupported_media_type') throw error;
      throw new PlatformError('validation_failed', error.message, { reason: 'body_not_json' });
    });
    return parseInput('The body', schema, body);
  });
}

/** Runs one of this mount's own steps, whose refusal is an HTTP exception. */
async function own<T>(step: () => T | Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    if (error instanceof PlatformError) throw httpProblem(error);
    throw error;
  }
}

/** Returns an exception that any Hono application answers with the error's problem document. */
function httpProblem(error: PlatformError): HTTPException {
  return new HTTPException(error.status as ContentfulStatusCode, {
    message: error.message,
    res: problemAnswer(error),
    cause: error.cause,
  });
}

function roleNotOffered(roles: readonly string[]): PlatformError {
  const message = `must be one of: ${roles.join(', ')}`;
  return new PlatformError('validation_failed', `The body is not valid. role: ${message}`, {
    errors: [{ path: 'role', message }],
  });
}
