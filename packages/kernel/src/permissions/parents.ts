/** The parents of records: a grant on a parent covers its children (design: kernel, "Permissions"). */
import { type EntityRef, PlatformError, type VerticalManifest } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';

/** The number of levels that a grant reaches down. */
export const PARENTS_MAX = 4;

export const PARENT_SQL = {
  parent: `SELECT parent_type AS type, parent_id AS id FROM _spine_parents WHERE entity_type = ? AND entity_id = ?`,
  children: `SELECT entity_id AS id FROM _spine_parents WHERE parent_type = ? AND parent_id = ? AND entity_type = ?`,
} as const;

export type Parents = ReturnType<typeof makeParents>;

export function makeParents(db: SqlDatabase, { entities }: VerticalManifest) {
  const parentType = (type: string): string | undefined =>
    Object.hasOwn(entities, type) ? entities[type]?.parent : undefined;

  /** A parent of a type that the manifest no longer declares as one does not count. */
  const parentOf = ({ type, id }: EntityRef): EntityRef | null => {
    const declared = parentType(type);
    if (declared === undefined) return null;
    const parent = db.get<EntityRef>(PARENT_SQL.parent, type, id);
    return parent?.type === declared ? parent : null;
  };

  /** Returns the record's parent, its parent's parent and so on, at most four. */
  const ancestorsOf = (entity: EntityRef): EntityRef[] => {
    const found: EntityRef[] = [];
    for (let at = parentOf(entity); at && found.length < PARENTS_MAX; at = parentOf(at)) {
      found.push({ type: at.type, id: at.id });
    }
    return found;
  };

  const childrenOf = ({ type, id }: EntityRef, childType: string): string[] =>
    db.all<{ id: string }>(PARENT_SQL.children, type, id, childType).map((row) => row.id);

  /** Returns the number of levels below a record, up to a bound. */
  const heightOf = (entity: EntityRef, bound: number): number => {
    if (bound === 0) return 0;
    let height = 0;
    for (const type of Object.keys(entities)) {
      if (parentType(type) !== entity.type) continue;
      for (const id of childrenOf(entity, type)) {
        height = Math.max(height, 1 + heightOf({ type, id }, bound - 1));
        if (height >= bound) return height;
      }
    }
    return height;
  };

  return {
    parentType,
    parentOf,
    ancestorsOf,
    childrenOf,

    /**
     * Puts a record into another one, or (null) takes it out.
     * @throws TypeError when the manifest declares another parent for the type; PlatformError `conflict`, reason
     * `parents_cycle` or `parents_too_deep`.
     */
    place: (entity: EntityRef, parent: EntityRef | null): void => {
      if (parent === null) {
        db.run('DELETE FROM _spine_parents WHERE entity_type = ? AND entity_id = ?', entity.type, entity.id);
        return;
      }
      const declared = parentType(entity.type);
      if (declared !== parent.type) {
        throw new TypeError(
          `a record of type ${entity.type} lies in ${declared ?? 'nothing'}, and not in a ${parent.type}: see the manifest`,
        );
      }
      const above = [parent, ...ancestorsOf(parent)];
      if (above.some((each) => each.type === entity.type && each.id === entity.id)) {
        throw new PlatformError('conflict', 'A record cannot lie inside itself.', {
          reason: 'parents_cycle',
        });
      }
      if (above.length + heightOf(entity, PARENTS_MAX) > PARENTS_MAX) {
        throw new PlatformError('conflict', `Records lie at most ${PARENTS_MAX} levels deep.`, {
          reason: 'parents_too_deep',
        });
      }
      db.run(
        `INSERT INTO _spine_parents (entity_type, entity_id, parent_type, parent_id) VALUES (?, ?, ?, ?)
         ON CONFLICT (entity_type, entity_id)
         DO UPDATE SET parent_type = excluded.parent_type, parent_id = excluded.parent_id`,
        entity.type,
        entity.id,
        parent.type,
        parent.id,
      );
    },
  };
}
