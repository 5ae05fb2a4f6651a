import { base64url } from 'jose';
import { describe, expect, test } from 'vitest';
import { makeTextSealer, type TextSealerOptions } from './text-sealer.ts';

const OLD = 'a secret of more than thirty-two bytes';
const NEW = 'another secret of more than 32 bytes';
const make = (options: Partial<TextSealerOptions> = {}) =>
  makeTextSealer({
    secrets: [OLD],
    purpose: 'state',
    audience: 'tenant-a',
    context: 'https://issuer.example client-1',
    random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
    ...options,
  });

test.each(['', '/', '{"r":"/inbox"}', 'ü𝄞', 'a'.repeat(2000)])(
  'opens to the text that was sealed: %j',
  (text) => {
    expect(make().open(make().seal(text))).toBe(text);
  },
);

test('a sealed text is URL-safe, tells nothing of the text but its length, and is never the same twice', () => {
  const sealer = make();
  const all = Array.from({ length: 100 }, () => sealer.seal('/?claim=token'));
  expect(new Set(all).size).toBe(100);
  for (const sealed of all) {
    expect(sealed).toMatch(/^[\w-]+$/);
    expect(new TextDecoder('latin1').decode(base64url.decode(sealed))).not.toContain('claim');
  }
});

test('no byte of it can be changed, taken away or added', () => {
  const sealer = make();
  const bytes = base64url.decode(sealer.seal('/inbox'));
  for (let at = 0; at < bytes.length; at += 1) {
    expect(sealer.open(base64url.encode(bytes.map((byte, index) => (index === at ? byte ^ 1 : byte))))).toBe(
      null,
    );
    expect(sealer.open(base64url.encode(bytes.subarray(0, at)))).toBe(null);
    expect(sealer.open(base64url.encode(bytes.subarray(at + 1)))).toBe(null);
  }
  expect(sealer.open(base64url.encode(new Uint8Array([...bytes, 0])))).toBe(null);
});

test.each(['', '.', 'é', 'a'.repeat(37), '%%%', '\u0000', 'null', 'A'.repeat(5000)])(
  'a foreign text does not open, and does not throw: %j',
  (text) => {
    expect(make().open(text)).toBeNull();
  },
);

describe('it does not open', () => {
  test.each<[string, Partial<TextSealerOptions>]>([
    ['for another audience', { audience: 'tenant-b' }],
    ['for another purpose', { purpose: 'claim' }],
    ['in another context', { context: 'https://issuer.example client-2' }],
    ['without its secret', { secrets: [NEW] }],
  ])('%s', (_, options) => {
    expect(make(options).open(make().seal('/inbox'))).toBeNull();
  });
});

test('of several secrets the first seals, and all open', () => {
  const both = make({ secrets: [NEW, OLD] });
  expect(both.open(make().seal('/inbox'))).toBe('/inbox');
  expect(make({ secrets: [NEW] }).open(both.seal('/inbox'))).toBe('/inbox');
  expect(make().open(both.seal('/inbox'))).toBeNull();
});
