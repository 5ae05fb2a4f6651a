/** The model of permissions, written from the design, not from the kernel's code. */
import type { EntityRef } from '@freehold/contracts';
import type { Proof } from '@freehold/kernel';
import { ENTITIES, ROLES, SERVICES } from '../ledger/ledger.ts';
import type { GrantRow, ScopeState } from './state.ts';

export interface Question {
  readonly principal: string;
  readonly permission: string;
  readonly entity: EntityRef | null;
  readonly nowMs: number;
}

export function rolesOf(state: ScopeState, principal: string): string[] {
  return state.assignments
    .values()
    .filter((row) => row.principal === principal)
    .map(({ role }) => role);
}

/** Returns the permissions of a role; undefined for an undeclared one. */
export function permissionsOfRole(state: ScopeState, role: string): readonly string[] | undefined {
  const declared = ROLES[role];
  if (declared) return declared;
  const projected = state.roles.values().filter((row) => row.role === role);
  return projected.length === 0 ? undefined : projected.map(({ permission }) => permission);
}

/** Returns every proof in order: that of a role, then grants of the scope, of the entity and of its parents. */
export function proofs(state: ScopeState, question: Question): Proof[] {
  const { principal, permission } = question;
  const service = /^service:(.+)$/.exec(principal)?.[1];
  const byService: Proof[] =
    service !== undefined && SERVICES[service]?.includes(permission) ? [{ by: 'service', service }] : [];
  const byRole = rolesOf(state, principal)
    .filter((role) => permissionsOfRole(state, role)?.includes(permission))
    .map((role): Proof => ({ by: 'role', role }));
  const byGrant = grantsFor(state, question).map(
    ({ entityType, entityId, expiresAt }): Proof => ({
      by: 'grant',
      entity: entityType === '' ? null : { type: entityType, id: entityId },
      expiresAtMs: expiresAt,
    }),
  );
  return [...byRole, ...byService, ...byGrant];
}

export function prove(state: ScopeState, question: Question): Proof | null {
  return proofs(state, question)[0] ?? null;
}

/** Returns when the subject loses a permission; null when it does not hold it. */
export function heldUntil(state: ScopeState, question: Question): number | null {
  const all = proofs(state, question);
  if (all.length === 0) return null;
  return Math.max(...all.map((proof) => (proof.by === 'grant' ? (proof.expiresAtMs ?? Infinity) : Infinity)));
}

export function grantKey(subject: string, permission: string, entity: EntityRef | null): string {
  return `${subject} ${permission} ${entity?.type ?? ''} ${entity?.id ?? ''}`;
}

/** Returns the unexpired grant with exactly this key. */
export function liveGrant(
  state: ScopeState,
  { principal, permission, entity, nowMs }: Question,
): GrantRow | undefined {
  const row = state.grants.get(grantKey(principal, permission, entity));
  return row && isLive(row, nowMs) ? row : undefined;
}

/** Returns the entities of a type for which the subject holds a permission. */
export function reach(
  state: ScopeState,
  { principal, permission, nowMs }: Omit<Question, 'entity'>,
  type: string,
): 'all' | string[] {
  if (prove(state, { principal, permission, entity: null, nowMs })) return 'all';
  const own = state.grants
    .values()
    .filter(
      (row) =>
        row.subject === principal &&
        row.permission === permission &&
        row.entityType === type &&
        isLive(row, nowMs),
    )
    .map(({ entityId }) => entityId);
  const above = ENTITIES[type];
  const outer = above == null ? [] : reach(state, { principal, permission, nowMs }, above);
  const inside = state.parents
    .values()
    .filter((row) => row.entityType === type && outer.includes(row.parentId))
    .map(({ entityId }) => entityId);
  return [...new Set([...own, ...inside])].sort();
}

/** Returns the unexpired grants of the subject, in the order of their keys. */
export function grantsOf(state: ScopeState, subject: string, nowMs: number): GrantRow[] {
  return state.grants
    .values()
    .filter((row) => row.subject === subject && isLive(row, nowMs))
    .sort((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1));
}

function grantsFor(state: ScopeState, question: Question): GrantRow[] {
  const { entity } = question;
  const places: (EntityRef | null)[] = [null];
  for (let at = entity; at; at = parentOf(state, at)) places.push(at);
  return places.flatMap((place) => liveGrant(state, { ...question, entity: place }) ?? []);
}

function parentOf(state: ScopeState, { type, id }: EntityRef): EntityRef | null {
  const row = state.parents.get(`${type} ${id}`);
  return row ? { type: row.parentType, id: row.parentId } : null;
}

function isLive({ expiresAt }: GrantRow, nowMs: number): boolean {
  return expiresAt === null || expiresAt > nowMs;
}

function sortKey(row: GrantRow): string {
  return `${row.permission}\u0000${row.entityType}\u0000${row.entityId}`;
}
