/** The permission that the platform gives to a connection, so that it can act in a scope as itself (spec 4.4). */
import { connectionId, entityRef, PlatformError, parseInput, permissionKey } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { z } from 'zod';
import type { RequireEntity } from '../lib/entities.ts';
import type { ScopeMethods } from '../scope-methods.ts';
import type { Vertical } from '../vertical.ts';
import type { Permissions } from './permissions.ts';

const grantInput = z.strictObject({
  connection: connectionId,
  permission: permissionKey,
  entity: entityRef.optional(),
});

export function makeGrantConnection(
  vertical: Vertical,
  unit: UnitContext,
  permissions: Permissions,
  requireEntity: RequireEntity,
): ScopeMethods['grantConnection'] {
  return (input) => {
    const { connection, permission, entity: named } = parseInput('The grant', grantInput, input);
    if (!Object.hasOwn(vertical.manifest.permissions, permission))
      throw unknown('unknown_permission', `This vertical declares no permission ${permission}.`);
    if (named && !Object.hasOwn(vertical.manifest.entities, named.type))
      throw unknown('unknown_entity_type', `This vertical declares no record of type ${named.type}.`);
    const entity = named && requireEntity(named, 'connector grant');
    const subject = `connection:${connection}`;
    permissions.store.saveGrant({
      subject,
      permission,
      entity,
      expiresAtMs: null,
      grantedBy: 'platform',
      nowMs: unit.now(),
    });
    return { subject, permission, entity: entity ?? null };
  };
}

function unknown(reason: string, detail: string): PlatformError {
  return new PlatformError('validation_failed', detail, { reason });
}
