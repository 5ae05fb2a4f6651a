/** Acme Notes, declared. Sign-in, the team, history, files and pages come with it. */
import { defineApp, unauthenticated } from '@freehold/app';
import { manifest } from './manifest.ts';
import { migrations } from './migrations.ts';
import { noteOperations } from './notes.ts';

export default defineApp({
  manifest,
  migrations,
  operations: { ...noteOperations },
  // Built by `npm run build`, and by `npm run web` again on each save.
  web: './web/dist',
  // The team, the account, invites, the log and settings keep their pages.
  suppliedPages: true,
  // Everything under /api answers 401 until this is signedIn(), from the same package.
  authenticatedPrincipal: unauthenticated(),
});
