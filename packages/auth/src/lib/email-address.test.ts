/** E-mail addresses and their one spelling. */

import { PlatformError } from '@freehold/contracts';
import { anyCharacter } from '@freehold/testkit';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { requireEmailAddress } from './email-address.ts';

function isRefused(typed: unknown): boolean {
  try {
    requireEmailAddress(typed);
    return false;
  } catch (error) {
    return error instanceof PlatformError && error.code === 'validation_failed';
  }
}

test.each([
  'ada@example.com',
  "o'neill+list@mail.example.co.uk",
  'ada@localhost',
  'jörg@xn--bcher-kva.example',
  '{ada}!#$%&*=?^_`|~/@example.com',
  `${'a'.repeat(242)}@example.com`,
])('%s is an address', (email) => {
  expect(requireEmailAddress(email)).toBe(email);
});

test.each([
  '',
  'ada',
  '@example.com',
  'ada@',
  'a@b@c',
  'ada@@example.com',
  'ada@example.com, eve@example.com',
  'ada@example.com;eve@example.com',
  'ada,eve@example.com',
  'ada eve@example.com',
  'ada@exam\u00a0ple.com',
  'ada@example.com\r\nBcc: eve@example.com',
  'ada@example.com\u0000',
  'a\u200bda@example.com',
  'a\u202eda@example.com',
  'Ada <ada@example.com>',
  '"ada"@example.com',
  'ada(eve)@example.com',
  'ada@[127.0.0.1]',
  'ada@.example.com',
  'ada@example..com',
  'ada@example.com.',
  'ada@-example.com',
  '.ada@example.com',
  'ada.@example.com',
  '..@example.com',
  'a..da@example.com',
  'ada\ud800@example.com',
  // One character each, which the one spelling takes apart: a comma, an at sign, a list of three.
  'ada，eve@example.com',
  'ada@b＠c.example',
  'ada﹐eve@example.com',
  `${'a'.repeat(243)}@example.com`,
  `${'ü'.repeat(122)}@example.com`,
  'a'.repeat(100_000),
])('%j is no address', (typed) => {
  expect(isRefused(typed)).toBe(true);
});

test('a domain is the same in the letters of its language and in punycode', () => {
  for (const typed of ['ada@bücher.example', 'Ada@BÜCHER.example', 'ada@XN--BCHER-KVA.example'])
    expect(requireEmailAddress(typed)).toBe('ada@xn--bcher-kva.example');
  expect(requireEmailAddress('ada@ex_ample.com')).toBe('ada@ex_ample.com');
});

test('a value that is no string is no address', () => {
  fc.assert(
    fc.property(
      fc.anything().filter((value) => typeof value !== 'string'),
      (value) => isRefused(value),
    ),
  );
});

const mailbox = fc
  .tuple(
    fc.stringMatching(/^[a-z0-9_+-]{1,9}(\.[a-z0-9_+-]{1,9}){0,2}$/),
    fc.stringMatching(/^[a-z0-9]{1,10}(\.[a-z0-9]{1,10}){0,2}$/),
  )
  .map((parts) => parts.join('@'));

test('an address is the same in capitals, full width, and with blanks around it', () => {
  const typings = fc.array(fc.constantFrom('plain', 'upper', 'wide'), { minLength: 60, maxLength: 60 });
  fc.assert(
    fc.property(mailbox, typings, fc.stringMatching(/^[ \t\u3000]{0,3}$/), (email, how, blank) => {
      const typed = [...email].map((character, i) => {
        if (how[i] === 'upper') return character.toUpperCase();
        return how[i] === 'wide' ? String.fromCodePoint(character.charCodeAt(0) + 0xfee0) : character;
      });
      expect(requireEmailAddress(blank + typed.join('') + blank)).toBe(email);
    }),
  );
});

test('two addresses stay two, and an accepted spelling is its own', () => {
  fc.assert(
    fc.property(fc.uniqueArray(mailbox, { minLength: 2, maxLength: 2 }), ([left, right]) => {
      expect(requireEmailAddress(left)).not.toBe(requireEmailAddress(right));
    }),
  );
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 12 }), (local) => {
      const typed = `${local}@example.com`;
      if (isRefused(typed)) return;
      const email = requireEmailAddress(typed);
      expect(requireEmailAddress(email)).toBe(email);
      expect(email).toMatch(/^[^\s@,\p{C}]+@example\.com$/u);
    }),
  );
});
