/**
 * Turns what the repository has into what a package holds. In the repository a package points to its TypeScript
 * sources, which Node.js runs as they are; below `node_modules` it would not, so a package points to `dist`.
 */
import type { PackageJson } from './workspaces.ts';

/** Libraries whose classes and types builders use too: their project decides on the one copy that all packages use. */
const SHARED: ReadonlySet<string> = new Set(['hono', 'zod']);
/** Fields that mean something in the repository alone. */
const OWN_FIELDS: ReadonlySet<string> = new Set(['private', 'scripts', 'devDependencies']);

/**
 * Returns the package.json of a package.
 * @param nodeMajor The release of Node.js that the package runs on, and on every later one.
 */
export function publishedPackageJson(source: PackageJson, nodeMajor: number): PackageJson {
  const fields = Object.fromEntries(Object.entries(source).filter(([field]) => !OWN_FIELDS.has(field)));
  const { exports, bin, files = [], dependencies = {} } = source;
  const isShared = ([name]: readonly [string, string]) => SHARED.has(name);
  const all = Object.entries(dependencies);
  const shared = all.filter(isShared).map(([name, version]) => [name, `^${version}`]);
  return {
    ...fields,
    name: source.name,
    version: source.version,
    files: ['dist', ...files],
    engines: { node: `>=${nodeMajor}` },
    ...(exports && { exports: { ...mapped(exports, publishedExport), './package.json': './package.json' } }),
    ...(bin && { bin: mapped(bin, publishedPath) }),
    dependencies: Object.fromEntries(all.filter((entry) => !isShared(entry))),
    ...(shared.length > 0 && {
      peerDependencies: { ...(source.peerDependencies as object), ...Object.fromEntries(shared) },
    }),
  };
}

/** `./src/index.ts` → `./dist/index.js`. */
function publishedPath(source: string): string {
  const path = source.replace(/^\.\/src\/(.*)\.ts$/, './dist/$1.js');
  if (path === source) throw new Error(`${source} is no source file below ./src.`);
  return path;
}

/** A file that is no TypeScript, such as a configuration to extend, is among the package's `files`. */
function publishedExport(source: string): object | string {
  if (!source.endsWith('.ts')) return source;
  const path = publishedPath(source);
  return { types: path.replace(/\.js$/, '.d.ts'), default: path };
}

function mapped<Value>(
  record: Readonly<Record<string, string>>,
  how: (value: string) => Value,
): Record<string, Value> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, how(value)]));
}

/**
 * Returns a compiled module or declaration that refers to the package's other modules as `.js`. The compiler leaves
 * `.ts` in declarations and in the addresses of scripts that run in a process of their own.
 */
export function publishedModule(text: string): string {
  return text
    .replaceAll(/(\bfrom |\bimport\()(['"])(\.{1,2}\/[^'"\n]*)\.ts\2/g, '$1$2$3.js$2')
    .replaceAll(/(\bnew URL\(')(\.{1,2}\/[^'\n]*)\.ts(', import\.meta\.url\))/g, '$1$2.js$3');
}

/** Returns a source map that names its source as the repository does, and holds no path of the machine that built it. */
export function publishedMap(text: string, source: string): string {
  return JSON.stringify({ ...JSON.parse(text), sources: [source] });
}
