import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PlatformError } from '../problems.ts';
import { isUnchanged, parseIdempotencyKey, parseIfMatch } from './request.ts';

describe('Idempotency-Key', () => {
  test.each([
    ['8e03978e', '8e03978e'],
    ['"8e03978e"', '8e03978e'],
    ['a,b;c=d', 'a,b;c=d'],
    ['"a\\"b\\\\c"', 'a"b\\c'],
    ['k'.repeat(255), 'k'.repeat(255)],
    [`"${'k'.repeat(255)}"`, 'k'.repeat(255)],
  ])('%s is a key', (header, key) => {
    expect(parseIdempotencyKey(header)).toBe(key);
  });

  test.each([
    [''],
    ['""'],
    ['a b'],
    ['"a b"'],
    ['"open'],
    ['"'],
    ['"a"b"'],
    ['"a\\b"'],
    ['"a";p=1'],
    ['clé'],
    ['a, b'],
    ['k'.repeat(256)],
  ])('%j is refused', (header) => {
    expect(() => parseIdempotencyKey(header)).toThrow(expect.objectContaining({ code: 'validation_failed' }));
  });

  test('none is none', () => {
    expect(parseIdempotencyKey(undefined)).toBeUndefined();
  });

  test('every visible key survives being quoted', () => {
    const visible = fc.string({
      unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
    });
    fc.assert(
      fc.property(visible, (key) => {
        fc.pre(key.length > 0 && key.length <= 255);
        expect(parseIdempotencyKey(`"${key.replaceAll(/["\\]/g, '\\$&')}"`)).toBe(key);
      }),
    );
  });
});

describe('If-Match', () => {
  test.each([
    ['"evt_1"', ['evt_1']],
    // As the `etag` of a body is sent back.
    ['evt_1', ['evt_1']],
    [' 3 ', ['3']],
    [' "evt_1" ', ['evt_1']],
    ['W/"evt_0", "evt_1"', ['evt_1']],
    ['"evt_1",,"evt_2"', ['evt_1', 'evt_2']],
    ['"a,b"', ['a,b']],
    ['""', ['']],
    // In quotes it is a tag like any other, and must not pass for the condition that anything meets.
    ['"*"', ['*']],
    ['*', '*'],
    [' * ', '*'],
  ])('%s asks for %j', (header, versions) => {
    expect(parseIfMatch(header)).toEqual(versions);
  });

  test.each([['W/"evt_1"'], ['W/"a", W/"b"']])('%s is met by nothing', (header) => {
    expect(parseIfMatch(header)).toEqual([]);
  });

  test.each([
    [''],
    [','],
    ['evt_1, evt_2'],
    ['W/evt_1'],
    ['"open'],
    ['a b'],
    ['"a b"'],
    ['"a" "b"'],
    ['*, "a"'],
    ['w/"a"'],
  ])('%j is refused', (header) => {
    expect(() => parseIfMatch(header)).toThrow(expect.objectContaining({ code: 'validation_failed' }));
  });

  test('none is none', () => {
    expect(parseIfMatch(null)).toBeUndefined();
  });
});

describe('If-None-Match', () => {
  test.each([
    ['"v"', true],
    ['W/"v"', true],
    ['"u","v"', true],
    ['*', true],
    ['"u"', false],
    ['v', false],
    ['"v', false],
    ['"v" x', false],
  ])('%s covers the version v: %s', (header, covered) => {
    expect(isUnchanged(header, 'v')).toBe(covered);
    expect(isUnchanged(header, undefined)).toBe(false);
  });
});

test('no header value breaks the readers', () => {
  const header = fc.oneof(
    fc.string(),
    fc.string({ unit: fc.constantFrom('"', ',', 'W', '/', ' ', '*', 'a', '\\') }),
  );
  fc.assert(
    fc.property(header, (value) => {
      for (const read of [parseIdempotencyKey, parseIfMatch]) {
        try {
          read(value);
        } catch (error) {
          expect(error).toBeInstanceOf(PlatformError);
        }
      }
      expect(isUnchanged(value, null)).toBe(false);
      expect(isUnchanged(value, 'never sent')).toBe(value.trim() === '*');
    }),
  );
});
