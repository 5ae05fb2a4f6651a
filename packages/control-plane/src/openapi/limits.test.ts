import { adminOperations } from '@freehold/directory/declarations';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openApiDocument } from './document.ts';
import { longestMatch, withLimits } from './limits.ts';

describe('the longest text that matches', () => {
  test.each([
    ['^tnt_[0-7][0-9a-z]{25}$', 30],
    ['^[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$', 63],
    ['^$|^ab?$', 2],
    ['^(?:[1-9]|[1-5][0-9]|60)s$', 3],
    ['^(?=.*x)a\\$\\u00e9[\\]x]$', 4],
    ['^(?:(?:)*a)$', 1],
    ['^(?:a*){0}b$', 1],
    ['^(?<year>\\d{4})-\\p{L}{1,2}$', 7],
    ['^a+$', Number.POSITIVE_INFINITY],
    ['^a{2,}$', Number.POSITIVE_INFINITY],
    ['^a', Number.POSITIVE_INFINITY],
    ['a$', Number.POSITIVE_INFINITY],
    ['^a\\$', Number.POSITIVE_INFINITY],
    ['^a$|b', Number.POSITIVE_INFINITY],
  ])('%s has %d characters', (pattern, longest) => {
    expect(longestMatch(pattern)).toBe(longest);
  });

  test('is never shorter than what matches, for every pattern of the real document', () => {
    const patterns = new Set<string>();
    JSON.stringify(openApiDocument(adminOperations), (key, value) => {
      if (key === 'pattern' && typeof value === 'string') patterns.add(value);
      return value;
    });
    expect(patterns.size).toBeGreaterThan(20);
    for (const pattern of patterns) {
      const longest = longestMatch(pattern);
      if (!Number.isFinite(longest)) continue;
      const texts = fc.sample(fc.stringMatching(new RegExp(pattern)), { numRuns: 50, seed: 1 });
      expect(Math.max(...texts.map((text) => [...text].length)), pattern).toBeLessThanOrEqual(longest);
    }
  });

  test('is unknown for a pattern that is none', () => {
    expect(() => longestMatch('^(a$')).toThrow(TypeError);
    expect(() => longestMatch('^a)$')).toThrow(TypeError);
  });
});

test('a schema says its limits, and data that looks like one is left alone', () => {
  const part = {
    properties: {
      type: { type: 'string', pattern: '^ab?$' },
      count: { type: 'integer', minimum: 0, maximum: 9 },
      size: { type: 'integer' },
      said: { type: 'string', pattern: '^ab?$', maxLength: 1 },
    },
    default: { type: 'integer' },
  };
  expect(withLimits(part)).toEqual({
    properties: {
      type: { type: 'string', pattern: '^ab?$', maxLength: 2 },
      count: { type: 'integer', minimum: 0, maximum: 9, format: 'int32' },
      size: { type: 'integer', format: 'int64' },
      said: { type: 'string', pattern: '^ab?$', maxLength: 1 },
    },
    default: { type: 'integer' },
  });
});
