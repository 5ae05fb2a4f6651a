/** The model of role assignments. */
import type { EntityRef } from '@freehold/contracts';
import { type CallWorld, ModelFailure, requireFree } from './calls.ts';
import { grantsOf, heldUntil, permissionsOfRole, rolesOf } from './permissions.ts';

interface Change {
  readonly principal: string;
  readonly role: string;
  readonly by: string;
}

/** @throws ModelFailure; a refusal is recorded as a denial as well. */
export function assignRole(world: CallWorld, change: Change): null {
  requireRole(world, change.role);
  return apply(world, change, { given: [change.role], taken: [] });
}

export function revokeRole(world: CallWorld, change: Change): null {
  if (!rolesOf(world.state, change.principal).includes(change.role)) requireRole(world, change.role);
  return apply(world, change, { given: [], taken: [change.role] });
}

export function setRoles(
  world: CallWorld,
  {
    roles,
    ...change
  }: { readonly principal: string; readonly roles: readonly string[]; readonly by: string },
): null {
  const held = rolesOf(world.state, change.principal);
  const given = [...new Set(roles)].filter((role) => !held.includes(role));
  const taken = held.filter((role) => !roles.includes(role));
  for (const role of given) requireRole(world, role);
  return given.length + taken.length === 0 ? null : apply(world, change, { given, taken });
}

export function projectRoles(
  world: CallWorld,
  { roles }: { readonly roles: Readonly<Record<string, readonly string[]>> },
): null {
  requireFree(world);
  const { state } = world;
  for (const key of state.roles.keys()) state.roles.delete(key);
  for (const [role, permissions] of Object.entries(roles))
    for (const permission of permissions) state.roles.set(`${role} ${permission}`, { role, permission });
  return null;
}

function apply(
  world: CallWorld,
  { principal, by }: Pick<Change, 'principal' | 'by'>,
  { given, taken }: { readonly given: readonly string[]; readonly taken: readonly string[] },
): null {
  requireFree(world);
  const { state, nowMs } = world;
  const keepsNone = given.length === 0 && rolesOf(state, principal).every((role) => taken.includes(role));
  if (by !== 'platform') {
    const standing = [...given, ...taken]
      .flatMap((role) => permissionsOfRole(state, role) ?? [])
      .map((permission) => ({ permission, entity: null as EntityRef | null, untilMs: Infinity }));
    const going = (keepsNone ? grantsOf(state, principal, nowMs) : []).map((row) => ({
      permission: row.permission,
      entity: row.entityType === '' ? null : { type: row.entityType, id: row.entityId },
      untilMs: row.expiresAt ?? Infinity,
    }));
    requireAuthority(world, by, [...standing, ...going]);
  }
  for (const role of given) {
    const key = `${principal} ${role}`;
    if (!state.assignments.has(key))
      state.assignments.set(key, { principal, role, grantedBy: by, at: nowMs });
  }
  for (const role of taken) state.assignments.delete(`${principal} ${role}`);
  if (!keepsNone) return null;
  // The last role takes all direct grants along, expired ones included.
  for (const [key, row] of state.grants.keys().map((key) => [key, state.grants.get(key)] as const))
    if (row?.subject === principal) state.grants.delete(key);
  return null;
}

function requireAuthority(
  { state, recorded, nowMs }: CallWorld,
  by: string,
  demands: readonly {
    readonly permission: string;
    readonly entity: EntityRef | null;
    readonly untilMs: number;
  }[],
): void {
  const missing = demands.find(({ permission, entity, untilMs }) => {
    const until = heldUntil(state, { principal: by, permission, entity, nowMs });
    return until === null || until < untilMs;
  });
  if (missing) {
    recorded.denials.push({
      id: '',
      actor: by,
      permission: missing.permission,
      entityType: missing.entity?.type ?? null,
      entityId: missing.entity?.id ?? null,
      operation: null,
      at: nowMs,
    });
    throw new ModelFailure('forbidden', 'role_exceeds_holder');
  }
  if (rolesOf(state, by).length === 0) throw new ModelFailure('forbidden', 'role_exceeds_holder');
}

function requireRole({ state }: CallWorld, role: string): void {
  if (!permissionsOfRole(state, role)) throw new ModelFailure('not_found', 'unknown_role');
}
