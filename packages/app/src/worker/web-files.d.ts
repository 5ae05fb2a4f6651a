/** The built pages, which `bundle.ts` puts into the worker. */
declare module 'freehold:web-files' {
  import type { WebFiles } from '@freehold/app';

  /** Undefined when they were not built. */
  export const webFiles: WebFiles | undefined;
}
