/**
 * The methods of a scope about permissions: checks outside of operations, roles, and grants to connections. No principal
 * gives or takes a role without holding its permissions for good and for the whole scope.
 */
import {
  actorId,
  connectionId,
  type EntityRef,
  entityRef,
  PlatformError,
  parseInput,
  permissionKey,
  principalId,
  projectedRoles,
  roleKey,
} from '@freehold/contracts';
import { RollbackThen, type UnitContext } from '@freehold/store';
import { z } from 'zod';
import type { RoleChange, ScopeMethods } from '../contract/scope-methods.ts';
import type { DenialStore } from '../denials/store.ts';
import { isAllowedByGrant, programGrant } from '../lib/programs.ts';
import type { RequireEntity } from '../lib/values.ts';
import type { Proof, Vertical } from '../vertical/vertical.ts';
import { endOf, type Permissions, type Question, refusalOf } from './permissions.ts';

const checkInput = z.strictObject({
  principal: actorId,
  permission: z.string(),
  entity: entityRef.optional(),
  program: programGrant.optional(),
});
const grantInput = z.strictObject({
  connection: connectionId,
  permission: permissionKey,
  entity: entityRef.optional(),
});
const by = z.union([principalId, z.literal('platform')]);
const roleChange = z.strictObject({ principal: principalId, role: roleKey, by });
const rolesChange = z.strictObject({ principal: principalId, roles: z.array(roleKey).max(20), by });

export interface PermissionParts {
  readonly vertical: Vertical;
  readonly unit: UnitContext;
  readonly permissions: Permissions;
  readonly denials: DenialStore;
  readonly requireEntity: RequireEntity;
  /** Throws while the rights must not change. */
  readonly requireFree: () => void;
}

/**
 * Proves a permission outside of any operation. A refusal is one denial row without an operation (spec 4.3.7).
 * @throws RollbackThen around a PlatformError `permission_denied`.
 */
export function demandOutside(
  { vertical, unit, permissions, denials }: Omit<PermissionParts, 'requireEntity' | 'requireFree'>,
  question: Omit<Question, 'nowMs'>,
): Proof {
  const nowMs = unit.now();
  const proof = permissions.prove({ ...question, nowMs });
  if (proof) return proof;
  const { principal, permission, entity, program } = question;
  const denial = { actor: principal, permission, entity: entity ?? null, operation: null, program };
  throw new RollbackThen(refusalOf(vertical, question), () => denials.save(unit.newId('dnl'), denial, nowMs));
}

/** The scope's `check` and `grantConnection`: for a vertical's own routes, and for connections (spec 4.4). */
export function makePermissionMethods(
  parts: PermissionParts,
): Pick<ScopeMethods, 'check' | 'explain' | 'grantConnection'> {
  const { vertical, unit, permissions, requireEntity, requireFree } = parts;
  const { manifest } = vertical;
  return {
    check: (input) => {
      const question = parseInput('The check', checkInput, input);
      if (!Object.hasOwn(manifest.permissions, question.permission))
        throw new TypeError(
          `permission ${question.permission} is not declared in the manifest of ${manifest.slug}`,
        );
      return demandOutside(parts, question);
    },
    explain: ({ principal, permission, entity }) =>
      permissions.proofs({ principal, permission, entity, nowMs: unit.now() }),
    grantConnection: (input) => {
      const { connection, permission, entity: named } = parseInput('The grant', grantInput, input);
      if (!Object.hasOwn(manifest.permissions, permission))
        throw unknown('unknown_permission', `This vertical declares no permission ${permission}.`);
      if (named && !Object.hasOwn(manifest.entities, named.type))
        throw unknown('unknown_entity_type', `This vertical declares no record of type ${named.type}.`);
      const entity = named && requireEntity(named, 'connector grant');
      const subject = `connection:${connection}`;
      requireFree();
      const grant = { subject, permission, entity, expiresAtMs: null, grantedBy: 'platform' };
      permissions.store.saveGrant({ ...grant, nowMs: unit.now() });
      return { subject, permission, entity: entity ?? null };
    },
  };
}

/** A permission that a principal must hold to make a change, and the moment until which. */
interface Demand {
  readonly permission: string;
  readonly entity: EntityRef | null;
  /** Milliseconds since the epoch; Infinity: without end. */
  readonly untilMs: number;
}

type RoleMethods = Pick<
  ScopeMethods,
  'projectRoles' | 'assignRole' | 'revokeRole' | 'setRoles' | 'assignments' | 'holdings'
>;

