/** Which passwords are taken, and which are guessed first. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isCommonPassword } from './common-passwords.ts';
import { findPasswordFault } from './password-rules.ts';

const owner = { email: 'ada.lovelace@example.com', name: 'Ada Lovelace', appName: 'Fieldwork' };

describe('length', () => {
  test('8 to 256 characters, as a person counts them', () => {
    expect(findPasswordFault('sevengr', owner)).toContain('at least 8');
    expect(findPasswordFault('sevengre', owner)).toBeNull();
    const long = 'seven green bottles '.repeat(20);
    expect(findPasswordFault(long.slice(0, 256), owner)).toBeNull();
    expect(findPasswordFault(long.slice(0, 257), owner)).toContain('at most 256');
    // Eight characters, sixteen code units.
    expect(findPasswordFault('🦊🐢🦉🐝🐙🦔🐞🦀', owner)).toBeNull();
  });

  test('nothing is asked about what it is made of', () => {
    for (const password of [
      'bottles on walls',
      '        x       y',
      'пароль для меня',
      '黄色い自転車で海まで行く',
    ])
      expect(findPasswordFault(password, owner)).toBeNull();
  });
});

test.each([
  'ada.lovelace@example.com',
  'ADA.Lovelace@Example.Com',
  'adalovelace',
  'Ada Lovelace',
  'AdaLovelace1815',
  'lovelace.ada@example.com'.replace('lovelace.ada', 'ada.lovelace'),
  'fieldwork',
  'Fieldwork!',
  'fieldworkfieldwork',
  'Fieldwork2026',
  'example.com',
])('%s is refused: it is the owner’s own name, address or site', (password) => {
  expect(findPasswordFault(password, owner)).toContain('Choose something else');
});

test.each([
  'password',
  'Password1',
  'P@ssw0rd',
  'p455w0rd!',
  'passw0rd2026!',
  '12345678',
  '123456789',
  '1234567890',
  '87654321',
  'abcdefgh',
  'qwertyuiop',
  'qwertyui1',
  'asdfghjkl',
  '1qaz2wsx',
  'q1w2e3r4',
  '11111111',
  'aaaaaaaaaa',
  'abababab',
  'abcabcabc',
  'passwordpassword',
  'iloveyou',
  'ILoveYou!',
  'letmein123',
  'Welcome1!',
  'changeme',
  'sunshine',
  'trustno1',
  'football1',
  'superman',
  'Summer2026',
  'administrator',
  'qwerty123',
])('%s is refused: everybody tries it', (password) => {
  expect(isCommonPassword(password)).toBe(true);
});

test.each([
  'seven green bottles',
  'correct horse battery staple',
  'my dragon eats cookies',
  'T7#kq9!vLz',
  'a sunshine state of mind',
  '12345 reasons to leave',
  'horse-qwerty-lamp',
])('%s is taken', (password) => {
  expect(findPasswordFault(password, owner)).toBeNull();
});

test('no password makes the judge throw, or repeats itself in what is said about it', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), (password) => {
      const fault = findPasswordFault(password, owner);
      if (password.length > 12) expect(fault ?? '').not.toContain(password);
    }),
  );
});
