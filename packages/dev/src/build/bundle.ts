/** Bundles the builder's source: one module with a source map, packages left out. */
import { createHash } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { type BuildFailure, type BuildOptions, context, type Message } from 'esbuild';
import type { Fault } from '../lib/events.ts';
import type { Project } from '../project/project.ts';
import { excerptOf } from './excerpt.ts';

/** A bundled module on disk, below the project, so that its packages are those of the project. */
export interface Bundle {
  readonly path: string;
  /** The source map, as JSON text. */
  readonly map: string;
  readonly digest: string;
}

/** The source cannot be bundled. */
export class BundleError extends Error {
  override readonly name = 'BundleError';
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    super(faults[0]?.message ?? 'the source cannot be bundled');
    this.faults = faults;
  }
}

export interface Bundler {
  /** @throws BundleError */
  bundle(): Promise<Bundle>;
  close(): Promise<void>;
}

export interface BundleSource {
  /** The text of the module that everything else is imported by. */
  readonly contents: string;
  /** The beginning of the file's name. */
  readonly name: string;
}

/** Bundles the same source again and again; what did not change is not read again. */
export async function openBundler(project: Project, source: BundleSource): Promise<Bundler> {
  const folder = join(project.folder, 'build');
  const options: BuildOptions = {
    stdin: {
      contents: source.contents,
      resolveDir: project.root,
      sourcefile: 'freehold-dev.ts',
      loader: 'ts',
    },
    absWorkingDir: project.root,
    outfile: join(folder, `${source.name}.mjs`),
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'es2024',
    sourcemap: 'external',
    write: false,
    logLevel: 'silent',
  };
  const builder = await context(options);
  return {
    bundle: async () => {
      const { outputFiles = [] } = await builder.rebuild().catch((error: unknown) => {
        throw asBundleError(error);
      });
      const [map = '', code = ''] = outputFiles
        .toSorted((one, other) => other.path.length - one.path.length)
        .map(({ text }) => text);
      const digest = createHash('sha256').update(code).digest('hex').slice(0, 16);
      // A module is loaded once under each name, so that each content has a name of its own.
      const path = join(folder, `${source.name}-${digest}.mjs`);
      mkdirSync(folder, { recursive: true });
      writeFileSync(`${path}.map`, map);
      writeFileSync(path, `${code}//# sourceMappingURL=${source.name}-${digest}.mjs.map\n`);
      return { path, map, digest };
    },
    close: () => builder.dispose(),
  };
}

/** Removes the bundles of earlier starts. */
export function clearBundles({ folder }: Pick<Project, 'folder'>): void {
  rmSync(join(folder, 'build'), { recursive: true, force: true });
}

/** The path of a file as an import specifier of a module below the project. */
export function importOf({ root }: Project, file: string): string {
  return JSON.stringify(`./${relative(root, file).replaceAll('\\', '/')}`);
}

/** Returns a failure of esbuild as a BundleError, and another error as it is. */
export function asBundleError(error: unknown): unknown {
  const { errors } = error as Partial<BuildFailure>;
  return error instanceof Error && Array.isArray(errors) ? new BundleError(errors.map(faultOf)) : error;
}

function faultOf({ text, location, notes }: Message): Fault {
  const place = location && { file: location.file, line: location.line, column: location.column + 1 };
  return {
    kind: 'build',
    message: text,
    file: place?.file ?? null,
    line: place?.line ?? null,
    column: place?.column ?? null,
    excerpt: place ? excerptOf([location.lineText], { line: 1, column: place.column }, place.line) : null,
    hint: notes[0]?.text ?? null,
    stack: [],
  };
}
