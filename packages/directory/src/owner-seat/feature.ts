/** What the directory's unit has of the seats of owners. */
import { defineFeature } from '../lib/feature.ts';
import { mintOwnerClaim, mintOwnerRecovery } from './operations.ts';

export const ownerSeatFeature = defineFeature({
  delegated: {
    'owner-claim.mint': mintOwnerClaim,
    'owner-recovery.mint': mintOwnerRecovery,
  },
});
