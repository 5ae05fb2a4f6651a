/** A checkout of Freehold, as what a project can be linked to while the packages are not published. */
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { PlatformError } from '@freehold/contracts';
import { z } from 'zod';

/** Of the names of our own packages. */
const SCOPE = '@freehold/';

const packageJson = z.object({
  name: z.string(),
  devDependencies: z.record(z.string(), z.string()).default({}),
});

export interface Checkout {
  /** Absolute, without symbolic links. */
  readonly root: string;
  /**
   * What stands in a linked project's package.json for one of its dependencies. Libraries must be the very copy that
   * the checkout's packages use, because types and classes of two copies are not the same.
   * @throws PlatformError when the checkout has none.
   */
  readonly dependency: (name: string) => string;
  /** The same for a tool, which is only run: the version that the checkout uses, and our own tools from the checkout. */
  readonly tool: (name: string) => string;
}

/** Reads a checkout. @throws PlatformError `validation_failed` when there is none at this path, or it is not installed. */
export function readCheckout(path: string): Checkout {
  const manifest = readManifest(path);
  if (manifest?.name !== 'freehold') throw unusable(path, 'is not a checkout of Freehold');
  const root = realpathSync(path);

  const at = (directory: string, name: string): string => {
    const found = join(root, directory);
    if (readManifest(found)?.name === name) return `file:${found}`;
    throw unusable(path, `has no ${name}, run npm ci there first`);
  };
  /** Ours are in `packages`, and the development issuer, which is a program as well, in `apps`. */
  const own = (name: string): string => {
    const directory = name.slice(SCOPE.length);
    const isApp = readManifest(join(root, 'apps', directory)) !== null;
    return at(`${isApp ? 'apps' : 'packages'}/${directory}`, name);
  };
  const dependency = (name: string): string =>
    name.startsWith(SCOPE) ? own(name) : at(`node_modules/${name}`, name);
  return {
    root,
    dependency,
    tool: (name) => {
      if (name.startsWith(SCOPE)) return dependency(name);
      const version = manifest.devDependencies[name];
      if (version === undefined) throw unusable(path, `does not say which version of ${name} it uses`);
      return version;
    },
  };
}

function readManifest(directory: string): z.output<typeof packageJson> | null {
  const path = join(directory, 'package.json');
  if (!existsSync(path)) return null;
  try {
    return packageJson.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    return null;
  }
}

function unusable(path: string, why: string): PlatformError {
  return new PlatformError('validation_failed', `--link cannot be used: ${path} ${why}.`, {
    reason: 'no_checkout',
    errors: [{ path: '--link', message: why }],
  });
}
