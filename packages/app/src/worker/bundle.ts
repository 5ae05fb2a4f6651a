/** Makes the files of a worker out of an application and everything that it imports, as workerd takes them. */
import { createHash } from 'node:crypto';
import { type BuildOptions, build, context, type Plugin } from 'esbuild';
import type { WebFile, WebFiles } from '../declaration/env.ts';
import { bundlePackages, type PackageModules } from './bundle-packages.ts';
import { ImportedPackages } from './imported-packages.ts';

export { type DeclaredMigration, declarationOf } from '../platform/declaration-of.ts';

/** The settings of every worker. */
const WORKER: BuildOptions = {
  bundle: true,
  format: 'esm',
  target: 'es2024',
  conditions: ['workerd', 'worker', 'browser', 'import'],
  mainFields: ['module', 'main'],
  // Modules of the runtime. Other modules of Node would have to be named here, and there are none.
  external: ['node:crypto', 'cloudflare:workers'],
  logLevel: 'warning',
};

/** Not the identifiers: a stack tells the names of functions. */
const COMPACT: BuildOptions = { minifySyntax: true, minifyWhitespace: true };

const JAVASCRIPT = 'application/javascript+module';

/**
 * Bundles the worker whose entry this is, with its pages as the module `freehold:web-files`.
 * @throws Error when it needs something of Node's that workerd lacks.
 */
export async function bundleWorker(entry: string, outfile: string, webFiles?: WebFiles): Promise<void> {
  await build({ ...WORKER, entryPoints: [entry], outfile, plugins: [pagesOf(() => inlined(webFiles))] });
}

/** One file of a deployment. */
export interface BundledModule {
  /** A relative path: `main.js`, `web/assets/app-1a2b.js`. */
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
  /** SHA-256 of the bytes, hexadecimal: what did not change is not sent again. */
  readonly digest: string;
}

export interface BundleOptions {
  /** The project's folder, from which its packages are found. */
  readonly root: string;
  /** The absolute path of the file with the default export of `defineApp(…)`. */
  readonly entry: string;
}

/** The parts of a bundle beside the source and its packages. */
export interface BundleParts {
  /** The built pages: `webFilesOf` of `@freehold/app/node`. Default: none. */
  readonly webFiles?: WebFiles | undefined;
  /** For `freehold dev` alone: `hostedApp` says what it changes. Default: nothing. */
  readonly developed?: { readonly declaredAt: string | null } | undefined;
}

/** Bundles one application again and again; what did not change is not read again. */
export interface AppBundler {
  /**
   * Bundles the application as it is on disk: `main.js` with its source map, the packages that it imports, and each file of its
   * pages as a module of its own.
   * @throws BuildFailure of esbuild, whose `errors` name files and lines.
   */
  bundle(parts?: BundleParts): Promise<readonly BundledModule[]>;
  close(): Promise<void>;
}

/** Bundles an application for the runtime of a platform, once. @throws as {@link AppBundler.bundle}. */
export async function bundleApp({
  webFiles,
  ...options
}: BundleOptions & Pick<BundleParts, 'webFiles'>): Promise<readonly BundledModule[]> {
  const bundler = await openAppBundler(options);
  try {
    return await bundler.bundle({ webFiles });
  } finally {
    await bundler.close();
  }
}

