/** Lines out of parts that were cut at any place. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { linesOf } from './lines.ts';

const encoder = new TextEncoder();
const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

test('a text comes out line by line, however it was cut', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: 'grapheme', maxLength: 20 }).map((text) => text.replaceAll('\n', ' '))),
      fc.array(fc.nat(100)),
      (lines, cuts) => {
        const bytes = encoder.encode(lines.map((line) => `${line}\n`).join(''));
        const places = [...cuts.map((cut) => cut % (bytes.length + 1)), 0, bytes.length].sort(
          (a, b) => a - b,
        );
        const parts = places.slice(1).map((end, i) => bytes.subarray(places[i], end));
        expect([...linesOf(parts)].map(decode)).toEqual(lines.map((line) => `${line}\n`));
      },
    ),
  );
});

test('a last line without an end, and one that never ends, are damage', () => {
  expect(() => [...linesOf([encoder.encode('a\nb')])]).toThrow('its end is missing');
  const endless = function* () {
    for (;;) yield new Uint8Array(1_024 * 1_024);
  };
  expect(() => [...linesOf(endless())]).toThrow('too long');
});
