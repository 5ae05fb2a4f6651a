/** The state of an application's own pages, as a text that changes with them. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { App } from '@freehold/app';

/**
 * @param web the declared folder, or single pages, relative to the project: of these, the folders that they are in count.
 * Empty text for none.
 */
export function webSignature(root: string, web: App['web']): string {
  const folders = typeof web === 'string' ? [web] : [...new Set(Object.values(web ?? {}).map(dirname))];
  return folders
    .map((folder) => join(root, folder))
    .filter((folder) => existsSync(folder))
    .flatMap(filesBelow)
    .sort()
    .join('\n');
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory())
      return entry.name === 'node_modules' || entry.name.startsWith('.') ? [] : filesBelow(path);
    const { mtimeMs, size } = statSync(path);
    return [`${path} ${mtimeMs} ${size}`];
  });
}
