/** What the directory's unit has of the secrets that verticals sign sessions with. */
import { defineFeature } from '../lib/feature.ts';
import { planRotation, rotateSessionSecret } from './operations.ts';

export const sessionSecretFeature = defineFeature({
  operations: [rotateSessionSecret, planRotation],
});
