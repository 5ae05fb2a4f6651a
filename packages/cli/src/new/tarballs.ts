/** Reads a folder of tarballs, as `npm run pack` makes it: projects install Freehold from it, without a registry. */
import { readdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { PlatformError } from '@freehold/contracts';
import { isSystemError } from '../lib/world.ts';
import type { PackageSource } from './plan-project.ts';

const SCOPE = '@freehold/';
/** `freehold-engine-node-0.1.0.tgz` */
const TARBALL = /^freehold-([a-z][a-z0-9-]*)-\d+\.\d+\.\d+\.tgz$/;

/**
 * @param versions of the libraries and tools of other projects, by name.
 * @throws PlatformError `validation_failed` for a folder without the packages.
 */
export function readTarballs(path: string, versions: Readonly<Record<string, string>>): PackageSource {
  const tarballs = Object.fromEntries(
    list(path).flatMap((file) => {
      const [, name] = TARBALL.exec(file) ?? [];
      return name === undefined ? [] : [[`${SCOPE}${name}`, `file:${join(realpathSync(path), file)}`]];
    }),
  );
  const dependency = (name: string): string => {
    const entry = name.startsWith(SCOPE) ? tarballs[name] : versions[name];
    if (entry === undefined) throw unusable(path, `has no tarball of ${name}`);
    return entry;
  };
  return { dependency, tool: dependency, overrides: tarballs };
}

function list(path: string): string[] {
  try {
    return readdirSync(path);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    throw unusable(path, `cannot be read (${error.code})`);
  }
}

function unusable(path: string, why: string): PlatformError {
  return new PlatformError('validation_failed', `--packages cannot be used: ${path} ${why}.`, {
    reason: 'no_tarballs',
    errors: [{ path: '--packages', message: why }],
  });
}
