/** The values that a unit may answer: JSON, the same on both sides of the boundary on every engine. */
import { PlatformError } from '@freehold/contracts';

/** The greatest depth of a value, so that reading it cannot exhaust the stack. */
const DEPTH_MAX = 200;

const MEMBER = { configurable: true, enumerable: true, writable: true };

/**
 * A copy of an answer that shares nothing with the unit: a caller that changes it changes nothing that the unit
 * still holds. Rows and other plain objects lose their prototype's peculiarities; bytes stay bytes.
 * @throws TypeError on a value that could not cross the boundary on every engine (a Map, a Date, a function);
 * PlatformError `validation_failed` on one that is nested too deep, or in itself.
 */
export function plainValue(value: unknown): unknown {
  return copyOf(value, 0);
}

function copyOf(value: unknown, depth: number): unknown {
  if (depth > DEPTH_MAX)
    throw new PlatformError('validation_failed', `This is nested more than ${DEPTH_MAX} levels deep.`, {
      reason: 'too_deep',
    });
  if (typeof value !== 'object' || value === null) {
    if (typeof value === 'function' || typeof value === 'symbol' || typeof value === 'bigint')
      throw new TypeError(`a ${typeof value} cannot leave a unit`);
    return value;
  }
  if (Array.isArray(value)) return value.map((item) => copyOf(item, depth + 1));
  if (value instanceof Uint8Array) return value.slice();
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null)
    throw new TypeError(`an instance of ${prototype.constructor?.name ?? 'a class'} cannot leave a unit`);
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const member = copyOf((value as Record<string, unknown>)[key], depth + 1);
    // Assigning to this name would set the prototype instead of a member.
    if (key === '__proto__') Object.defineProperty(copy, key, { ...MEMBER, value: member });
    else copy[key] = member;
  }
  return copy;
}
