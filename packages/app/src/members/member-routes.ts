/** The team: its members, their roles, the removal of a member, and the owner seat in other hands. */
import type { Member } from '@freehold/auth';
import {
  type Page,
  PlatformError,
  type PrincipalId,
  parseInput,
  principalId,
  toTimestamp,
} from '@freehold/contracts';
import type { Hono } from 'hono';
import type { AppContext, AppEnv, Services } from '../declaration/env.ts';
import { directoryOf, requireNode, requirePermission, scopeOf } from '../request/caller.ts';
import { mountRoutes, readBody, readPage } from '../request/routes.ts';
import { changeRoleBody, emptyBody, type MemberRecord } from '../wire/wire.ts';
import { membershipsOf } from './memberships.ts';

export function mountMembers(app: Hono<AppEnv>, services: Services): void {
  mountRoutes(app, [
    {
      method: 'GET',
      path: '/api/members',
      answer: async (c) => c.json(await listMembers(services, c, () => readPage(c))),
    },
    { method: 'POST', path: '/api/members/:principal/role', answer: (c) => changeRole(services, c) },
    { method: 'POST', path: '/api/members/:principal/remove', answer: (c) => removeMember(services, c) },
    { method: 'POST', path: '/api/members/:principal/make-owner', answer: (c) => transferOwner(services, c) },
  ]);
}

/**
 * A page of the members, as the caller may see them. The query is read after the permission was checked.
 * @throws PlatformError `permission_denied`
 */
export async function listMembers(
  services: Services,
  c: AppContext,
  readQuery: () => { readonly limit: number; readonly cursor?: string },
): Promise<Page<MemberRecord>> {
  const you = await requirePermission(services, c, 'team.read');
  const query = readQuery();
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
  return { items: page.items.map(present), nextCursor: page.nextCursor };
}

async function changeRole(services: Services, c: AppContext): Promise<Response> {
  await requirePermission(services, c, 'member.manage');
  const { role } = await readBody(c, changeRoleBody);
  const member = addressedMember(c);
  await giveRole(services, c, { member, role });
  return c.json({ principal: member, role });
}

async function removeMember(services: Services, c: AppContext): Promise<Response> {
  await requirePermission(services, c, 'member.manage');
  await readBody(c, emptyBody);
  const principal = addressedMember(c);
  await endMembership(services, c, principal);
  return c.json({ principal });
}

async function transferOwner(services: Services, c: AppContext): Promise<Response> {
  await requirePermission(services, c, 'member.manage');
  await readBody(c, emptyBody);
  const principal = addressedMember(c);
  await handOverSeat(services, c, principal);
  return c.json({ principal });
}

/** Makes a role the only one of a member, in the caller's name. @throws PlatformError as `changeRoles` of the memberships does. */
export async function giveRole(
  services: Services,
  c: AppContext,
  { member, role }: { readonly member: PrincipalId; readonly role: string },
): Promise<void> {
  const by = await requirePermission(services, c, 'member.manage');
  if (!Object.hasOwn(services.manifest.roles, role)) throw unknownRole(services);
  await membershipsOf(services, requireNode(c)).changeRoles({ principal: member, roles: [role], by });
}

/** Takes a member off the team, in the caller's name. @throws PlatformError as `remove` of the memberships does. */
export async function endMembership(
  services: Services,
  c: AppContext,
  principal: PrincipalId,
): Promise<void> {
  const by = await requirePermission(services, c, 'member.manage');
  await membershipsOf(services, requireNode(c)).remove({ principal, by });
}

/** Hands the owner seat to another member: for its holder alone. @throws PlatformError as `transferOwner` does. */
export async function handOverSeat(services: Services, c: AppContext, to: PrincipalId): Promise<void> {
  const by = await requirePermission(services, c, 'member.manage');
  await membershipsOf(services, requireNode(c)).transferOwner({ to, by });
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
