import { expect, test } from 'vitest';
import { decodeBundle, encodeBundle, type StoredBundle } from './bundle.ts';

const bundle: StoredBundle = {
  mainModule: 'main.js',
  compatibilityDate: '2026-07-01',
  compatibilityFlags: ['nodejs_compat'],
  modules: [
    { name: 'main.js', isCode: true, bytes: new TextEncoder().encode("export const é = '日本';") },
    { name: 'web/empty', isCode: false, bytes: new Uint8Array() },
    { name: 'web/picture', isCode: false, bytes: Uint8Array.from({ length: 300 }, (_, n) => n % 256) },
  ],
};

async function sent(): Promise<ArrayBuffer> {
  return new Blob(encodeBundle(bundle) as Uint8Array<ArrayBuffer>[]).arrayBuffer();
}

test('a bundle arrives as it was sent, an empty module and every byte included', async () => {
  expect(decodeBundle(await sent())).toEqual(bundle);
});

test('one that broke off is no bundle', async () => {
  const whole = await sent();
  for (const length of [0, 3, 10, whole.byteLength - 1])
    expect(() => decodeBundle(whole.slice(0, length))).toThrow(RangeError);
});
