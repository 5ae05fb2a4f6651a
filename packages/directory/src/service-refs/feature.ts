/** What the directory's unit has of references to services. */
import { defineFeature } from '../lib/feature.ts';
import { readServiceRefs } from './operations.ts';

export const serviceRefsFeature = defineFeature({
  operations: [readServiceRefs],
});
