/** What the directory's unit has of the erasure of people. */
import { defineFeature } from '../lib/feature.ts';
import { shredSubject } from './operations.ts';
import { planErasure } from './plan.ts';
import { erasureMigrations } from './schema.ts';

export const erasureFeature = defineFeature({
  operations: [shredSubject, planErasure],
  migrations: [erasureMigrations],
});
