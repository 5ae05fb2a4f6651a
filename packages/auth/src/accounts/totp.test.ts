/** Time-based codes against the vectors of RFC 6238, and codes that are not accepted twice. */
import { Secret } from 'otpauth';
import { expect, test } from 'vitest';
import { testRandom } from '../../test/support.ts';
import { makeTotpSecret, matchTotp } from './one-time-codes.ts';

// RFC 6238, appendix B: the secret in ASCII, and the last six of the eight digits.
const secret = Secret.fromLatin1('12345678901234567890').base32;
const VECTORS = [
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_111_111_111, '050471'],
  [1_234_567_890, '005924'],
  [2_000_000_000, '279037'],
  [20_000_000_000, '353130'],
] as const;

test.each(VECTORS)('RFC 6238, appendix B: at %d seconds the code is %s', (seconds, code) => {
  const nowMs = seconds * 1_000;
  expect(matchTotp(code, { secret, nowMs, afterStep: 0 })).toBe(Math.floor(seconds / 30));
});

test('a code is good one step early and late, and not two', () => {
  const step = Math.floor(1_234_567_890 / 30);
  const at = (steps: number) => matchTotp('005924', { secret, nowMs: (step + steps) * 30_000, afterStep: 0 });
  expect([-2, -1, 0, 1, 2].map(at)).toEqual([null, step, step, step, null]);
  const lastMs = (step + 2) * 30_000 - 1;
  expect(matchTotp('005924', { secret, nowMs: lastMs, afterStep: 0 })).toBe(step);
});

test('RFC 6238, section 5.2: no code up to the used step is accepted', () => {
  const step = Math.floor(1_234_567_890 / 30);
  const after = (afterStep: number) => matchTotp('005924', { secret, nowMs: step * 30_000, afterStep });
  expect([step - 1, step, step + 1].map(after)).toEqual([step, null, null]);
});

test.each(['', '5924', '0059240', ' 05924', '00592４', '٠٠٥٩٢٤', 'abcdef'])('%j is no code', (code) => {
  expect(matchTotp(code, { secret, nowMs: 1_234_567_890_000, afterStep: 0 })).toBeNull();
});

test('a secret is 160 bits of the given randomness', () => {
  expect(Secret.fromBase32(makeTotpSecret(testRandom())).bytes).toEqual(Uint8Array.from(testRandom()(20)));
});
