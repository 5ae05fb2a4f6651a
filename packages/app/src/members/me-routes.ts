/** The caller's own account: `/api/me`, signing in and out, and the link that makes a person the owner. */
import { PlatformError, type PrincipalId } from '@freehold/contracts';
import type { ScopeStub } from '@freehold/kernel';
import type { Hono } from 'hono';
import type { AppContext, AppEnv, Services } from '../declaration/env.ts';
import { answerSignIn, SIGN_IN_BASE } from '../request/answer-sign-in.ts';
import {
  callerOf,
  directoryOf,
  requireNode,
  requirePerson,
  scopeOf,
  signInException,
} from '../request/caller.ts';
import { mountRoutes, readBody } from '../request/routes.ts';
import { claimBody, type Me } from '../wire/wire.ts';

/** `GET /api/me` with this also tells the permissions that the member has on single records alone. */
const RECORDS = 'records';
/** The platform asks a deployed application here what its member could give to a program. */
export const HOLDINGS_PATH = `/api/me?${RECORDS}`;

/** Returns the permissions of a member, on all or on single records. */
export async function allHoldings(scope: ScopeStub, principal: PrincipalId): Promise<readonly string[]> {
  const { permissions, recordPermissions = [] } = await scope.holdings({ principal, records: true });
  return [...permissions, ...recordPermissions];
}

export function mountMe(app: Hono<AppEnv>, services: Services): void {
  app.all(`${SIGN_IN_BASE}*`, async (c) => answerSignIn(await services.signIn(c), c));

  mountRoutes(app, [
    { method: 'GET', path: '/api/me', answer: async (c) => c.json(await describeCaller(services, c)) },
    {
      method: 'POST',
      path: '/api/claim',
      answer: async (c) => {
        const { token } = await readBody(c, claimBody);
        return c.json(await claimSeat(services, c, token));
      },
    },
  ]);
}

/** Makes the caller the owner by the token of a claim link. @throws HTTPException 401; PlatformError as `claimOwner` does. */
export async function claimSeat(services: Services, c: AppContext, token: string) {
  const { subject, grant } = await callerOf(services, c);
  if (!subject) throw signInException(c);
  requirePerson(grant);
  const { session: _session, ...issued } = subject;
  const scopeId = requireNode(c).scope;
  return directoryOf(services, c).claimOwner({ scopeId, token, subject: issued });
}

/** Says who the caller is to this business. */
export async function describeCaller(services: Services, c: AppContext): Promise<Me> {
  const scope = scopeOf(services, c);
  const { name: business } = await scope.identify({});
  const { subject, principal, grant } = await callerOf(services, c);
  const { mode, securityUrl } = await services.signIn(c);
  const noPrincipal: Me = {
    status: 'signed_out',
    business,
    subject: null,
    principal: null,
    roles: [],
    permissions: [],
    seat: null,
    signIn: { mode, ...(securityUrl === undefined ? {} : { securityUrl }) },
  };
  if (!subject) return noPrincipal;
  const known = {
    ...noPrincipal,
    subject: { name: subject.name, email: subject.email, emailVerified: subject.emailVerified ?? null },
  };
  if (!principal) {
    const { state, reason } = await seatOf(services, c);
    return { ...known, status: 'stranger', seat: { state, reason } };
  }
  const isWhole = c.req.query(RECORDS) !== undefined;
  const { roles, permissions, recordPermissions } = await scope.holdings({
    principal,
    ...(grant ? { program: grant } : {}),
    ...(isWhole ? { records: true } : {}),
  });
  return {
    ...known,
    status: 'member',
    principal,
    roles: roles.map((key) => ({ key, name: services.manifest.roles[key]?.name ?? key })),
    permissions: [...permissions],
    ...(isWhole && recordPermissions ? { recordPermissions: [...recordPermissions] } : {}),
    ...(grant ? { program: { grant: grant.id, name: grant.name, access: grant.access } } : {}),
  };
}

/** An instance without delivered settings has no known seat, so that it cannot be claimed. */
async function seatOf(services: Services, c: AppContext) {
  try {
    return await directoryOf(services, c).ownerSeat({ scopeId: requireNode(c).scope });
  } catch (error) {
    if (error instanceof PlatformError && error.code === 'not_found')
      return { state: 'pending', reason: 'never_opened' } as const;
    throw error;
  }
}
