/**
 * Who may do what in a scope: roles, assignments and grants, and the proof of each permission. Deny by default, no
 * negative rules (design: kernel, "Permissions"). Roles and assignments are few and read on every call, so they are
 * kept in memory and dropped whenever they change or something is rolled back; grants are read by their key.
 */
import type { EntityRef, VerticalManifest } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import { makeParents, PARENTS_MAX, type Parents } from './parents.ts';
import { type GrantRecord, makePermissionStore, proofOf } from './store.ts';

/**
 * What let an actor through: a role that is assigned to him, being a service that the manifest gives the permission,
 * or a grant, for one record (his own, or one that it lies in) or (`entity` null) for the whole scope, until
 * `expiresAtMs` (milliseconds since the epoch, null: without end).
 */
export type Proof =
  | { readonly by: 'role'; readonly role: string }
  | { readonly by: 'service'; readonly service: string }
  | { readonly by: 'grant'; readonly entity: EntityRef | null; readonly expiresAtMs: number | null };

/** How many principals' roles are remembered before the memory is emptied. */
const PRINCIPALS_MAX = 2_000;

export interface Question {
  readonly principal: string;
  readonly permission: string;
  readonly entity?: EntityRef | undefined;
  readonly nowMs: number;
}

export interface Permissions {
  /** What lets the principal through, or null. */
  prove(question: Question): Proof | null;
  /** All of what lets the principal through. */
  proofs(question: Question): Proof[];
  /**
   * Until when the principal holds a permission: milliseconds since the epoch, Infinity when nothing ends it, null
   * when he does not hold it. It bounds what he may give and take.
   */
  heldUntilMs(question: Question): number | null;
  /** The records of a type for which the principal holds the permission. */
  reach(question: Omit<Question, 'entity'> & { readonly entityType: string }): 'all' | string[];
  rolesOf(principal: string): readonly string[];
  /** What a role allows, or undefined when nobody declares it (any more). */
  permissionsOfRole(role: string): ReadonlySet<string> | undefined;
  /** Permissions that hold for the whole scope. */
  held(principal: string, nowMs: number): string[];
  readonly store: ReturnType<typeof makePermissionStore>;
  readonly parents: Parents;
  /** Forgets what is kept in memory. */
  forget(): void;
}

export function makePermissions(db: SqlDatabase, manifest: VerticalManifest): Permissions {
  const store = makePermissionStore(db);
  const parents = makeParents(db, manifest);
  const services = new Map(
    Object.entries(manifest.services ?? {}).map(([key, service]) => [
      `service:${key}`,
      { service: key, permissions: new Set(service.permissions) },
    ]),
  );
  const declared = new Map(
    Object.entries(manifest.roles).map(([key, role]) => [key, new Set(role.permissions)]),
  );
  let roles: ReadonlyMap<string, ReadonlySet<string>> | null = null;
  const assigned = new Map<string, readonly string[]>();

  const allRoles = (): ReadonlyMap<string, ReadonlySet<string>> => {
    if (roles) return roles;
    const merged = new Map<string, Set<string>>(declared);
    // A projected role never changes what a role of the manifest means.
    for (const { role, permission } of store.projectedRoles()) {
      if (declared.has(role)) continue;
      merged.set(role, (merged.get(role) ?? new Set()).add(permission));
    }
    roles = merged;
    return merged;
  };

  const rolesOf = (principal: string): readonly string[] => {
    let found = assigned.get(principal);
    if (!found) {
      found = store.rolesOf(principal);
      if (assigned.size >= PRINCIPALS_MAX) assigned.clear();
      assigned.set(principal, found);
    }
    return found;
  };

  /** What somebody is allowed for the whole scope and without end: as a role's holder, or as a service. */
  const standing = ({ principal, permission }: Pick<Question, 'principal' | 'permission'>): Proof | null => {
    const service = services.get(principal);
    if (service)
      return service.permissions.has(permission) ? { by: 'service', service: service.service } : null;
    const role = rolesOf(principal).find((each) => allRoles().get(each)?.has(permission));
    return role === undefined ? null : { by: 'role', role };
  };

  /** The grants that cover a record, nearest last: the whole scope's, the record's own, and those of what it lies in. */
  function* grantsFor({ principal: subject, permission, entity, nowMs }: Question): Generator<GrantRecord> {
    const wide = store.scopeWideGrant({ subject, permission }, nowMs);
    if (wide) yield wide;
    if (!entity) return;
    const own = store.grant({ subject, permission, entity }, nowMs);
    if (own) yield own;
    for (const ancestor of parents.ancestorsOf(entity)) {
      const above = store.grant({ subject, permission, entity: ancestor }, nowMs);
      if (above) yield above;
    }
  }

  const prove = (question: Question): Proof | null => {
    const proof = standing(question);
    if (proof) return proof;
    const { value: grant } = grantsFor(question).next();
    return grant ? proofOf(grant) : null;
  };

  /** The records of a type that grants reach: its own, and those that lie in granted ones of the types above. */
  const granted = (question: Omit<Question, 'entity'> & { readonly entityType: string }): string[] => {
    const { principal: subject, permission, nowMs } = question;
    const types = [question.entityType];
    for (let depth = 0; depth < PARENTS_MAX; depth++) {
      const above = parents.parentType(types[0] as string);
      if (above === undefined) break;
      types.unshift(above);
    }
    let reached = new Set<string>();
    let outer: string | null = null;
    for (const entityType of types) {
      const inside: string[] = [];
      for (const id of outer === null ? [] : reached)
        inside.push(...parents.childrenOf({ type: outer as string, id }, entityType));
      reached = new Set([...inside, ...store.grantedEntities({ subject, permission, entityType, nowMs })]);
      outer = entityType;
    }
    return [...reached];
  };

  return {
    prove,
    proofs: (question) => {
      const byRole = rolesOf(question.principal)
        .filter((role) => allRoles().get(role)?.has(question.permission))
        .map((role): Proof => ({ by: 'role', role }));
      const service = services.has(question.principal) ? standing(question) : null;
      return [...byRole, ...(service ? [service] : []), ...[...grantsFor(question)].map(proofOf)];
    },
    heldUntilMs: (question) => {
      if (standing(question)) return Number.POSITIVE_INFINITY;
      const grants = [...grantsFor(question)];
      return grants.length === 0 ? null : Math.max(...grants.map(endOf));
    },
    reach: (question) => (prove(question) ? 'all' : granted(question)),
    rolesOf,
    permissionsOfRole: (role) => allRoles().get(role),
    held: (principal, nowMs) => {
      const fromRoles = rolesOf(principal).flatMap((role) => [...(allRoles().get(role) ?? [])]);
      const fromService = services.get(principal)?.permissions ?? [];
      const wide = store.scopeWideGrants(principal, nowMs).map((grant) => grant.permission);
      return [...new Set([...fromRoles, ...fromService, ...wide])].sort();
    },
    store,
    parents,
    forget: () => {
      roles = null;
      assigned.clear();
    },
  };
}

/** When a grant ends, in milliseconds since the epoch; Infinity when it does not. */
export function endOf({ expiresAtMs }: { readonly expiresAtMs: number | null }): number {
  return expiresAtMs ?? Number.POSITIVE_INFINITY;
}
