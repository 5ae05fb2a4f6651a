import { expect, test } from 'vitest';
import { plainValue } from './engine.ts';

test('a plain value is copied all the way down', () => {
  const bytes = new Uint8Array([1, 2, 3]);
  const value = { a: [1, { b: 'x' }], c: null, d: undefined, e: true, bytes };
  const copy = plainValue(value) as typeof value;
  expect(copy).toStrictEqual(value);
  expect(copy.a).not.toBe(value.a);
  expect(copy.bytes).not.toBe(bytes);
});

test('a row without a prototype becomes a plain object', () => {
  const row = Object.assign(Object.create(null) as object, { a: 1 });
  expect(Object.getPrototypeOf(plainValue(row))).toBe(Object.prototype);
  expect(plainValue(row)).toEqual({ a: 1 });
});

test('a member named __proto__ stays a member', () => {
  const copy = plainValue(JSON.parse('{"__proto__": {"admin": true}}')) as object;
  expect(Object.keys(copy)).toEqual(['__proto__']);
  expect((copy as { admin?: boolean }).admin).toBeUndefined();
});

class Money {
  readonly cents = 1;
}

test.each([
  ['a function', () => 1],
  ['a symbol', Symbol('x')],
  ['a bigint', 1n],
  ['a Date', new Date(0)],
  ['a Map', new Map()],
  ['an Error', new Error('x')],
  ['an instance', new Money()],
  ['something deep', { a: [{ b: new Set() }] }],
])('%s is refused', (_name, value) => {
  expect(() => plainValue(value)).toThrow(TypeError);
});
