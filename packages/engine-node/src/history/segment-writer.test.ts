/** Frames compressed while a unit works. */
import { createHook } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import { zstdDecompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { compressInBackground } from './segment-writer.ts';

test('eight megabytes that do not shrink take a few turns of the event loop', async () => {
  const frames = randomBytes(8 * 1_024 * 1_024);
  const compressing = new Set<number>();
  let turns = 0;
  const hook = createHook({
    init: (id, type) => {
      if (type === 'ZLIB') compressing.add(id);
    },
    before: (id) => {
      if (compressing.has(id)) turns += 1;
    },
  }).enable();
  const payload = await compressInBackground(frames);
  hook.disable();
  expect(turns).toBeGreaterThan(0);
  expect(turns).toBeLessThanOrEqual(8);
  expect(zstdDecompressSync(payload).equals(frames)).toBe(true);
});
