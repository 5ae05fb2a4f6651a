/** What the directory's unit has of the seats of owners. */
import { defineFeature } from '../lib/feature.ts';
import { mintOwnerClaim, mintOwnerRecovery } from './operations.ts';

export const ownerSeatFeature = defineFeature({
  operations: [mintOwnerClaim, mintOwnerRecovery],
});
