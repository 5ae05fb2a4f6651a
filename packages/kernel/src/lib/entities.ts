/** References to records, checked: the type is one that the manifest declares, the id one that history can name. */
import { type EntityRef, PlatformError, type VerticalManifest } from '@freehold/contracts';

/** As in `entityRef` of the contracts: a longer id could be written, and never be asked for. */
const ID_LENGTH_MAX = 128;

/** Checks references to records for one vertical. */
export type RequireEntity = (entity: EntityRef, where: string) => EntityRef;

/**
 * Builds the check. It answers a copy, so that nothing changes between the check of a permission and its use.
 * @throws TypeError on an undeclared type or a value of another shape, which is the vertical's bug; `where` begins
 * the message. PlatformError `validation_failed`, reason `entity_id_malformed`, on an id that is empty, longer than
 * 128 characters or not well-formed text, because ids come from callers.
 */
export function makeRequireEntity(manifest: VerticalManifest): RequireEntity {
  const types = new Set(Object.keys(manifest.entities));
  return (entity, where) => {
    const given: Partial<Record<keyof EntityRef, unknown>> | null | undefined = entity;
    const type = given?.type;
    const id = given?.id;
    if (typeof type !== 'string' || typeof id !== 'string')
      throw new TypeError(`${where}: an entity is a type and an id, both text`);
    if (!types.has(type))
      throw new TypeError(
        `${where}: entity type ${JSON.stringify(type.slice(0, 64))} is not declared in the manifest of ${manifest.slug}`,
      );
    if (id === '' || id.length > ID_LENGTH_MAX || !id.isWellFormed()) {
      throw new PlatformError(
        'validation_failed',
        `The id of a record (${type}) is 1 to ${ID_LENGTH_MAX} characters of text.`,
        {
          reason: 'entity_id_malformed',
        },
      );
    }
    return { type, id };
  };
}
