/** What the directory's unit has of the migrations of the fleet. */
import { defineFeature } from '../lib/feature.ts';
import { fleetMethods, migrateFleet } from './operations.ts';
import { fleetMigrationSet } from './schema.ts';

export const fleetFeature = defineFeature({
  operations: [migrateFleet],
  migrations: [fleetMigrationSet],
  methods: fleetMethods,
  queries: ['fleetVerticals', 'fleetCounts', 'migrationWave'],
});
