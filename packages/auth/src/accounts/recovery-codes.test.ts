/** Recovery codes as they are written down and typed. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hashRecoveryCode, makeRecoveryCode } from './one-time-codes.ts';

const bytes = fc.uint8Array({ minLength: 10, maxLength: 10 });

test('a code has four groups of Crockford’s letters, all of its 80 bits, and is stored as a hash', () => {
  expect(makeRecoveryCode(() => new Uint8Array(10)).code).toBe('0000-0000-0000-0000');
  expect(makeRecoveryCode(() => new Uint8Array(10).fill(255)).code).toBe('zzzz-zzzz-zzzz-zzzz');
  expect(makeRecoveryCode(() => Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 1)).code).toBe(
    '0000-0000-0000-0001',
  );
  expect(makeRecoveryCode(() => Uint8Array.of(128, 0, 0, 0, 0, 0, 0, 0, 0, 0)).code).toBe(
    'g000-0000-0000-0000',
  );
  fc.assert(
    fc.property(fc.uniqueArray(bytes, { minLength: 2, maxLength: 2, selector: String }), ([one, another]) => {
      const codes = [one, another].map((each) => makeRecoveryCode(() => each as Uint8Array));
      expect(codes[0]?.code).toMatch(/^[0-9a-hjkmnp-tv-z]{4}(-[0-9a-hjkmnp-tv-z]{4}){3}$/);
      expect(codes[0]?.code).not.toBe(codes[1]?.code);
      expect(codes[0]?.hash).toMatch(/^[0-9a-f]{64}$/);
    }),
  );
});

test('is read in any case, with any dashes and blanks, and with letters that look like digits', () => {
  fc.assert(
    fc.property(bytes, (random) => {
      const { code, hash } = makeRecoveryCode(() => random);
      const typings = [
        code,
        code.toUpperCase(),
        code.replaceAll('-', ''),
        ` ${code.replaceAll('-', ' ')}\n`,
        code.replaceAll('0', 'O').replaceAll('1', 'l'),
        code.replaceAll('0', 'o').replaceAll('1', 'I'),
      ];
      expect(typings.map(hashRecoveryCode)).toEqual(typings.map(() => hash));
    }),
  );
});

test.each(['', '0000-0000-0000', '0000-0000-0000-00000', 'uuuu-0000-0000-0000', '000000'])(
  '%j is no code',
  (typed) => {
    expect(hashRecoveryCode(typed)).toBeNull();
  },
);
