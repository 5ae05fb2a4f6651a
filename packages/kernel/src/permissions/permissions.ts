/**
 * The permissions of a scope: roles, assignments and grants, and the proof of each permission. Deny by default, no
 * negative rules (design: kernel, "Permissions"). Roles and assignments are few and read on every call: memory holds
 * them until they change or a call is rolled back. Grants are read by their key.
 */
import { type EntityRef, PlatformError, type VerticalManifest } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import { isAllowedByGrant, type ProgramQuestion, refusalOfGrant } from '../lib/programs.ts';
import type { Proof, Vertical } from '../vertical/vertical.ts';
import { makeParents, PARENTS_MAX, type Parents } from './parents.ts';
import { type GrantRecord, makePermissionStore, proofOf } from './store.ts';

/** The number of principals whose roles memory holds before it is emptied. */
const PRINCIPALS_MAX = 2_000;

export interface Question extends ProgramQuestion {
  readonly principal: string;
  readonly entity?: EntityRef | undefined;
  readonly nowMs: number;
}

export interface Permissions {
  /** Returns the first proof of a permission; null when the principal lacks it. */
  prove(question: Question): Proof | null;
  /** Returns every proof of a permission. */
  proofs(question: Question): Proof[];
  /**
   * Returns the end of a principal's permission: milliseconds since the epoch, Infinity for none, null when the
   * principal lacks it. The principal may not give or take it for longer.
   */
  heldUntilMs(question: Question): number | null;
  /** Returns the records of a type for which the principal holds the permission. */
  reach(question: Omit<Question, 'entity'> & { readonly entityType: string }): 'all' | string[];
  rolesOf(principal: string): readonly string[];
  /** Returns the permissions of a role; undefined for one that is not declared. */
  permissionsOfRole(role: string): ReadonlySet<string> | undefined;
  /** Returns the permissions that hold for the whole scope. */
  held(principal: string, nowMs: number): string[];
  readonly store: ReturnType<typeof makePermissionStore>;
  readonly parents: Parents;
  /** Empties the memory. */
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
    // A projected role never changes a role of the manifest.
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

  /** Returns the proof of a permission for the whole scope and without end: by a role, or as a service. */
  const standing = ({ principal, permission }: Pick<Question, 'principal' | 'permission'>): Proof | null => {
    const service = services.get(principal);
    if (service)
      return service.permissions.has(permission) ? { by: 'service', service: service.service } : null;
    const role = rolesOf(principal).find((each) => allRoles().get(each)?.has(permission));
    return role === undefined ? null : { by: 'role', role };
  };

  /** Yields the grants that cover a record: for the whole scope, for the record, then for its ancestors. */
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

  /** Returns the records of a type that grants reach: by grants on them, or on their ancestors. */
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
    prove: (question) => (isAllowedByGrant(question) ? prove(question) : null),
    proofs: (question) => {
      const byRole = rolesOf(question.principal)
        .filter((role) => allRoles().get(role)?.has(question.permission))
        .map((role): Proof => ({ by: 'role', role }));
      const service = services.has(question.principal) ? standing(question) : null;
      return [...byRole, ...(service ? [service] : []), ...[...grantsFor(question)].map(proofOf)];
    },
    heldUntilMs: (question) => {
      if (!isAllowedByGrant(question)) return null;
      if (standing(question)) return Number.POSITIVE_INFINITY;
      const grants = [...grantsFor(question)];
      return grants.length === 0 ? null : Math.max(...grants.map(endOf));
    },
    reach: (question) => {
      if (!isAllowedByGrant(question)) return [];
      return prove(question) ? 'all' : granted(question);
    },
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

/** Returns the end of a grant in milliseconds since the epoch; Infinity for none. */
export function endOf({ expiresAtMs }: { readonly expiresAtMs: number | null }): number {
  return expiresAtMs ?? Number.POSITIVE_INFINITY;
}

/**
 * Returns the refusal of a permission: the sentence in the vertical's words, the permission as the narrower reason. Where
 * the grant of a program withholds it, it says so, and names the program.
 */
export function refusalOf(vertical: Vertical, question: ProgramQuestion): PlatformError {
  const { program, permission } = question;
  if (program && !isAllowedByGrant(question)) return refusalOfGrant(vertical, { ...question, program });
  const { manifest } = vertical;
  const words = manifest.permissions[permission] ?? permission;
  return new PlatformError(
    'permission_denied',
    `Your role does not allow this: ${words}. Ask the owner if you need it.`,
    { reason: permission.replaceAll('.', '_') },
  );
}
