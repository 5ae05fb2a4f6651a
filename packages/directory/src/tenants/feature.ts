/** What the directory's unit has of tenants. */
import { defineFeature } from '../lib/feature.ts';
import { createTenant, readTenant, readTenants, setTenantStatus, updateTenant } from './operations.ts';
import { reapMethods, reapTenant } from './reap.ts';
import { planTenantStatus } from './status-plan.ts';

export const tenantsFeature = defineFeature({
  reads: {
    'tenants.list': readTenants,
    'tenants.get': readTenant,
  },
  changes: {
    'tenants.create': createTenant,
    'tenants.update': updateTenant,
    'tenants.set-status': setTenantStatus,
  },
  long: { 'tenants.reap': reapTenant },
  plans: { 'tenants.set-status': planTenantStatus },
  methods: reapMethods,
  queries: ['scopesToErase', 'connectionsToErase', 'backupsToErase'],
});
