/** What the directory's unit has of long work as such. Its methods need the handlers of all of it: `unit.ts`. */
import { defineFeature } from '../lib/feature.ts';
import { cancelOperation, readOperation, readOperations } from './operations.ts';
import { longWorkMigrations } from './schema.ts';

export const longWorkFeature = defineFeature({
  operations: [readOperations, readOperation, cancelOperation],
  migrations: [longWorkMigrations],
});
