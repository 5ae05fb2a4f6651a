/** The builder's own seed: a module that fills an instance once. */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { importOf, openBundler } from './build/bundle.ts';
import type { Positions } from './build/positions.ts';
import type { AsOptions, Member, People } from './instance/people.ts';
import { OWNER } from './instance/people.ts';
import type { Project } from './project/project.ts';

/** The argument of a seed module. */
export interface SeedTools {
  /** A member by login name, who can sign in under it; made with the role where there is none. */
  as(login: string, options?: AsOptions): Promise<Member>;
  /** Runs an operation as the owner, and returns its output. */
  call(operation: string, input?: unknown): Promise<unknown>;
}

/** The default export of a seed module. */
export type Seed = (tools: SeedTools) => Promise<void> | void;

/** Runs a seed module. @throws BundleError, and what the module throws. */
export async function runSeed(
  project: Project,
  file: string,
  { people, positions }: { readonly people: People; readonly positions: Positions },
): Promise<void> {
  const bundler = await openBundler(project, {
    name: 'seed',
    contents: `export { default as seed } from ${importOf(project, resolve(project.root, file))};`,
  });
  try {
    const bundle = await bundler.bundle();
    positions.add(bundle);
    const { seed } = (await import(pathToFileURL(bundle.path).href)) as { readonly seed: Seed };
    if (typeof seed !== 'function')
      throw new TypeError(
        `${file} has no default export that is a function: export default async ({ as, call }) => …`,
      );
    await seed({
      as: (login, options) => people.as(login, options),
      call: async (operation, input) => (await people.as(OWNER)).call(operation, input),
    });
  } finally {
    await bundler.close();
  }
}
