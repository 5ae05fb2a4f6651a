import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalJson } from './canonical-json.ts';

test('members are sorted by their UTF-16 code units (RFC 8785, section 3.2.3)', () => {
  const value = {
    '\u20ac': 'Euro Sign',
    '\r': 'Carriage Return',
    '\ufb33': 'Hebrew Letter Dalet With Dagesh',
    '1': 'One',
    '\ud83d\ude00': 'Emoji: Grinning Face',
    '\u0080': 'Control',
    '\u00f6': 'Latin Small Letter O With Diaeresis',
  };
  expect(Object.values(JSON.parse(canonicalJson(value)) as object)).toHaveLength(7);
  const order = [...canonicalJson(value).matchAll(/:"([^"]*)"/g)].map((match) => match[1]);
  expect(order).toEqual([
    'Carriage Return',
    'One',
    'Control',
    'Latin Small Letter O With Diaeresis',
    'Euro Sign',
    'Emoji: Grinning Face',
    'Hebrew Letter Dalet With Dagesh',
  ]);
});

test.each([
  [{ b: [1, { d: null, c: true }], a: 'x' }, '{"a":"x","b":[1,{"c":true,"d":null}]}'],
  [{ a: undefined, b: 1 }, '{"b":1}'],
  [[undefined, 1], '[null,1]'],
  [-0, '0'],
  [1e21, '1e+21'],
  [0.1 + 0.2, '0.30000000000000004'],
  ['\u2028"\\\n', '"\u2028\\"\\\\\\n"'],
  [{}, '{}'],
  [[], '[]'],
])('%j has one spelling', (value, text) => {
  expect(canonicalJson(value)).toBe(text);
});

test('the order in which members were written makes no difference, and the value is kept', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 })), (value) => {
      const turned = Object.fromEntries(Object.entries(value).reverse());
      expect(canonicalJson(turned)).toBe(canonicalJson(value));
      // -0 has no JSON form of its own; JSON.stringify makes it 0 too.
      expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});

test.each([Number.NaN, Number.POSITIVE_INFINITY, 1n, () => 1, Symbol('x'), undefined])(
  '%s has no JSON form, at the top or below',
  (value) => {
    expect(() => canonicalJson(value)).toThrow(TypeError);
    if (value !== undefined) expect(() => canonicalJson({ a: [value] })).toThrow(TypeError);
  },
);

test('what would be spelled like something else is refused: dates, maps, instances', () => {
  for (const value of [new Date(0), new Map([['a', 1]]), new (class Box {})(), { inside: new Date(0) }]) {
    expect(() => canonicalJson(value)).toThrow(TypeError);
  }
  // A hole is spelled like the null that JSON.stringify makes of it.
  // biome-ignore lint/suspicious/noSparseArray: the hole is the case.
  expect(canonicalJson([1, , 2])).toBe('[1,null,2]');
});
