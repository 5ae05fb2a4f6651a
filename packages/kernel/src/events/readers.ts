/**
 * The events that one reader may read: those of entities whose declared read permission the reader holds. An entity
 * without a declared one is read by no reader, and staff read without one.
 */
import type { ActorId, EntityRef, ProgramGrant } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import type { Permissions } from '../permissions/permissions.ts';
import type { Vertical } from '../vertical/vertical.ts';

/** Whether a record's events may be read. */
export type MayRead = (entity: EntityRef) => boolean;

export type Readers = (reader: ActorId | undefined, program?: ProgramGrant) => MayRead;

export function makeReaders(parts: {
  readonly vertical: Vertical;
  readonly permissions: Permissions;
  readonly unit: UnitContext;
}): Readers {
  const { vertical, permissions, unit } = parts;
  const { entities } = vertical.manifest;
  return (principal, program) => {
    if (principal === undefined) return () => true;
    const nowMs = unit.now();
    const known = new Map<string, boolean>();
    return (entity) => {
      const key = `${entity.type}/${entity.id}`;
      const before = known.get(key);
      if (before !== undefined) return before;
      const permission = Object.hasOwn(entities, entity.type) ? entities[entity.type]?.read : undefined;
      const may =
        permission !== undefined &&
        permissions.prove({ principal, permission, entity, program, nowMs }) !== null;
      known.set(key, may);
      return may;
    };
  };
}
