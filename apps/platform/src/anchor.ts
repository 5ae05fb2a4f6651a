/** The admin log's outside witness: a file, best on another disk, that keeps the newest head of the chain. */
import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { writePrivately } from './secrets.ts';

const head = z.strictObject({ sequence: z.int().min(0), hash: z.string() });
type Head = z.infer<typeof head>;

/** Keeps the head in a file. A damaged file is an error on reading: it must never count as "no witness". */
export function makeFileAnchor(path: string) {
  return {
    publish: async (newest: Head): Promise<void> => writePrivately(path, `${JSON.stringify(newest)}\n`),
    read: async (): Promise<Head | null> =>
      existsSync(path) ? head.parse(JSON.parse(readFileSync(path, 'utf8'))) : null,
  };
}
