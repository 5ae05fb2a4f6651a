/** The challenge of a resource server (RFC 6750, section 3; RFC 9728, section 5.1). */
import { anyCharacter } from '@freehold/testkit';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type BearerChallengeOptions, bearerChallenge, bearerErrorOf } from './metadata.ts';

const resourceMetadata = 'https://app.example/.well-known/oauth-protected-resource';

test('without credentials no error is named', () => {
  expect(bearerChallenge({ resourceMetadata })).toBe(`Bearer resource_metadata="${resourceMetadata}"`);
  expect(bearerChallenge({ resourceMetadata, error: bearerErrorOf(new Headers()) })).not.toContain('error');
});

test('every parameter is a quoted one, in one challenge', () => {
  expect(
    bearerChallenge({
      resourceMetadata,
      realm: 'pipes',
      error: 'insufficient_scope',
      errorDescription: 'Ask for more.',
      scope: 'orders:read orders:write',
    }),
  ).toBe(
    `Bearer realm="pipes", error="insufficient_scope", error_description="Ask for more.", scope="orders:read orders:write", resource_metadata="${resourceMetadata}"`,
  );
});

describe('A-20: the error of a request', () => {
  test.each([
    ['Bearer abc', 'invalid_token'],
    ['bearer   abc', 'invalid_token'],
    ['Bearer', 'invalid_token'],
    ['Bearer a b, Bearer c', 'invalid_token'],
    ['Basic abc', undefined],
    ['Bearerx abc', undefined],
    ['', undefined],
  ] as const)('with %j it is %s', (authorization, error) => {
    expect(bearerErrorOf(new Headers({ authorization }))).toBe(error);
  });

  test('with no header, and with a session instead, there is none', () => {
    expect(bearerErrorOf(new Headers())).toBeUndefined();
    expect(bearerErrorOf(new Headers({ cookie: 'sb_session=x' }))).toBeUndefined();
  });
});

test('for all texts, they add no parameter, no challenge and no header', () => {
  // One challenge, with the given parameters, each with a value of plain characters.
  const one = /^Bearer (?:[a-z_]+="[\x20\x21\x23-\x5b\x5d-\x7e]*"(?:, |$))+$/;
  const names = (value: string) => [...value.matchAll(/([a-z_]+)="[^"]*"(?:, |$)/g)].map(([, name]) => name);
  const text = fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.constantFrom('"', '\\', '", error="x', 'a\r\nset-cookie: b=c', '\\", realm="', '\u0000', 'ü', '😀'),
  );
  fc.assert(
    fc.property(text, text, (realm, errorDescription) => {
      const value = bearerChallenge({ resourceMetadata, realm, error: 'invalid_token', errorDescription });
      expect(value).toMatch(one);
      expect(names(value)).toEqual(['realm', 'error', 'error_description', 'resource_metadata']);
      expect(new Headers({ 'www-authenticate': value }).get('www-authenticate')).toBe(value.trim());
    }),
  );
});

test.each<[string, Partial<BearerChallengeOptions>]>([
  ['a scope with a quote', { scope: 'a"b' }],
  ['a scope with a line break', { scope: 'a\r\nb' }],
  ['two spaces between scopes', { scope: 'a  b' }],
  ['an empty scope', { scope: '' }],
  ['a metadata address that is none', { resourceMetadata: '/.well-known/oauth-protected-resource' }],
])('%s is refused', (_, more) => {
  expect(() => bearerChallenge({ resourceMetadata, ...more })).toThrow(TypeError);
});

test('an address that could end its quotes is written so that it cannot', () => {
  const value = bearerChallenge({ resourceMetadata: 'https://app.example/a"b\\c?d=" \\' });
  expect(value.match(/"/g)).toHaveLength(2);
  expect(value).not.toContain('\\');
});
