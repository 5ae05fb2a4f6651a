/**
 * The canonical form of a JSON value (RFC 8785), for hashes and fingerprints: two writers of one value agree on every
 * byte.
 */

export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue | undefined };

/**
 * Serialises a JSON value with sorted keys and without white space. Undefined members are left out, as `JSON.stringify`
 * does.
 * @throws TypeError on a value that JSON cannot express (a function, a symbol, a bigint, NaN, Infinity).
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new TypeError('a number that is not finite has no JSON form');
    return JSON.stringify(value);
  }
  if (Array.isArray(value)) return `[${Array.from(value, (item) => canonicalJson(item ?? null)).join(',')}]`;
  if (typeof value === 'object' && isPlain(value)) {
    // RFC 8785, section 3.2.3: members are sorted by their UTF-16 code units, which is what sort() compares.
    const members = Object.keys(value)
      .sort()
      .flatMap((key) => {
        const member = (value as Record<string, unknown>)[key];
        return member === undefined ? [] : [`${JSON.stringify(key)}:${canonicalJson(member)}`];
      });
    return `{${members.join(',')}}`;
  }
  throw new TypeError(`a ${typeof value} of this kind has no JSON form`);
}

/** A Date, a Map or another instance would become `{}`, and two different ones alike. */
function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}
