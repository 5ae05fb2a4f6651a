/** The directory's part that remembers revocations for its restores. */
import { defineFeature } from '../lib/feature.ts';
import { revocationMigrations } from './store.ts';

export const revocationsFeature = defineFeature({ migrations: [revocationMigrations] });
