/** What the directory's unit has of tenants. */
import { defineFeature } from '../lib/feature.ts';
import { createTenant, readTenant, readTenants, setTenantStatus, updateTenant } from './operations.ts';
import { reapMethods, reapTenant } from './reap.ts';
import { planTenantStatus } from './status-plan.ts';

export const tenantsFeature = defineFeature({
  operations: [
    readTenants,
    readTenant,
    createTenant,
    updateTenant,
    setTenantStatus,
    reapTenant,
    planTenantStatus,
  ],
  methods: reapMethods,
  queries: ['scopesToErase', 'connectionsToErase', 'backupsToErase'],
});
