/** Reads a checkout of Freehold: projects link to its packages until they are published. */
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { PlatformError } from '@freehold/contracts';
import { z } from 'zod';
import type { PackageSource } from './plan-project.ts';

/** The prefix of our own packages. */
const SCOPE = '@freehold/';

const packageJson = z.object({
  name: z.string(),
  devDependencies: z.record(z.string(), z.string()).default({}),
});

/**
 * A checkout as a source of packages. A library is the copy that the checkout uses, because classes of two copies are not
 * the same; a tool is the version that it uses.
 */
export interface Checkout extends PackageSource {
  /** The absolute path, without symbolic links. */
  readonly root: string;
}

/** @throws PlatformError `validation_failed` when there is no checkout at this path, or it is not installed. */
export function readCheckout(path: string): Checkout {
  const manifest = readManifest(path);
  if (manifest?.name !== 'freehold') throw unusable(path, 'is not a checkout of Freehold');
  const root = realpathSync(path);

  const at = (directory: string, name: string): string => {
    const found = join(root, directory);
    if (readManifest(found)?.name === name) return `file:${found}`;
    throw unusable(path, `has no ${name}, run npm ci there first`);
  };
  /** Our packages are in `packages`; the development issuer, which is a program, is in `apps`. */
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
