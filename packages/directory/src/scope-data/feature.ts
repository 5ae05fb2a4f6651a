/** What the directory's unit has of the data of scopes. Reading it never comes here. */
import { defineFeature } from '../lib/feature.ts';
import { retryDeadLetter } from './retry.ts';

export const scopeDataFeature = defineFeature({
  operations: [retryDeadLetter],
});
