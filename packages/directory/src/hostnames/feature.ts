/** What the directory's unit has of host names. */
import { defineFeature } from '../lib/feature.ts';
import { bindHostname, planUnbind, readHostnames, setHostnameStatus, unbindHostname } from './operations.ts';
import { hostnameMethods } from './recheck.ts';
import { hostnameMigrations } from './schema.ts';
import { loadChallengeBody } from './store.ts';
import { verifyHostname } from './verify.ts';

export const hostnamesFeature = defineFeature({
  operations: [readHostnames, bindHostname, setHostnameStatus, unbindHostname, verifyHostname, planUnbind],
  migrations: [hostnameMigrations],
  methods: (context) => ({
    ...hostnameMethods(context),

    hostnameChallenge: (claim: { readonly hostname: string; readonly token: string }) =>
      loadChallengeBody(context.db, claim),
  }),
  queries: ['hostnamesForRecheck', 'hostnameChallenge'],
});
