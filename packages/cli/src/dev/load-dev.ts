/** Loads `@freehold/dev`, which is for a builder's machine alone: this program starts without it. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { PlatformError } from '@freehold/contracts';
import type * as DevPackage from '@freehold/dev';
import type * as Scaffold from '@freehold/dev/new';

interface Bundling {
  bundleProject(folder: string): Promise<DevPackage.ProjectBundle>;
}

/** A string, so that the package is looked up when a command runs. */
const DEV: string = '@freehold/dev';

/** @throws PlatformError `not_found` where it is not installed. */
export async function loadDev(folder: string): Promise<typeof DevPackage> {
  const found = await load(DEV, folder);
  return (found ?? notInstalled(' in the folder of your application')) as typeof DevPackage;
}

/** Loads what bundles a deployment alone. @throws as {@link loadDev}. */
export async function loadBundling(folder: string): Promise<Bundling> {
  const found = await load(`${DEV}/bundle`, folder);
  return (found ?? notInstalled(' in the folder of your application')) as Bundling;
}

/** Loads the scaffold alone. @throws PlatformError `not_found` where it is not installed. */
export async function loadScaffold(folder: string): Promise<typeof Scaffold> {
  return ((await load(`${DEV}/new`, folder)) ?? notInstalled(' here')) as typeof Scaffold;
}

/** The project's own copy comes first: its packages are those of the application. */
async function load(entry: string, folder: string): Promise<unknown> {
  const own = () => pathToFileURL(createRequire(join(folder, 'package.json')).resolve(entry)).href;
  for (const addressOf of [own, () => entry]) {
    try {
      return await import(addressOf());
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
  return null;
}

function notInstalled(where: string): never {
  throw new PlatformError(
    'not_found',
    `@freehold/dev is not installed: run npm install --save-dev @freehold/dev${where}.`,
    { reason: 'dev_not_installed' },
  );
}

/** Whether the package itself is missing, and not one that it needs. */
function isMissing(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: string };
  const isNotFound = code === 'MODULE_NOT_FOUND' || code === 'ERR_MODULE_NOT_FOUND';
  return isNotFound && (message ?? '').includes(DEV);
}

/** The package may be another copy than ours, so that its error is told by its name. */
export function inOneSentence(error: unknown): never {
  const { name, code, message, reason, errors } = error as Partial<DevPackage.DevError>;
  if (name !== 'DevError' || code === undefined || message === undefined) throw error;
  throw new PlatformError(code, message, {
    ...(reason !== undefined && { reason }),
    ...(errors !== undefined && { errors }),
    cause: error,
  });
}
