/** The feature of reaping: the erasure of a tenant, and the deletion of one scope. */
import { defineFeature } from '../lib/feature.ts';
import { reapScope, reapScopeMethods } from './scopes.ts';
import { reapMethods, reapTenant } from './tenants.ts';

export const reapFeature = /* @__PURE__ */ defineFeature({
  operations: [reapTenant, reapScope],
  methods: (context) => ({ ...reapMethods(context), ...reapScopeMethods(context) }),
  queries: ['scopesToErase', 'connectionsToErase', 'backupsToErase', 'connectionsLeaving'],
});
