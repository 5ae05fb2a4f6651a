/**
 * `node tools/cycles.ts`: refuses cycles of folders, type imports included. A folder is the files in it, without those of
 * the folders below. Left out are the front door of a package (`src/index.ts`), which may import every folder, and the
 * test files, which no file imports.
 *
 * No linter does this here: Biome's rule knows files and no folders, and dependency-cruiser reads TypeScript through
 * packages that know neither `using` nor JSX in TypeScript.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { root } from './run.ts';

const IMPORT = /\b(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+)'/g;
const FRONT_DOOR = /^(?:packages|apps)\/[^/]+\/src\/index\.ts$/;

/** Folder → the folders that its files import from. */
export function folderGraph(sources: ReadonlyMap<string, string>): Map<string, Set<string>> {
  const graph = new Map<string, Set<string>>();
  for (const [file, text] of sources) {
    if (FRONT_DOOR.test(file)) continue;
    const folder = dirname(file);
    const imported = graph.get(folder) ?? new Set();
    graph.set(folder, imported);
    for (const [, path = ''] of text.matchAll(IMPORT)) {
      const target = normalize(join(folder, path));
      if (sources.has(target) && !FRONT_DOOR.test(target) && dirname(target) !== folder)
        imported.add(dirname(target));
    }
  }
  return graph;
}

/** The first cycle that is found from each folder: a path that ends where it begins. Each cycle is given once. */
export function cyclesIn(graph: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const cycles = new Map<string, string[]>();
  const done = new Set<string>();
  const walk = (folder: string, path: readonly string[]): void => {
    const at = path.indexOf(folder);
    if (at >= 0) {
      const cycle = path.slice(at);
      cycles.set(cycle.toSorted().join(), [...cycle, folder]);
      return;
    }
    if (done.has(folder)) return;
    for (const next of graph.get(folder) ?? []) walk(next, [...path, folder]);
    done.add(folder);
  };
  for (const folder of graph.keys()) walk(folder, []);
  return [...cycles.values()];
}

function main(): void {
  const tracked = execFileSync('git', ['ls-files', '-z', '*.ts', '*.tsx'], { cwd: root, encoding: 'utf8' });
  const held = (file: string) => file !== '' && !file.endsWith('.test.ts');
  const sources = new Map(
    tracked
      .split('\0')
      .filter(held)
      .map((file) => [file, readFileSync(join(root, file), 'utf8')]),
  );
  for (const cycle of cyclesIn(folderGraph(sources))) {
    console.error(`A cycle of folders: ${cycle.join(' → ')}`);
    process.exitCode = 1;
  }
}

if (import.meta.main) main();
