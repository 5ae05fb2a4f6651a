/** Finds the packages that an application's source imports, and leaves them out of its module. */
import { isAbsolute } from 'node:path';
import type { ImportKind, OnResolveArgs, OnResolveResult, Plugin, PluginBuild } from 'esbuild';
import { packageModuleName } from './bundle-packages.ts';

const KINDS: ReadonlySet<ImportKind> = new Set(['import-statement', 'dynamic-import']);
const CODE = /\.(?:[cm]?[jt]sx?|json)$/;
/** Marks the question of this plugin itself. */
const ASKED = Symbol('asked');

export class ImportedPackages {
  readonly #root: string;
  /** The files of packages that the source imports. */
  readonly #found = new Set<string>();
  /** The files that become part of the source's module. */
  readonly #leftOut = new Set<string>();
  #taken: string | null = null;
  /** The resolved file of an import, by the folder of the importer and the path. */
  readonly #resolved = new Map<string, string | null>();

  constructor(root: string) {
    this.#root = root;
  }

  readonly plugin: Plugin = {
    name: 'freehold:packages',
    setup: (builder) => {
      builder.onStart(() => this.#found.clear());
      builder.onResolve({ filter: /^[^./]/ }, (args) => this.#resolve(builder, args));
    },
  };

  /** The files that were found by the last build; null where they are those that were taken before. */
  take(): readonly string[] | null {
    const files = [...this.#found].sort();
    const text = files.join('\n');
    if (text === this.#taken) return null;
    this.#taken = text;
    return files;
  }

  /** Makes files part of the source's module, from the next build on. Returns whether that changes it. */
  leaveOut(files: readonly string[]): boolean {
    const added = files.filter((file) => !this.#leftOut.has(file));
    for (const file of added) this.#leftOut.add(file);
    return added.length > 0;
  }

  async #resolve(builder: PluginBuild, args: OnResolveArgs): Promise<OnResolveResult | undefined> {
    const { importer, kind, pluginData } = args;
    if (pluginData === ASKED || !KINDS.has(kind)) return undefined;
    // A package within the source's module finds its own ones, which may be of another version.
    if (isAbsolute(importer) && packageModuleName(this.#root, importer) !== null) return undefined;
    const file = await this.#fileOf(builder, args);
    const name = file === null ? null : packageModuleName(this.#root, file);
    if (file === null || name === null || this.#leftOut.has(file)) return undefined;
    this.#found.add(file);
    return { path: `./${name}`, external: true };
  }

  /** Null for what cannot be resolved, and for what is no code: esbuild judges it then. */
  async #fileOf(
    builder: PluginBuild,
    { path, resolveDir, kind, importer }: OnResolveArgs,
  ): Promise<string | null> {
    const key = `${resolveDir}\n${path}`;
    const known = this.#resolved.get(key);
    if (known !== undefined) return known;
    const {
      errors,
      external,
      namespace,
      path: file,
    } = await builder.resolve(path, {
      resolveDir,
      kind,
      importer,
      pluginData: ASKED,
    });
    const found = errors.length === 0 && !external && namespace === 'file' && CODE.test(file) ? file : null;
    // One that is missing may be installed meanwhile.
    if (errors.length === 0) this.#resolved.set(key, found);
    return found;
  }
}
