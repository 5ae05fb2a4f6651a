/** Values that come back unchanged, or not at all. */
import { anyCharacter } from '@freehold/testkit';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { makeSeals } from './seals.ts';

const SECRETS = ['a secret of at least thirty-two bytes', 'an older secret of thirty-two bytes!'];
const AUDIENCE = 'tenant/scope';
const seals = makeSeals({ secrets: SECRETS, audience: AUDIENCE });

test('any value is read back, for its purpose alone', () => {
  const part = fc.string({ unit: anyCharacter, maxLength: 20 }).filter((text) => text.isWellFormed());
  fc.assert(
    fc.property(part, fc.uniqueArray(part, { minLength: 2, maxLength: 2 }), (value, [one = '', two = '']) => {
      const sealed = seals.seal(['test', one], value);
      expect(sealed).toMatch(/^[A-Za-z0-9_-]+$/);
      expect(seals.open(['test', one], sealed)).toBe(value);
      for (const other of [['test', two], ['test'], ['test', one, ''], [`test,${one}`]])
        expect(seals.open(other, sealed)).toBeNull();
    }),
  );
});

test('a changed, cut or forged value is null, and never an exception', () => {
  const sealed = seals.seal(['test'], 'value');
  fc.assert(
    fc.property(fc.nat({ max: sealed.length - 2 }), fc.constantFrom('A', 'b', '_'), (at, character) => {
      const changed = sealed.slice(0, at) + character + sealed.slice(at + 1);
      expect(seals.open(['test'], changed)).toBe(changed === sealed ? 'value' : null);
      expect(seals.open(['test'], sealed.slice(0, at))).toBeNull();
    }),
  );
  for (const odd of ['', '=', '<>', 'A', null, undefined, 7, {}])
    expect(seals.open(['test'], odd)).toBeNull();
});

test('another audience reads nothing, and an older secret still opens its values', () => {
  const sealed = seals.seal(['test'], 'value');
  expect(makeSeals({ secrets: SECRETS, audience: 'tenant/other' }).open(['test'], sealed)).toBeNull();
  expect(makeSeals({ secrets: [SECRETS[1] ?? ''], audience: AUDIENCE }).open(['test'], sealed)).toBeNull();
  const rotated = makeSeals({
    secrets: ['a new secret of at least 32 bytes!!', ...SECRETS],
    audience: AUDIENCE,
  });
  expect(rotated.open(['test'], sealed)).toBe('value');
});
