/** The state of a folder of built pages, as a text that changes with it. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** @param web the declared folder, relative to the project. Empty text for none. */
export function webSignature(root: string, web: unknown): string {
  if (typeof web !== 'string' || !existsSync(join(root, web))) return '';
  return readdirSync(join(root, web), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      const { mtimeMs, size } = statSync(path);
      return `${path} ${mtimeMs} ${size}`;
    })
    .sort()
    .join('\n');
}