/** @throws nothing before the first bundle. */
export async function openAppBundler({ root, entry }: BundleOptions): Promise<AppBundler> {
  let pages = asModules(undefined);
  let own = '';
  let packages: PackageModules = { modules: [], commonJs: [] };
  const imported = new ImportedPackages(root);
  const builder = await context({
    ...WORKER,
    ...COMPACT,
    stdin: {
      contents: [
        `import app from ${JSON.stringify(entry)};`,
        "import { hostedApp } from '@freehold/app/worker/hosted';",
        "import { developed, webFiles } from 'freehold:web-files';",
        'export const { Instance, Declaration } = hostedApp(app, { webFiles, developed });',
      ].join('\n'),
      resolveDir: root,
      sourcefile: 'freehold-deploy.ts',
      loader: 'ts',
    },
    absWorkingDir: root,
    outfile: `${root}/main.js`,
    write: false,
    // Frames are mapped to files and lines; the sources themselves stay with the builder.
    sourcesContent: false,
    sourcemap: 'external',
    logLevel: 'silent',
    plugins: [pagesOf(() => `${pages.text}\n${own}`), imported.plugin],
  });
  return {
    bundle: async ({ webFiles, developed } = {}) => {
      pages = asModules(webFiles);
      own = `export const developed = ${JSON.stringify(developed)};`;
      let built = await builder.rebuild();
      const entries = imported.take();
      if (entries !== null) {
        packages = await bundlePackages(root, entries, { ...WORKER, ...COMPACT });
        if (imported.leaveOut(packages.commonJs)) built = await builder.rebuild();
      }
      const { outputFiles = [] } = built;
      const [map, code] = outputFiles.toSorted((one, other) => other.path.length - one.path.length);
      if (!map || !code) throw new TypeError('a bundle has its code and its map');
      return [
        moduleOf('main.js', JAVASCRIPT, code.contents),
        moduleOf('main.js.map', 'application/source-map', map.contents),
        ...packages.modules.map(({ name, text }) => moduleOf(name, JAVASCRIPT, Buffer.from(text))),
        ...pages.modules,
      ];
    },
    close: () => builder.dispose(),
  };
}

function moduleOf(name: string, mediaType: string, bytes: Uint8Array): BundledModule {
  return { name, mediaType, bytes, digest: createHash('sha256').update(bytes).digest('hex') };
}

/** A worker has no files: the pages are a module of it. */
function pagesOf(contents: () => string): Plugin {
  const name = 'freehold:web-files';
  return {
    name,
    setup: ({ onResolve, onLoad }) => {
      onResolve({ filter: /^freehold:web-files$/ }, ({ path }) => ({ path, namespace: name }));
      // The files themselves are modules beside the bundle.
      onResolve({ filter: /^\.\/web\//, namespace: name }, ({ path }) => ({ path, external: true }));
      onLoad({ filter: /.*/, namespace: name }, () => ({ contents: contents(), loader: 'js' }));
    },
  };
}

const NO_PAGES = 'export const webFiles = undefined;';

function inlined(webFiles: WebFiles | undefined): string {
  if (!webFiles) return NO_PAGES;
  const packed = [...webFiles].map(([path, { body, gzip, ...file }]) => [
    path,
    { ...file, body: base64Of(body), ...(gzip ? { gzip: base64Of(gzip) } : {}) },
  ]);
  return `const bytesOf = (text) => Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
export const webFiles = new Map(${JSON.stringify(packed)}.map(([path, { body, gzip, ...file }]) => [
  path,
  { ...file, body: bytesOf(body), ...(gzip === undefined ? {} : { gzip: bytesOf(gzip) }) },
]));`;
}

/** A name that a module may have. The content is in it, so that two files never share one. */
function nameOf(path: string, bytes: Uint8Array): string {
  const plain = path.replace(/^\//, '').replace(/[^A-Za-z0-9_./-]/g, '_');
  return `web/${createHash('sha256').update(bytes).digest('hex').slice(0, 16)}/${plain}`;
}

function asModules(webFiles: WebFiles | undefined): {
  readonly text: string;
  readonly modules: readonly BundledModule[];
} {
  if (!webFiles) return { text: NO_PAGES, modules: [] };
  const modules = new Map<string, BundledModule>();
  const imports: string[] = [];
  const entries: string[] = [];
  const imported = (path: string, bytes: Uint8Array): string => {
    const name = nameOf(path, bytes);
    if (!modules.has(name)) modules.set(name, moduleOf(name, 'application/octet-stream', bytes));
    imports.push(`import f${imports.length} from ${JSON.stringify(`./${name}`)};`);
    return `new Uint8Array(f${imports.length - 1})`;
  };
  for (const [path, { body, gzip, ...file }] of webFiles) {
    const parts = [`...${JSON.stringify(file)}`, `body: ${imported(path, body)}`];
    if (gzip) parts.push(`gzip: ${imported(`${path}.gz`, gzip)}`);
    entries.push(`[${JSON.stringify(path)}, { ${parts.join(', ')} }]`);
  }
  return {
    text: `${imports.join('\n')}\nexport const webFiles = new Map([\n${entries.join(',\n')}\n]);`,
    modules: [...modules.values()],
  };
}

function base64Of(bytes: WebFile['body']): string {
  return Buffer.from(bytes).toString('base64');
}
