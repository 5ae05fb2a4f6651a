/** The team: its members, their roles, the removal of a member, and the owner seat in other hands. */
import type { Member } from '@freehold/auth';
import { PlatformError, type PrincipalId, parseInput, principalId, toTimestamp } from '@freehold/contracts';
import type { Hono } from 'hono';
import type { AppContext, AppEnv, Services } from '../declaration/env.ts';
import { directoryOf, requireNode, requirePermission, scopeOf } from '../request/caller.ts';
import { mountRoutes, readBody, readPage } from '../request/routes.ts';
import { changeRoleBody, emptyBody, type MemberRecord } from '../wire/wire.ts';
import { membershipsOf } from './memberships.ts';

export function mountMembers(app: Hono<AppEnv>, services: Services): void {
  mountRoutes(app, [
    { method: 'GET', path: '/api/members', answer: (c) => listMembers(services, c) },
    { method: 'POST', path: '/api/members/:principal/role', answer: (c) => changeRole(services, c) },
    { method: 'POST', path: '/api/members/:principal/remove', answer: (c) => removeMember(services, c) },
    { method: 'POST', path: '/api/members/:principal/make-owner', answer: (c) => transferOwner(services, c) },
  ]);
}

async function listMembers(services: Services, c: AppContext): Promise<Response> {
  const you = await requirePermission(services, c, 'team.read');
  const query = readPage(c);
  const scope = scopeOf(services, c);
  const [page, assignments, { permissions }] = await Promise.all([
    directoryOf(services, c).listMembers({ scopeId: requireNode(c).scope, ...query }),
    scope.assignments({}),
    scope.holdings({ principal: you }),
  ]);
  const manages = permissions.includes('member.manage');
  const present = (member: Member): MemberRecord => ({
    principal: member.principal,
    name: member.name,
    // Teammates need names to assign work; addresses are for the manager of the team.
    email: manages || member.principal === you ? member.email : null,
    roles: assignments.filter((each) => each.principal === member.principal).map((each) => each.role),
    owner: member.owner,
    you: member.principal === you,
    since: toTimestamp(member.sinceMs),
  });
  return c.json({ items: page.items.map(present), nextCursor: page.nextCursor });
}

async function changeRole(services: Services, c: AppContext): Promise<Response> {
  const by = await requirePermission(services, c, 'member.manage');
  const { role } = await readBody(c, changeRoleBody);
  if (!Object.hasOwn(services.manifest.roles, role)) throw unknownRole(services);
  const principal = addressedMember(c);
  await membershipsOf(services, requireNode(c)).changeRoles({ principal, roles: [role], by });
  return c.json({ principal, role });
}

async function removeMember(services: Services, c: AppContext): Promise<Response> {
  const by = await requirePermission(services, c, 'member.manage');
  await readBody(c, emptyBody);
  const principal = addressedMember(c);
  await membershipsOf(services, requireNode(c)).remove({ principal, by });
  return c.json({ principal });
}

/** Hands the owner seat to another member: for its holder alone. */
async function transferOwner(services: Services, c: AppContext): Promise<Response> {
  const by = await requirePermission(services, c, 'member.manage');
  await readBody(c, emptyBody);
  const principal = addressedMember(c);
  await membershipsOf(services, requireNode(c)).transferOwner({ to: principal, by });
  return c.json({ principal });
}

function addressedMember(c: AppContext): PrincipalId {
  return parseInput('The address', principalId, c.req.param('principal'));
}

function unknownRole({ manifest }: Services): PlatformError {
  const message = `must be one of: ${Object.keys(manifest.roles).join(', ')}`;
  return new PlatformError('validation_failed', `The body is not valid. role: ${message}`, {
    errors: [{ path: 'role', message }],
  });
}
