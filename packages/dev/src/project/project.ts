/** The builder's project: its folder, its entry file, and the copy of Freehold's packages that it uses. */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative, resolve } from 'node:path';
import { z } from 'zod';
import { DevError } from '../lib/dev-error.ts';

export interface Project {
  /** The folder with the `package.json`. */
  readonly root: string;
  /** The absolute path of the file with the default export of `defineApp(…)`. */
  readonly entry: string;
  /** The folder of what `freehold dev` keeps: `.freehold`. */
  readonly folder: string;
}

const DEFAULT_ENTRY = 'src/app.ts';
const packageJson = z.object({ freehold: z.object({ app: z.string().min(1).optional() }).optional() });

/** @throws DevError for a folder without an application. */
export function readProject(folder: string): Project {
  const root = resolve(folder);
  const path = join(root, 'package.json');
  if (!existsSync(path))
    throw new DevError(
      'validation_failed',
      `There is no package.json in ${root}: go to the folder of your application, or make one with freehold new.`,
    );
  const entry = resolve(root, entryIn(path));
  if (!existsSync(entry))
    throw new DevError(
      'validation_failed',
      `There is no application at ${relative(root, entry)}: write export default defineApp(…) there, or name another file in package.json as "freehold": { "app": "…" }.`,
    );
  return { root, entry, folder: join(root, '.freehold') };
}

function entryIn(path: string): string {
  try {
    return packageJson.parse(JSON.parse(readFileSync(path, 'utf8'))).freehold?.app ?? DEFAULT_ENTRY;
  } catch (cause) {
    throw new DevError(
      'validation_failed',
      `${path} cannot be read: it must be JSON, with a path in "freehold": { "app": "…" } if it has that.`,
      { cause },
    );
  }
}

/**
 * Refuses a project whose `@freehold/app` is another copy than the one that belongs to this package: two copies of the
 * error class would turn each refusal into a failure of the server.
 * @throws DevError
 */
export function requireOneCopy({ root }: Project): void {
  const app = resolveFrom(join(root, 'package.json'), '@freehold/app');
  if (app === null)
    throw new DevError(
      'validation_failed',
      `@freehold/app is not installed in ${root}: run npm install there (npm install @freehold/app if package.json does not name it).`,
    );
  const theirs = resolveFrom(app, '@freehold/contracts');
  const ours = resolveFrom(import.meta.url, '@freehold/contracts');
  if (theirs === ours) return;
  throw new DevError(
    'conflict',
    `The application uses another copy of Freehold's packages (${theirs}) than freehold dev does (${ours}): install @freehold/dev in the project, in the version of @freehold/app, and run npm dedupe.`,
  );
}

function resolveFrom(from: string, name: string): string | null {
  try {
    return createRequire(from).resolve(name);
  } catch {
    return null;
  }
}
