/** The invites of an application: the routes of the identity library, and its steps for the pages. */
import {
  type InviteRouteDeps,
  type InviteSteps,
  makeInviteSteps,
  mountInviteRoutes,
} from '@freehold/auth/invite-routes';
import type { Hono } from 'hono';
import type { AppEnv, Services } from '../declaration/env.ts';
import { directoryOf, requireNode, requirePermission, scopeOf } from '../request/caller.ts';
import { mayInvite } from './memberships.ts';

export function mountInvites(app: Hono<AppEnv>, services: Services): void {
  mountInviteRoutes(app, inviteParts(services));
}

/** The same steps for other places than the routes. */
export function inviteSteps(services: Services): InviteSteps<AppEnv> {
  return makeInviteSteps(inviteParts(services));
}

function inviteParts(services: Services): InviteRouteDeps<AppEnv> {
  return {
    scope: (c) => ({ tenantId: requireNode(c).tenant, scopeId: requireNode(c).scope }),
    requireAdmin: (c) => requirePermission(services, c, 'member.manage'),
    roles: Object.keys(services.manifest.roles),
    mayInvite: (c, principal, role) => mayInvite(services.manifest, scopeOf(services, c), principal, role),
    directory: (c) => directoryOf(services, c),
    provider: async (c) => (await services.signIn(c)).provider,
    assignScopeRole: (c, { principal, role }, by) => scopeOf(services, c).assignRole({ principal, role, by }),
    revokeScopeRole: (c, { principal, role }, by) => scopeOf(services, c).revokeRole({ principal, role, by }),
    endScopeRoles: (c, { principal }) =>
      scopeOf(services, c).setRoles({ principal, roles: [], by: 'platform' }),
    onIncident: (c, error) =>
      services.deps.onIncident(error, {
        kind: services.manifest.slug,
        key: requireNode(c).scope,
        method: 'invites',
      }),
    origin: (c) => requireNode(c).origin,
    emailMatch: 'verified',
  };
}
