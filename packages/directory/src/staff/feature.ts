/** What the directory's unit has of the roster. */
import { defineFeature } from '../lib/feature.ts';
import { deviceMigrations } from './devices-schema.ts';
import {
  putMember,
  readMember,
  readStaff,
  readStaffTokens,
  removeMember,
  revokeStaffToken,
} from './operations.ts';
import { planRemoval } from './removal-plan.ts';
import { staffMigrations } from './schema.ts';
import { staffMethods } from './unit-methods.ts';

export const staffFeature = defineFeature({
  operations: [
    readStaff,
    readMember,
    readStaffTokens,
    putMember,
    removeMember,
    revokeStaffToken,
    planRemoval,
  ],
  migrations: [staffMigrations, deviceMigrations],
  methods: staffMethods,
  queries: ['staffSession', 'staffToken'],
});
