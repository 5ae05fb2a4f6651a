/** What the directory's unit has of the operations log. */
import { defineFeature } from '../lib/feature.ts';
import { operationsLogMethods, readOpsFailures, readSweepRuns } from './operations.ts';
import { operationsLogMigrations } from './schema.ts';

export const operationsLogFeature = defineFeature({
  operations: [readOpsFailures, readSweepRuns],
  migrations: [operationsLogMigrations],
  methods: operationsLogMethods,
});
