/** A check outside of any operation: for what a vertical serves beside its operations, such as its team or its logs. */
import { actorId, entityRef, PlatformError, parseInput } from '@freehold/contracts';
import { RollbackThen, type UnitContext } from '@freehold/store';
import { z } from 'zod';
import type { DenialStore } from '../denials/store.ts';
import type { ScopeMethods } from '../scope-methods.ts';
import type { Vertical } from '../vertical.ts';
import type { Permissions } from './permissions.ts';

const checkInput = z.strictObject({
  principal: actorId,
  permission: z.string(),
  entity: entityRef.optional(),
});

/** What somebody is told who lacks a permission, in the vertical's own words. */
export function refusalWords({ manifest }: Vertical, permission: string): string {
  return `Your role does not allow this: ${manifest.permissions[permission] ?? permission}. Ask the owner if you need it.`;
}

/** The narrower reason beside `permission_denied`: the permission, spelled as a word. */
export function refusalReason(permission: string): string {
  return permission.replaceAll('.', '_');
}

/** Builds the scope's `check`. A refusal is one denial row without an operation (spec 4.3.7). */
export function makeCheckMethod(
  vertical: Vertical,
  unit: UnitContext,
  permissions: Permissions,
  denials: DenialStore,
): ScopeMethods['check'] {
  return (input) => {
    const { principal, permission, entity } = parseInput('The check', checkInput, input);
    if (!Object.hasOwn(vertical.manifest.permissions, permission)) {
      throw new TypeError(
        `permission ${permission} is not declared in the manifest of ${vertical.manifest.slug}`,
      );
    }
    const nowMs = unit.now();
    const proof = permissions.prove({ principal, permission, entity, nowMs });
    if (proof) return proof;
    const error = new PlatformError('permission_denied', refusalWords(vertical, permission), {
      reason: refusalReason(permission),
    });
    throw new RollbackThen(error, () =>
      denials.save(
        unit.newId('dnl'),
        { actor: principal, permission, entity: entity ?? null, operation: null },
        nowMs,
      ),
    );
  };
}
