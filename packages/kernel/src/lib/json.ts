/** What may go into an operation and come out of it: JSON values, so that every surface and every replay agree. */

/** How deep a value may nest. Schemas, hashes and serialisers recurse, and none of them may run out of stack. */
const DEPTH_MAX = 64;

/** Says where a value is no JSON value, and why. Whether that is the caller's mistake or our bug, its catcher knows. */
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
   * True refuses text with half a surrogate pair: SQLite would store another character in its place, and two
   * different ids could become one.
   */
  readonly wellFormed: boolean;
}

/**
 * A copy of a JSON value. Members that are undefined are left out, as `JSON.stringify` does. A copy, because a
 * getter or a proxy could answer differently the next time it is asked.
 * @throws NotJson on a Date, a bigint, NaN, an instance, bytes, a circle, or more than 64 levels.
 */
export function jsonCopy(value: unknown, rules: JsonRules): unknown {
  return copy(value, rules, DEPTH_MAX, null);
}

/**
 * A copy of a value that the vertical made, which may hold half a surrogate pair: JSON has an escape for it.
 * @throws TypeError that begins with `where`: it is the vertical's bug.
 */
export function assertJson(where: string, value: unknown): unknown {
  try {
    return jsonCopy(value, { wellFormed: false });
  } catch (error) {
    if (!(error instanceof NotJson)) throw error;
    throw new TypeError(`${where}: ${error.message}`);
  }
}

/** The way from the top to a value, nearest first. Only a fault spells it out. */
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
