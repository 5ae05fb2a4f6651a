/**
 * Who may do what in a scope: roles, assignments and grants, and the proof of each permission. Deny by default, no
 * negative rules (design: kernel, "Permissions"). Roles and assignments are few and read on every call, so they are
 * kept in memory and dropped whenever they change or something is rolled back; grants are read by their key.
 */
import type { EntityRef, VerticalManifest } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import { type GrantRecord, makePermissionStore, proofOf } from './store.ts';

/**
 * What let a principal through: a role that is assigned to him, or a grant, for one record or (`entity` null) for
 * the whole scope, until `expiresAtMs` (milliseconds since the epoch, null: without end).
 */
export type Proof =
  | { readonly by: 'role'; readonly role: string }
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
  /** Forgets what is kept in memory. */
  forget(): void;
}

export function makePermissions(db: SqlDatabase, manifest: VerticalManifest): Permissions {
  const store = makePermissionStore(db);
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

  const roleWith = (principal: string, permission: string): string | undefined =>
    rolesOf(principal).find((role) => allRoles().get(role)?.has(permission));

  /** The grants that cover a record: the one for the whole scope, and the record's own. */
  const grantsFor = ({ principal: subject, permission, entity, nowMs }: Question): GrantRecord[] => {
    const wide = store.scopeWideGrant({ subject, permission }, nowMs);
    const narrow = entity && store.grant({ subject, permission, entity }, nowMs);
    return [wide, narrow].filter((grant) => grant !== undefined);
  };

  const prove = (question: Question): Proof | null => {
    const role = roleWith(question.principal, question.permission);
    if (role !== undefined) return { by: 'role', role };
    const [grant] = grantsFor(question);
    return grant ? proofOf(grant) : null;
  };

  return {
    prove,
    proofs: (question) => {
      const byRole = rolesOf(question.principal)
        .filter((role) => allRoles().get(role)?.has(question.permission))
        .map((role): Proof => ({ by: 'role', role }));
      return [...byRole, ...grantsFor(question).map(proofOf)];
    },
    heldUntilMs: (question) => {
      if (roleWith(question.principal, question.permission) !== undefined) return Number.POSITIVE_INFINITY;
      const grants = grantsFor(question);
      return grants.length === 0 ? null : Math.max(...grants.map(endOf));
    },
    reach: ({ principal, permission, nowMs, entityType }) =>
      prove({ principal, permission, nowMs })
        ? 'all'
        : store.grantedEntities({ subject: principal, permission, nowMs, entityType }),
    rolesOf,
    permissionsOfRole: (role) => allRoles().get(role),
    held: (principal, nowMs) => {
      const fromRoles = rolesOf(principal).flatMap((role) => [...(allRoles().get(role) ?? [])]);
      const granted = store.scopeWideGrants(principal, nowMs).map((grant) => grant.permission);
      return [...new Set([...fromRoles, ...granted])].sort();
    },
    store,
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
