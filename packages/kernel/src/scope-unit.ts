/** A scope's unit: the kernel's parts put together over one database. */
import { PlatformError, permissionKey, roleKey, type TenantId, toTimestamp } from '@freehold/contracts';
import { appliedMigrations, defineUnit, type UnitContext, type UnitDefinition } from '@freehold/store';
import { makeDenialStore } from './denials/store.ts';
import { makeEventStore } from './events/store.ts';
import { makeIdempotency } from './idempotency/idempotency.ts';
import { makeInvoke } from './invoke.ts';
import { makePermissions, type Permissions } from './permissions/permissions.ts';
import type { RoleChange, ScopeMethods } from './scope-methods.ts';
import { spineMigrations } from './spine.ts';
import type { Vertical } from './vertical.ts';

export type ScopeUnit = UnitDefinition<ScopeMethods>;

/** Names of tables that a vertical may read and never write. */
const SPINE_PREFIX = '_spine_';

/** The unit that hosts the scopes of a vertical: kind `scope-<slug>`, keyed by scope id. */
export function makeScopeUnit(vertical: Vertical): ScopeUnit {
  return defineUnit<ScopeMethods>({
    kind: `scope-${vertical.manifest.slug}`,
    migrations: [spineMigrations, { name: 'vertical', migrations: vertical.migrations, guarded: true }],
    queries: [
      'assignments',
      'holdings',
      'explain',
      'history',
      'cause',
      'effects',
      'invocation',
      'listDenials',
      'summarizeDenials',
      'appliedMigrations',
      'identify',
    ],
    open: (unit) => openScope(vertical, unit),
  });
}

function openScope(vertical: Vertical, unit: UnitContext): ScopeMethods {
  const { db } = unit;
  const permissions = makePermissions(db, vertical.manifest);
  const events = makeEventStore(db);
  const denials = makeDenialStore(db);
  unit.onRollback(permissions.forget);
  for (const id of [...events.newestIds(), denials.newestId() ?? []].flat()) unit.newId.observe(id);

  const invoke = makeInvoke({
    unit,
    vertical,
    permissions,
    events,
    denials,
    idempotency: makeIdempotency(db),
    sql: unit.guarded({ protectedPrefix: SPINE_PREFIX, readOnly: false }),
    readOnlySql: unit.guarded({ protectedPrefix: SPINE_PREFIX, readOnly: true }),
  });

  let identity: { readonly tenantId: TenantId; readonly name: string } | null = null;
  unit.onRollback(() => {
    identity = null;
  });
  const identify = (): { tenantId: TenantId; name: string } => {
    identity ??=
      db.get<{ tenantId: TenantId; name: string }>(
        'SELECT tenant_id AS tenantId, name FROM _spine_scope WHERE singleton = 1',
      ) ?? null;
    if (!identity) throw unknownScope();
    return { tenantId: identity.tenantId, name: identity.name };
  };

  return {
    provision: ({ tenantId, name }) => {
      const existing = db.get<{ tenantId: TenantId }>(
        'SELECT tenant_id AS tenantId FROM _spine_scope WHERE singleton = 1',
      );
      if (existing) {
        if (existing.tenantId !== tenantId) throw unknownScope();
        return 'unchanged';
      }
      db.run(
        'INSERT INTO _spine_scope (singleton, tenant_id, name, provisioned_at) VALUES (1, ?, ?, ?)',
        tenantId,
        name,
        unit.now(),
      );
      return 'provisioned';
    },
    identify,
    invoke: (input) => {
      identify();
      return invoke(input);
    },
    ...roleMethods(vertical, unit, permissions),
    explain: ({ principal, permission, entity }) =>
      permissions.proofs({ principal, permission, entity, nowMs: unit.now() }),
    history: (input) => events.history(input),
    cause: ({ event }) => {
      requireEvent(events, event);
      return events.cause(event);
    },
    effects: ({ event }) => {
      requireEvent(events, event);
      return events.effects(event);
    },
    invocation: ({ invocation }) => events.invocation(invocation),
    listDenials: (input) => denials.list(input),
    summarizeDenials: ({ groupBy }) => denials.summarize(groupBy),
    appliedMigrations: () =>
      appliedMigrations(db).map(({ appliedAtMs, ...row }) => ({
        ...row,
        appliedAt: toTimestamp(appliedAtMs),
      })),
  };
}

function roleMethods(
  vertical: Vertical,
  unit: UnitContext,
  permissions: Permissions,
): Pick<ScopeMethods, 'projectRoles' | 'assignRole' | 'revokeRole' | 'assignments' | 'holdings'> {
  /** A role is given and taken only by somebody who holds all of it (design: kernel, "delegation bounded"). */
  const requireAuthority = ({ role, by }: RoleChange): void => {
    const needed = permissions.permissionsOfRole(role);
    if (!needed)
      throw new PlatformError('not_found', `There is no role ${role}.`, { reason: 'unknown_role' });
    if (by === 'platform') return;
    const held = new Set(permissions.held(by, unit.now()));
    if ([...needed].every((permission) => held.has(permission))) return;
    throw new PlatformError(
      'forbidden',
      'You can only give or take a role whose permissions you hold yourself.',
      {
        reason: 'role_exceeds_holder',
      },
    );
  };

  return {
    projectRoles: ({ roles }) => {
      for (const [role, keys] of Object.entries(roles)) {
        if (!roleKey.safeParse(role).success || keys.some((key) => !permissionKey.safeParse(key).success)) {
          throw new PlatformError(
            'validation_failed',
            `The role ${JSON.stringify(role)} or one of its permissions is malformed.`,
          );
        }
        const unknown = keys.find((key) => !Object.hasOwn(vertical.manifest.permissions, key));
        if (unknown !== undefined) {
          throw new PlatformError(
            'validation_failed',
            `The role ${role} names ${unknown}, which this vertical does not declare.`,
          );
        }
      }
      permissions.store.replaceProjectedRoles(roles);
      permissions.forget();
      return null;
    },
    assignRole: (change) => {
      requireAuthority(change);
      permissions.store.saveAssignment({
        principal: change.principal,
        role: change.role,
        grantedBy: change.by,
        nowMs: unit.now(),
      });
      permissions.forget();
      return null;
    },
    revokeRole: (change) => {
      requireAuthority(change);
      permissions.store.deleteAssignment(change.principal, change.role);
      permissions.forget();
      if (permissions.rolesOf(change.principal).length === 0)
        permissions.store.deleteGrantsOf(change.principal);
      return null;
    },
    assignments: () => permissions.store.assignments(),
    holdings: ({ principal }) => ({
      roles: permissions.rolesOf(principal),
      permissions: permissions.held(principal, unit.now()),
    }),
  };
}

function requireEvent(events: ReturnType<typeof makeEventStore>, id: string): void {
  if (!events.exists(id)) throw new PlatformError('not_found', 'There is no such event in this scope.');
}

function unknownScope(): PlatformError {
  return new PlatformError('not_found', 'There is no such scope.', { reason: 'unknown_scope' });
}
