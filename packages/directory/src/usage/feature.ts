/** What the directory's unit has of usage. What model calls cost is read by a method: the wiring adds its margin. */
import { defineFeature } from '../lib/feature.ts';
import { readMeters, usageMethods } from './operations.ts';
import { usageMigrations } from './schema.ts';

export const usageFeature = defineFeature({
  operations: [readMeters],
  migrations: [usageMigrations],
  methods: usageMethods,
  queries: ['usageVertical', 'modelUsage'],
});
