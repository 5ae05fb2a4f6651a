/**
 * Tells every scope the roles that the platform has, right after a change and again where that failed (spec C-22). What
 * each scope came to is one row of a sweep.
 *
 * One set of roles is for all verticals, and none of them knows the permissions of the others: a scope is told the part
 * that its version declares, as far as the registry or the wiring knows what that is.
 */
import { PlatformError, reconcileResponse } from '@freehold/contracts';
import type { UnitStub } from '@freehold/store';
import type { AdminCall } from '../actors.ts';
import type { EffectDeps } from '../lib/effects.ts';
import type { OperationsLog, SweepUnit } from '../operations-log/recorder.ts';
import type { DirectoryMethods } from '../unit.ts';
import { askScope } from '../verticals/ask-scope.ts';
import type { RoleDelivery } from './outbox.ts';

/** How long a scope may take. Many may be waiting behind it. */
const TIMEOUT_MS = 10_000;
/** How many scopes are told at a time, and how many a change waits for: the rest is told behind it. */
const AT_ONCE = 20;
const CHANGED: ReadonlySet<string> = new Set(['roles.put', 'roles.delete']);
const RENEWED: ReadonlySet<string> = new Set(['scopes.provision', 'scopes.restore', 'scopes.rewind']);

/** What the platform's own work calls. */
export interface RoleProjection {
  /**
   * Tells every scope that is due; one line each, for `recordSweep`. To be called about every minute. It may be broken
   * off anywhere: who was not told stays due.
   * @param options.all true tells every scope, due or not: once a day, against whatever nobody thought of.
   */
  sweep(options?: { readonly all?: boolean }): AsyncGenerator<SweepUnit, void, undefined>;
}

export interface RoleProjectionDeps extends Pick<EffectDeps, 'gateway' | 'deadline'> {
  readonly directory: UnitStub<DirectoryMethods>;
  /** What a vertical that the registry does not know declares; null when that is not known here either. */
  readonly permissionsOf: (vertical: string) => readonly string[] | null;
  readonly recordSweep: OperationsLog['recordSweep'];
  /** Receives errors that nobody expected, with what was being done. */
  readonly incident: (method: string) => (error: unknown) => void;
}

export function makeRoleProjection({
  directory,
  permissionsOf,
  recordSweep,
  incident,
  ...deps
}: RoleProjectionDeps): {
  readonly roles: RoleProjection;
  /** Waits for a call, and then tells the scopes that it concerns. Its answer is the call's, whatever became of them. */
  readonly followRoles: <T>(call: AdminCall, performing: Promise<T>) => Promise<T>;
} {
  const tell = async ({ scope, roles, revision, declared }: RoleDelivery): Promise<SweepUnit> => {
    const { id, tenant, vertical } = scope;
    const unit = { kind: 'roles', unit: id, tenant, scope: id, vertical } as const;
    const platformRoles = declaredPart(roles, declared ?? permissionsOf(vertical));
    try {
      await askScope(deps, scope, {
        path: 'reconcile',
        body: { platformRoles },
        // One that does not say so has not understood: its people would go on as before.
        answer: reconcileResponse
          .required({ roles: true })
          .refine(
            (answer) =>
              answer.scopeId === id && Object.keys(platformRoles).every((key) => answer.roles.includes(key)),
          ),
        timeoutMs: TIMEOUT_MS,
        local: async (host, ref) => {
          await host.projectRolesLocal(ref, platformRoles);
          return { scopeId: ref.scopeId, roles: Object.keys(platformRoles) };
        },
      });
    } catch (error) {
      if (!(error instanceof PlatformError)) incident('roles')(error);
      await directory.rolesNotDelivered({ scope: id });
      const reason = error instanceof PlatformError ? (error.reason ?? error.code) : 'internal';
      return { ...unit, outcome: 'failed', reason };
    }
    await directory.rolesDelivered({ scope: id, revision });
    return { ...unit, outcome: 'swept', reason: 'projected' };
  };

  async function* round(scope?: string): AsyncGenerator<SweepUnit, number, undefined> {
    const due = await directory.claimRoleDeliveries({
      limit: AT_ONCE,
      ...(scope === undefined ? {} : { scope }),
    });
    for (const line of await Promise.all(due.map(tell))) yield line;
    return due.length;
  }

  async function* everybodyDue(): AsyncGenerator<SweepUnit, void, undefined> {
    while ((yield* round()) > 0);
  }

  const record = async (lines: AsyncIterable<SweepUnit>): Promise<number> => (await recordSweep(lines)).units;

  const tellFirst = async (scope?: string): Promise<void> => {
    const told = await record(round(scope));
    if (scope === undefined && told === AT_ONCE) record(everybodyDue()).catch(incident('roles'));
  };

  return {
    roles: {
      sweep: async function* sweep({ all = false } = {}) {
        if (all) await directory.oweRolesToAll();
        yield* everybodyDue();
      },
    },
    followRoles: async (call, performing) => {
      const result = await performing;
      if (CHANGED.has(call.operation)) await tellFirst().catch(incident('roles'));
      const scope = RENEWED.has(call.operation) ? scopeOf(call, result) : undefined;
      if (scope !== undefined) await tellFirst(scope).catch(incident('roles'));
      return result;
    },
  };
}

/** A role of which a vertical knows no permission at all is no role there. */
function declaredPart(
  roles: RoleDelivery['roles'],
  declared: readonly string[] | null,
): Record<string, readonly string[]> {
  if (declared === null) return { ...roles };
  return Object.fromEntries(
    Object.entries(roles)
      .map(([key, permissions]) => [key, permissions.filter((each) => declared.includes(each))] as const)
      .filter(([, permissions]) => permissions.length > 0),
  );
}

/** Provisioning names its scope in the answer, everything else in the path. */
function scopeOf({ params }: AdminCall, result: unknown): string | undefined {
  if (typeof params.scope === 'string') return params.scope;
  const { value } = result as { readonly value?: { readonly id?: unknown } };
  return typeof value?.id === 'string' ? value.id : undefined;
}
