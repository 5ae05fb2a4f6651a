/** Checks of values that callers and verticals hand in: JSON values, and references to records. */
import {
  actorId,
  type EntityRef,
  PlatformError,
  permissionKey,
  type VerticalManifest,
} from '@freehold/contracts';

/** The greatest depth of a value: schemas, hashes and serialisers recurse, and must not exhaust the stack. */
const DEPTH_MAX = 64;

/** Says where a value is no JSON value, and why. The catcher knows whose mistake it is. */
export class NotJson extends Error {
  override readonly name = 'NotJson';
  /** `lines.0.quantity`; empty for the whole. */
  readonly path: string;
  readonly fault: string;

  constructor(path: string, fault: string) {
    super(`${path === '' ? 'it' : path} ${fault}`);
    this.path = path;
    this.fault = fault;
  }
}

export interface JsonRules {
  /**
   * True refuses text with half a surrogate pair: SQLite would store another character instead, and two different ids
   * could become one.
   */
  readonly wellFormed: boolean;
}

/**
 * Returns a copy of a JSON value without undefined members, as `JSON.stringify` does. A getter or a proxy could return
 * another value the next time.
 * @throws NotJson on a Date, a bigint, NaN, an instance, bytes, a circle, or more than 64 levels.
 */
export function jsonCopy(value: unknown, rules: JsonRules): unknown {
  return copy(value, rules, DEPTH_MAX, null);
}

/**
 * Returns a copy of a vertical's value, which may hold half a surrogate pair: JSON has an escape for it.
 * @throws TypeError that begins with `where`: a wrong value is the vertical's bug.
 */
export function assertJson(where: string, value: unknown): unknown {
  try {
    return jsonCopy(value, { wellFormed: false });
  } catch (error) {
    if (!(error instanceof NotJson)) throw error;
    throw new TypeError(`${where}: ${error.message}`);
  }
}

/** The keys from a value up to the top. */
interface Path {
  readonly key: string | number;
  readonly parent: Path | null;
}

function copy(value: unknown, rules: JsonRules, levels: number, path: Path | null): unknown {
  switch (typeof value) {
    case 'string':
      if (rules.wellFormed && !value.isWellFormed()) throw fault(path, 'must be well-formed Unicode text');
      return value;
    case 'boolean':
      return value;
    case 'number':
      if (!Number.isFinite(value)) throw fault(path, 'must be a finite number');
      // JSON has one zero.
      return value === 0 ? 0 : value;
    case 'object':
      if (value === null) return null;
      if (levels === 0) throw fault(null, `must not nest deeper than ${DEPTH_MAX} levels`);
      return Array.isArray(value)
        ? copyArray(value, rules, levels - 1, path)
        : copyObject(value, rules, levels - 1, path);
    default:
      throw fault(path, `must be a JSON value, not ${typeof value}`);
  }
}

function copyArray(
  value: readonly unknown[],
  rules: JsonRules,
  levels: number,
  parent: Path | null,
): unknown[] {
  const items: unknown[] = [];
  for (let key = 0; key < value.length; key++) items.push(copy(value[key], rules, levels, { key, parent }));
  return items;
}

function copyObject(value: object, rules: JsonRules, levels: number, parent: Path | null): unknown {
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null)
    throw fault(parent, 'must be a JSON value, not an instance of a class');
  const members: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    if (rules.wellFormed && !key.isWellFormed())
      throw fault(parent, 'must have well-formed Unicode text for its names');
    const member = (value as Record<string, unknown>)[key];
    if (member === undefined) continue;
    const copied = copy(member, rules, levels, { key, parent });
    // Assigning to this name would set the prototype instead of a member.
    if (key === '__proto__')
      Object.defineProperty(members, key, {
        configurable: true,
        enumerable: true,
        writable: true,
        value: copied,
      });
    else members[key] = copied;
  }
  return members;
}

function fault(path: Path | null, message: string): NotJson {
  const keys: (string | number)[] = [];
  for (let at = path; at; at = at.parent) keys.unshift(at.key);
  return new NotJson(keys.join('.'), message);
}

/** As in `entityRef` of the contracts: a longer id could be written and never be requested. */
const ID_LENGTH_MAX = 128;

/** Checks references to records for one vertical. */
export type RequireEntity = (entity: EntityRef, where: string) => EntityRef;

/**
 * Builds the check. It returns a copy, so that nothing changes between the check of a permission and its use.
 * @throws TypeError that begins with `where`, on an undeclared type or another shape: the vertical's bug.
 * PlatformError `validation_failed`, reason `entity_id_malformed`, on an id that is empty, longer than 128 characters or
 * not well-formed text: ids come from callers.
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

/** The number of types of events that memory knows as well formed: a vertical has a few dozen. */
const TYPES_KNOWN_MAX = 1_000;
const wellFormedTypes = new Set<unknown>();

/** The greatest length of an event's payload and of a sealed value, in characters of JSON. */
const PAYLOAD_LENGTH_MAX = 65_536;

/** The form of an event's type is that of a permission key: `order.completed`. */
export function requireEventType(operation: string, type: unknown): void {
  if (wellFormedTypes.has(type)) return;
  if (!permissionKey.safeParse(type).success)
    throw new TypeError(
      `operation ${operation}: ${JSON.stringify(type)?.slice(0, 80)} is not an event type; it is noun.verb in lower case, at most 128 characters`,
    );
  if (wellFormedTypes.size >= TYPES_KNOWN_MAX) wellFormedTypes.clear();
  wellFormedTypes.add(type);
}

/** Returns the JSON of a payload or of a value to seal. @throws TypeError that begins with `where`. */
export function payloadText(where: string, payload: unknown): string {
  const text = JSON.stringify(assertJson(where, payload));
  if (text.length > PAYLOAD_LENGTH_MAX)
    throw new TypeError(`${where}: it has ${text.length} characters; at most ${PAYLOAD_LENGTH_MAX} are kept`);
  return text;
}

/** Requires the id of an actor. It comes from a caller, so a wrong one is the caller's mistake. */
export function requireActor(subject: unknown): void {
  if (actorId.safeParse(subject).success) return;
  throw new PlatformError('validation_failed', 'This is not the id of an actor of this scope.', {
    reason: 'subject_malformed',
  });
}

/** SQLite stores NaN as NULL, and a grant without an expiry never ends. */
export function requireExpiry(operation: string, expiresAtMs: number | null): void {
  if (expiresAtMs === null || (Number.isSafeInteger(expiresAtMs) && expiresAtMs >= 0)) return;
  throw new TypeError(
    `operation ${operation}: a grant's expiry is a whole number of milliseconds since the epoch`,
  );
}
