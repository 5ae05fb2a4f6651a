/** What the directory's unit has of the clearing of what has lapsed. */
import { defineFeature } from '../lib/feature.ts';
import { expiryMethods, expiryMigrations } from './clear.ts';

export const expiriesFeature = defineFeature({
  migrations: [expiryMigrations],
  methods: expiryMethods,
});
