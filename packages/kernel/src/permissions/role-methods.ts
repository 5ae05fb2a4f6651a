/** Giving and taking roles. Nobody gives or takes away what he does not hold himself, for good and for the whole scope. */
import {
  type EntityRef,
  PlatformError,
  parseInput,
  principalId,
  projectedRoles,
  roleKey,
} from '@freehold/contracts';
import { RollbackThen, type UnitContext } from '@freehold/store';
import { z } from 'zod';
import type { DenialStore } from '../denials/store.ts';
import type { RoleChange, ScopeMethods } from '../scope-methods.ts';
import type { Vertical } from '../vertical.ts';
import { endOf, type Permissions } from './permissions.ts';

type RoleMethods = Pick<
  ScopeMethods,
  'projectRoles' | 'assignRole' | 'revokeRole' | 'setRoles' | 'assignments' | 'holdings'
>;

const roleChange = z.strictObject({
  principal: principalId,
  role: roleKey,
  by: z.union([principalId, z.literal('platform')]),
});

const rolesChange = z.strictObject({
  principal: principalId,
  roles: z.array(roleKey).max(20),
  by: z.union([principalId, z.literal('platform')]),
});

/** What somebody would have to hold to make a change, and until when. */
interface Demand {
  readonly permission: string;
  readonly entity: EntityRef | null;
  /** Milliseconds since the epoch; Infinity: without end. */
  readonly untilMs: number;
}

export function makeRoleMethods(
  vertical: Vertical,
  unit: UnitContext,
  permissions: Permissions,
  denials: DenialStore,
): RoleMethods {
  const { store } = permissions;

  /**
   * A role does not expire and covers the whole scope, so a grant that ends or is for one record is no authority
   * to give one. A refusal is written to the denial log; it unwound no operation.
   */
  const requireAuthority = ({ by }: Pick<RoleChange, 'by'>, demands: readonly Demand[]): void => {
    if (by === 'platform') return;
    const nowMs = unit.now();
    const lacks = ({ permission, entity, untilMs }: Demand): boolean => {
      const until = permissions.heldUntilMs({
        principal: by,
        permission,
        entity: entity ?? undefined,
        nowMs,
      });
      return until === null || until < untilMs;
    };
    const missing = demands.find(lacks);
    if (missing) {
      const { permission, entity } = missing;
      throw new RollbackThen(exceedsHolder(), () =>
        denials.save(unit.newId('dnl'), { actor: by, permission, entity, operation: null }, nowMs),
      );
    }
    // A role that allows nothing asks for nothing; a stranger is still nobody to hand it out.
    if (permissions.rolesOf(by).length === 0) throw exceedsHolder();
  };

  const demandsOf = (allowed: ReadonlySet<string>): Demand[] =>
    [...allowed].map((permission) => ({ permission, entity: null, untilMs: Number.POSITIVE_INFINITY }));

  /** The grants that go when somebody loses his last role. */
  const grantsThatGo = (principal: string): Demand[] =>
    store.grantsOf(principal, unit.now()).map((grant) => ({
      permission: grant.permission,
      entity: grant.entity,
      untilMs: endOf(grant),
    }));

  /** Gives and takes roles at once. Whoever is left without any loses his direct grants too. */
  const apply = (
    { principal, by }: Pick<RoleChange, 'principal' | 'by'>,
    { given, taken }: { readonly given: readonly string[]; readonly taken: readonly string[] },
  ): null => {
    const keepsNone =
      given.length === 0 && permissions.rolesOf(principal).every((role) => taken.includes(role));
    requireAuthority({ by }, [
      ...[...given, ...taken].flatMap((role) => demandsOf(permissions.permissionsOfRole(role) ?? new Set())),
      ...(keepsNone ? grantsThatGo(principal) : []),
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
        const unknown = keys.find((key) => !Object.hasOwn(vertical.manifest.permissions, key));
        if (unknown !== undefined) {
          throw new PlatformError(
            'validation_failed',
            `The role ${role} names ${unknown}, which this vertical does not declare.`,
          );
        }
      }
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
      // A role that is declared no more can still be taken away, or its assignments would wait for its return.
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
    holdings: ({ principal, records = false }) => {
      const nowMs = unit.now();
      // One search for each permission that there is, however many records were shared.
      const onRecords = Object.keys(records ? vertical.manifest.permissions : {})
        .filter((permission) => store.hasOnRecord(principal, permission, nowMs))
        .sort();
      return {
        roles: permissions.rolesOf(principal),
        permissions: permissions.held(principal, nowMs),
        ...(records ? { recordPermissions: onRecords } : {}),
      };
    },
  };
}

function exceedsHolder(): PlatformError {
  return new PlatformError(
    'forbidden',
    'You can only give or take a role whose permissions you hold yourself.',
    {
      reason: 'role_exceeds_holder',
    },
  );
}
