/** The form of a secret. */
import { expect, test } from 'vitest';
import { hashSecret, isWellFormedSecret, mintSecret } from './secret.ts';

const bytes = (fill: number) => () => new Uint8Array(32).fill(fill);

test.each([
  ['push', /^fh_push_[0-9A-Za-z]{49}$/],
  ['service', /^fh_svc_[0-9A-Za-z]{49}$/],
] as const)('spec C-29: a %s token carries 256 bits and a checksum', (kind, form) => {
  for (const fill of [0, 1, 255]) {
    const secret = mintSecret(kind, bytes(fill));
    expect(secret).toMatch(form);
    expect(isWellFormedSecret(secret)).toBe(true);
  }
});

test.each(['push', 'service', 'staff'] as const)(
  'spec C-29: a %s token is made of 32 random bytes',
  (kind) => {
    const asked: number[] = [];
    mintSecret(kind, (count) => {
      asked.push(count);
      return new Uint8Array(count);
    });
    expect(asked).toEqual([32]);
  },
);

test('the body is the base-62 form of the random number, and the checksum the CRC-32 of what is before it', () => {
  const one = () => Uint8Array.from({ length: 32 }, (_, i) => (i === 31 ? 61 : 0));
  expect(mintSecret('push', one).slice(0, 51)).toBe(`fh_push_${'0'.repeat(42)}z`);
  // Two secrets that differ in the last random bit differ in body and checksum.
  expect(mintSecret('push', bytes(2)).slice(-6)).not.toBe(mintSecret('push', bytes(3)).slice(-6));
});

test('any one changed character is noticed', () => {
  const secret = mintSecret('push', bytes(7));
  for (let i = 0; i < secret.length; i++) {
    const changed = secret.slice(0, i) + (secret[i] === 'x' ? 'y' : 'x') + secret.slice(i + 1);
    expect(isWellFormedSecret(changed)).toBe(false);
  }
});

test.each(['', 'fh_push_', 'Bearer x', `fh_user_${'0'.repeat(49)}`, `fh_push_${'0'.repeat(49)}\n`])(
  '%j is not a secret',
  (text) => {
    expect(isWellFormedSecret(text)).toBe(false);
  },
);

test('the stored hash is SHA-256', () => {
  expect(hashSecret('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});
