/** The values of a column as JSON, exactly: a value without a JSON form is an object with one member. */
import type { SQLInputValue, SQLOutputValue } from 'node:sqlite';

/** Returns the JSON of one value. Integers are read as bigint, so that a number is always a REAL. */
export function encodeValue(value: SQLOutputValue, isReal: boolean): unknown {
  if (value === null || typeof value === 'string') return value;
  if (typeof value === 'bigint') {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : { $integer: value.toString() };
  }
  if (typeof value === 'number') {
    // A whole number in JSON is read as an INTEGER; only in a REAL column does SQLite convert it to a REAL.
    const isPlain =
      Number.isFinite(value) && !Object.is(value, -0) && (isReal || !Number.isSafeInteger(value));
    return isPlain ? value : { $real: Object.is(value, -0) ? '-0' : String(value) };
  }
  return { $bytes: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64') };
}

/** Returns the value of {@link encodeValue}, to be bound. @throws TypeError on anything else. */
export function decodeValue(value: unknown): SQLInputValue {
  if (value === null || typeof value === 'string') return value;
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  const [name, text, ...more] = Object.entries(value as object).flat();
  if (typeof text === 'string' && more.length === 0) {
    if (name === '$integer' && /^-?\d{1,19}$/.test(text)) return BigInt(text);
    if (name === '$real' && /^(-?Infinity|-?\d+(\.\d+)?(e[+-]?\d+)?)$/.test(text)) return Number(text);
    if (name === '$bytes' && /^[A-Za-z0-9+/]*={0,2}$/.test(text)) return Buffer.from(text, 'base64');
  }
  throw new TypeError('not a value of a row');
}
