/** Loads a bundled application into this process. */
import { setSourceMapsSupport } from 'node:module';
import { relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { App, makeApp } from '@freehold/app';
import type { webFilesOf } from '@freehold/app/node';
import type * as recordTools from '@freehold/app/records';
import type { Project } from '../project/project.ts';
import { type Bundle, type BundleSource, importOf } from './bundle.ts';

/** An application, and what serves it, out of the project's own packages. */
export interface LoadedApp {
  readonly app: App;
  readonly makeApp: typeof makeApp;
  readonly webFilesOf: typeof webFilesOf;
  /** Knows the records of the application alone, because it is of the same copy. */
  readonly records: typeof recordTools;
  readonly bundle: Bundle;
}

/** The port behind which code is loaded. */
export interface AppLoader {
  /** @throws what the builder's modules throw, `defineApp` among it, and TypeError without a default export. */
  load(bundle: Bundle): Promise<LoadedApp>;
}

/**
 * The module that is bundled: the application, with the `makeApp` that the project's packages resolve to, so that both
 * are of one copy.
 */
export function appSource(project: Project): BundleSource {
  const entry = importOf(project, project.entry);
  return {
    name: 'app',
    contents: [
      `import * as entry from ${entry};`,
      'export const app = entry.default;',
      "export { makeApp } from '@freehold/app';",
      "export { webFilesOf } from '@freehold/app/node';",
      "export * as records from '@freehold/app/records';",
    ].join('\n'),
  };
}

export function makeInProcessLoader({ root, entry }: Project): AppLoader {
  // Places that the application finds in a stack itself are those of the source, such as that of `unauthenticated()`.
  setSourceMapsSupport(true, { nodeModules: false, generatedCode: false });
  return {
    load: async (bundle) => {
      const loaded = (await import(pathToFileURL(bundle.path).href)) as Omit<LoadedApp, 'bundle'>;
      // Only `defineApp` makes one that has this.
      if (loaded.app?.vertical === undefined)
        throw new TypeError(
          `${relative(root, entry)} has no default export of an application: write export default defineApp(…)`,
        );
      const { app, makeApp, webFilesOf, records } = loaded;
      return { app, makeApp, webFilesOf, records, bundle };
    },
  };
}
