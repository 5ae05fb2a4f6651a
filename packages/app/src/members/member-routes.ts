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
  const change = await giveRole(services, c, async () => {
    const { role } = await readBody(c, changeRoleBody);
    return { principal: addressedMember(c), role };
  });
  return c.json(change);
}

async function removeMember(services: Services, c: AppContext): Promise<Response> {
  const principal = await endMembership(services, c, () => emptyRequest(c));
  return c.json({ principal });
}

async function transferOwner(services: Services, c: AppContext): Promise<Response> {
  const principal = await handOverSeat(services, c, () => emptyRequest(c));
  return c.json({ principal });
}

async function emptyRequest(c: AppContext): Promise<PrincipalId> {
  await readBody(c, emptyBody);
  return addressedMember(c);
}

interface RoleGiven {
  readonly principal: PrincipalId;
  readonly role: string;
}

type Awaitable<T> = T | Promise<T>;

/**
 * Makes a role the only one of a member, in the caller's name. The change is read after the permission was checked.
 * @throws PlatformError as `changeRoles` of the memberships does.
 */
export async function giveRole(
  services: Services,
  c: AppContext,
  readChange: () => Awaitable<RoleGiven>,
): Promise<RoleGiven> {
  const by = await requirePermission(services, c, 'member.manage');
  const { principal, role } = await readChange();
  if (!Object.hasOwn(services.manifest.roles, role)) throw unknownRole(services);
  await membershipsOf(services, requireNode(c)).changeRoles({ principal, roles: [role], by });
  return { principal, role };
}

/** Takes a member off the team, in the caller's name. @throws PlatformError as `remove` of the memberships does. */
export async function endMembership(
  services: Services,
  c: AppContext,
  readMember: () => Awaitable<PrincipalId>,
): Promise<PrincipalId> {
  const by = await requirePermission(services, c, 'member.manage');
  const principal = await readMember();
  await membershipsOf(services, requireNode(c)).remove({ principal, by });
  return principal;
}

/** Hands the owner seat to another member: for its holder alone. @throws PlatformError as `transferOwner` does. */
export async function handOverSeat(
  services: Services,
  c: AppContext,
  readMember: () => Awaitable<PrincipalId>,
): Promise<PrincipalId> {
  const by = await requirePermission(services, c, 'member.manage');
  const to = await readMember();
  await membershipsOf(services, requireNode(c)).transferOwner({ to, by });
  return to;
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
