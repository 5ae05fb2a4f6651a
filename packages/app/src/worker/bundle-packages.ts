/**
 * The packages of an application as modules of their own beside its source: they are the same from save to save and from
 * version to version, so that they are bundled once and sent once. Parts that are imported on demand are chunks of their own.
 */
import { createHash, randomUUID } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { type BuildOptions, build, version as esbuildVersion, type Metafile } from 'esbuild';

/** The folder of these modules in a bundle. */
export const PACKAGES = 'packages';

/** The modules of some entries, and the entries that cannot be one. */
export interface PackageModules {
  readonly modules: readonly PackageModule[];
  /** The absolute paths of entries of CommonJS: their names are known when they run, so that they stay in the source's module. */
  readonly commonJs: readonly string[];
}

interface PackageModule {
  readonly name: string;
  readonly text: string;
}

interface Cached extends PackageModules {
  /** The files that were read: path, time of the last change, size. */
  readonly inputs: readonly (readonly [string, number, number])[];
}

/** Raise it when the same inputs give other modules. */
const FORMAT = 1;
const CACHED_MAX = 4;

/**
 * The module of a package's file; null for a file of the application itself.
 * @param root the application's folder.
 */
export function packageModuleName(root: string, file: string): string | null {
  const owner = packageOf(file);
  if (owner === null || owner.folder === ownerOf(root)) return null;
  const path = relative(owner.folder, file).split(sep).join('/');
  return `${PACKAGES}/${`${owner.name}/${path}`.replace(/\.js$/, '').replace(/[^A-Za-z0-9_./-]/g, '_')}.js`;
}

/**
 * Bundles packages, each entry as a module under its name and what they share as chunks. The result is kept beside the
 * installed packages, until one of the files that it was made of is changed.
 * @throws BuildFailure of esbuild.
 */
export async function bundlePackages(
  root: string,
  entries: readonly string[],
  options: BuildOptions,
): Promise<PackageModules> {
  const sorted = [...entries].sort();
  const key = createHash('sha256')
    .update(JSON.stringify([FORMAT, esbuildVersion, options, sorted]))
    .digest('hex');
  const folder = cacheFolder(root);
  const file = folder && join(folder, `packages-${key.slice(0, 32)}.json`);
  const known = file && readCached(file);
  if (known) return known;
  const made = await bundle(root, sorted, options);
  if (folder && file) writeCached(folder, file, made);
  return made;
}

async function bundle(root: string, entries: readonly string[], options: BuildOptions): Promise<Cached> {
  const { outputFiles = [], metafile } = await build({
    ...options,
    absWorkingDir: root,
    entryPoints: entries.map((file) => ({
      in: file,
      out: (packageModuleName(root, file) ?? '').replace(/\.js$/, ''),
    })),
    outdir: root,
    chunkNames: `${PACKAGES}/chunks/[hash]`,
    splitting: true,
    write: false,
    metafile: true,
  });
  const { inputs } = metafile as Metafile;
  const isCommonJs = (file: string): boolean =>
    inputs[relative(root, file).split(sep).join('/')]?.format === 'cjs';
  const commonJs = entries.filter(isCommonJs);
  const files = Object.keys(inputs).map((path) => resolve(root, path));
  return {
    modules: outputFiles
      .map(({ path, text }) => ({ name: relative(root, path).split(sep).join('/'), text }))
      .sort((one, other) => (one.name < other.name ? -1 : 1)),
    commonJs,
    inputs: [...new Set([...files, ...files.flatMap((path) => packageOf(path)?.file ?? [])])].map(stateOf),
  };
}

/** Beside the packages, as other tools do it; null where none are installed. */
function cacheFolder(root: string): string | null {
  for (let folder = root; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'node_modules'))) return join(folder, 'node_modules', '.cache', 'freehold');
    if (folder === dirname(folder)) return null;
  }
}

function readCached(file: string): Cached | null {
  try {
    const cached = JSON.parse(readFileSync(file, 'utf8')) as Cached;
    const isSame = cached.inputs.every(([path, changedAtMs, bytes]) => {
      const [, changedNowMs, bytesNow] = stateOf(path);
      return changedNowMs === changedAtMs && bytesNow === bytes;
    });
    return isSame ? cached : null;
  } catch {
    // There is none, or it is damaged: it is made again.
    return null;
  }
}

/** Whole or not at all; the oldest are removed. Where the folder cannot be written, the next bundle takes longer. */
function writeCached(folder: string, file: string, made: Cached): void {
  const draft = `${file}.${randomUUID()}`;
  try {
    mkdirSync(folder, { recursive: true });
    writeFileSync(draft, JSON.stringify(made));
    renameSync(draft, file);
    const all = readdirSync(folder)
      .filter((name) => /^packages-\w+\.json$/.test(name))
      .map((name) => ({ name, atMs: statSync(join(folder, name)).mtimeMs }))
      .sort((one, other) => other.atMs - one.atMs);
    for (const { name } of all.slice(CACHED_MAX)) rmSync(join(folder, name), { force: true });
  } catch {
    rmSync(draft, { force: true });
  }
}

function stateOf(path: string): [string, number, number] {
  const { mtimeMs, size } = statSync(path);
  return [path, mtimeMs, size];
}

interface Owner {
  readonly name: string;
  readonly folder: string;
  /** Its `package.json`. */
  readonly file: string;
}

const owners = new Map<string, Owner | null>();

/** The package of a file: the nearest `package.json` above it with a name. */
function packageOf(file: string): Owner | null {
  return ownerIn(dirname(file));
}

function ownerIn(folder: string): Owner | null {
  const known = owners.get(folder);
  if (known !== undefined) return known;
  const file = join(folder, 'package.json');
  const name = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { name?: unknown }).name : null;
  const above = dirname(folder);
  const owner = typeof name === 'string' ? { name, folder, file } : above === folder ? null : ownerIn(above);
  owners.set(folder, owner);
  return owner;
}

/** The folder of the application's own package. */
function ownerOf(root: string): string {
  return ownerIn(realpathSync(root))?.folder ?? root;
}
