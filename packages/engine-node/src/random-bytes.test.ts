import { expect, test } from 'vitest';
import { makeRandomBytes } from './engine.ts';

test('pieces of every length are as long as was asked, never zeros, and never the same twice', () => {
  const random = makeRandomBytes();
  const pieces = Array.from({ length: 3_000 }, (_, i) =>
    random([12, 16, 32, 64, 65, 5_000][i % 6] as number),
  );
  expect(pieces.map(({ length }) => length).slice(0, 6)).toEqual([12, 16, 32, 64, 65, 5_000]);
  expect(new Set(pieces.map((piece) => Buffer.from(piece).toString('hex'))).size).toBe(3_000);
  expect(pieces.filter((piece) => piece.every((byte) => byte === 0))).toEqual([]);
});

test('a piece is given out once: changing it changes no later piece', () => {
  const random = makeRandomBytes();
  const piece = random(16);
  expect(piece.buffer.byteLength).toBe(16);
  expect(random(0)).toHaveLength(0);
});
