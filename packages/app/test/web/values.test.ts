/** Values as people type them, as they are sent, and as they are shown. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { DeclaredField } from '../../src/wire/declared.ts';
import { parseTyped, type Spoken, shownOf, typedOf } from '../../web/lib/values.ts';
import { de } from '../../web/texts/de.ts';
import { en } from '../../web/texts/en.ts';

const ENGLISH: Spoken = { locale: 'en', t: en };
const GERMAN: Spoken = { locale: 'de-AT', t: de };
const field = (kind: DeclaredField['kind'], more: Partial<DeclaredField> = {}): DeclaredField => ({
  name: 'it',
  label: 'It',
  kind,
  required: false,
  nullable: true,
  ...more,
});
const euros = field('money', { currency: 'EUR' });

test.each([
  ['12.50', ENGLISH, 1_250],
  ['12,50', GERMAN, 1_250],
  ['12,50', ENGLISH, 1_250],
  ['12.5', GERMAN, 1_250],
  ['1,250', ENGLISH, 125_000],
  ['1.250', GERMAN, 125_000],
  ['1.250,50', GERMAN, 125_050],
  ['1,234,567.89', ENGLISH, 123_456_789],
  ['€ 12.50', ENGLISH, 1_250],
  ['0.07', ENGLISH, 7],
  ['-3', ENGLISH, -300],
  ['1.005', ENGLISH, null],
  ['12.505', ENGLISH, null],
  ['ten', ENGLISH, null],
  ['1,2,3', ENGLISH, null],
])('the amount %s', (text, spoken, cents) => {
  const parsed = parseTyped(euros, text, spoken);
  expect(parsed).toEqual(cents === null ? { fault: spoken.t.faults.money } : { value: cents });
});

test('a currency without a smaller unit takes none', () => {
  const yen = field('money', { currency: 'JPY' });
  expect(parseTyped(yen, '1200', ENGLISH)).toEqual({ value: 1_200 });
  expect(parseTyped(yen, '12.5', ENGLISH).fault).toBeDefined();
  expect(shownOf(yen, 1_200, ENGLISH)).toBe('¥1,200');
});

describe.each([
  ['English', ENGLISH],
  ['German', GERMAN],
])('in %s', (_name, spoken) => {
  test('what a form shows of any value is read as the same value', () => {
    const whole = fc.integer({ min: 0, max: 1e12 });
    fc.assert(
      fc.property(whole, fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 }), (n, d) => {
        for (const [each, value] of [
          [euros, n],
          [field('integer'), n],
          [field('minutes'), n % 1e6],
          [field('number'), Math.round(d * 1_000) / 1_000],
        ] as const)
          expect(parseTyped(each, typedOf(each, value, spoken), spoken)).toEqual({ value });
      }),
      { numRuns: 50 },
    );
  });

  test('a value that is missing is empty, and an empty one is none', () => {
    for (const kind of ['line', 'money', 'day', 'minutes', 'choice', 'relation', 'json'] as const) {
      const typed = typedOf(field(kind), null, spoken);
      expect(parseTyped(field(kind), typed, spoken)).toEqual({ value: undefined });
      expect(parseTyped(field(kind, { required: true }), typed, spoken)).toEqual({
        fault: spoken.t.faults.needed,
      });
      expect(shownOf(field(kind), null, spoken)).toBe('');
    }
  });
});

test.each([
  ['90', 90],
  ['1:30', 90],
  ['0:05', 5],
  ['1:75', null],
  ['an hour', null],
])('the length of time %s', (text, value) => {
  const parsed = parseTyped(field('minutes'), text, ENGLISH);
  expect(parsed).toEqual(value === null ? { fault: en.faults.minutes } : { value });
});

test('a bound is named as the reader writes it', () => {
  expect(parseTyped({ ...euros, min: 100 }, '0,50', GERMAN).fault).toMatch(
    /^muss mindestens 1,00\s€|^muss mindestens €\s1,00/,
  );
  expect(parseTyped(field('integer', { max: 3 }), '4', ENGLISH).fault).toBe('must be at most 3');
});

test('a yes or no that can be neither has three states', () => {
  const free = field('boolean');
  expect(typedOf(free, null, ENGLISH)).toBe('');
  expect(parseTyped(free, 'false', ENGLISH)).toEqual({ value: false });
  expect(typedOf(field('boolean', { required: true, nullable: false }), undefined, ENGLISH)).toBe(false);
});

test('values are shown in the language of the reader', () => {
  expect(shownOf(field('day'), '2026-03-10', ENGLISH)).toBe('Mar 10, 2026');
  expect(shownOf(field('minutes'), 90, ENGLISH)).toBe('1 hr 30 min');
  expect(shownOf(field('boolean'), true, GERMAN)).toBe('Ja');
  expect(shownOf(field('relation'), { id: null, name: null }, ENGLISH)).toBe('Not visible to you');
  expect(
    shownOf(field('choice', { options: [{ value: 'in_work', label: 'In work' }] }), 'in_work', ENGLISH),
  ).toBe('In work');
});

test('a text that is no moment is an empty field: an address can bring it', () => {
  expect(typedOf(field('moment'), 'soon', ENGLISH)).toBe('');
});