export function makeRoleMethods(parts: PermissionParts): RoleMethods {
  const { vertical, unit, permissions, requireFree } = parts;
  const { store } = permissions;

  /** Gives and takes roles at once. A principal without any role loses its direct grants too. */
  const apply = (
    { principal, by }: Pick<RoleChange, 'principal' | 'by'>,
    { given, taken }: { readonly given: readonly string[]; readonly taken: readonly string[] },
  ): null => {
    requireFree();
    const keepsNone =
      given.length === 0 && permissions.rolesOf(principal).every((role) => taken.includes(role));
    requireAuthority(parts, { by }, [
      ...[...given, ...taken].flatMap((role) => demandsOf(permissions.permissionsOfRole(role) ?? new Set())),
      ...(keepsNone ? grantsOf(parts, principal) : []),
    ]);
    for (const role of given) store.saveAssignment({ principal, role, grantedBy: by, nowMs: unit.now() });
    for (const role of taken) store.deleteAssignment(principal, role);
    if (keepsNone) store.deleteGrantsOf(principal);
    permissions.forget();
    return null;
  };

  const requireRole = (role: string): void => {
    if (!permissions.permissionsOfRole(role))
      throw new PlatformError('not_found', `There is no role ${role}.`, { reason: 'unknown_role' });
  };

  return {
    projectRoles: (input) => {
      const { roles } = parseInput('The roles', z.strictObject({ roles: projectedRoles }), input);
      for (const [role, keys] of Object.entries(roles)) {
        const undeclared = keys.find((key) => !Object.hasOwn(vertical.manifest.permissions, key));
        if (undeclared !== undefined)
          throw new PlatformError(
            'validation_failed',
            `The role ${role} names ${undeclared}, which this vertical does not declare.`,
          );
      }
      requireFree();
      store.replaceProjectedRoles(roles);
      permissions.forget();
      return null;
    },
    assignRole: (input) => {
      const change = parseInput('The role change', roleChange, input);
      requireRole(change.role);
      return apply(change, { given: [change.role], taken: [] });
    },
    revokeRole: (input) => {
      const change = parseInput('The role change', roleChange, input);
      // A role that is no longer declared can be taken away, or its assignments would wait for its return.
      if (!permissions.rolesOf(change.principal).includes(change.role)) requireRole(change.role);
      return apply(change, { given: [], taken: [change.role] });
    },
    setRoles: (input) => {
      const change = parseInput('The role change', rolesChange, input);
      const wanted = new Set(change.roles);
      const held = permissions.rolesOf(change.principal);
      const given = [...wanted].filter((role) => !held.includes(role));
      const taken = held.filter((role) => !wanted.has(role));
      for (const role of given) requireRole(role);
      return given.length + taken.length === 0 ? null : apply(change, { given, taken });
    },
    assignments: () => store.assignments(),
    holdings: ({ principal, program, records = false }) => {
      const nowMs = unit.now();
      // One search for each declared permission, whatever the number of shared records.
      const onRecords = Object.keys(records ? vertical.manifest.permissions : {})
        .filter((permission) => isAllowedByGrant({ program, permission }))
        .filter((permission) => store.hasOnRecord(principal, permission, nowMs))
        .sort();
      return {
        roles: permissions.rolesOf(principal),
        permissions: permissions
          .held(principal, nowMs)
          .filter((permission) => isAllowedByGrant({ program, permission })),
        ...(records ? { recordPermissions: onRecords } : {}),
      };
    },
  };
}

/**
 * Requires that `by` holds what it gives or takes. A role does not expire and covers the whole scope, so a grant that
 * ends or is for one record is no authority to give one. A refusal is a denial row without an operation.
 */
function requireAuthority(
  { unit, permissions, denials }: PermissionParts,
  { by }: Pick<RoleChange, 'by'>,
  demands: readonly Demand[],
): void {
  if (by === 'platform') return;
  const nowMs = unit.now();
  const missing = demands.find(({ permission, entity, untilMs }) => {
    const question = { principal: by, permission, entity: entity ?? undefined, nowMs };
    return (permissions.heldUntilMs(question) ?? Number.NEGATIVE_INFINITY) < untilMs;
  });
  if (missing) {
    const { permission, entity } = missing;
    throw new RollbackThen(exceedsHolder(), () =>
      denials.save(unit.newId('dnl'), { actor: by, permission, entity, operation: null }, nowMs),
    );
  }
  // A role without permissions demands nothing; still, only a member may give it.
  if (permissions.rolesOf(by).length === 0) throw exceedsHolder();
}

function demandsOf(allowed: ReadonlySet<string>): Demand[] {
  return [...allowed].map((permission) => ({ permission, entity: null, untilMs: Number.POSITIVE_INFINITY }));
}

/** Returns the grants that a principal loses with its last role. */
function grantsOf({ permissions, unit }: PermissionParts, principal: string): Demand[] {
  return permissions.store.grantsOf(principal, unit.now()).map((grant) => ({
    permission: grant.permission,
    entity: grant.entity,
    untilMs: endOf(grant),
  }));
}

function exceedsHolder(): PlatformError {
  return new PlatformError(
    'forbidden',
    'You can only give or take a role whose permissions you hold yourself.',
    { reason: 'role_exceeds_holder' },
  );
}

function unknown(reason: string, detail: string): PlatformError {
  return new PlatformError('validation_failed', detail, { reason });
}
