/** Loads `@freehold/dev`, which is for a builder's machine alone: this program starts without it. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { PlatformError, type ProblemCode } from '@freehold/contracts';
import type * as DevPackage from '@freehold/dev';

/** A string, so that the package is looked up when a command runs. */
const DEV: string = '@freehold/dev';

/** The project's own copy comes first: its packages are those of the application. */
export async function loadDev(folder: string): Promise<typeof DevPackage> {
  try {
    const own = createRequire(join(folder, 'package.json')).resolve(DEV);
    return (await import(pathToFileURL(own).href)) as typeof DevPackage;
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  try {
    return (await import(DEV)) as typeof DevPackage;
  } catch (cause) {
    if (!isMissing(cause)) throw cause;
    throw new PlatformError(
      'not_found',
      '@freehold/dev is not installed: run npm install --save-dev @freehold/dev in the folder of your application.',
      { reason: 'dev_not_installed', cause },
    );
  }
}

/** Whether the package itself is missing, and not one that it needs. */
function isMissing(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: string };
  const isNotFound = code === 'MODULE_NOT_FOUND' || code === 'ERR_MODULE_NOT_FOUND';
  return isNotFound && (message ?? '').includes(DEV);
}

/** The package may be another copy than ours, so that its error is told by its name. */
export function inOneSentence(error: unknown): never {
  const { name, code, message } = error as { name?: string; code?: ProblemCode; message?: string };
  if (name !== 'DevError' || code === undefined || message === undefined) throw error;
  throw new PlatformError(code, message, { cause: error });
}
