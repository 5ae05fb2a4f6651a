/** What the directory's unit has of the secrets that verticals sign sessions with. */
import { defineFeature } from '../lib/feature.ts';
import { planRotation, rotateSessionSecret } from './operations.ts';

export const sessionSecretFeature = defineFeature({
  delegated: { 'session-secret.rotate': rotateSessionSecret },
  plans: { 'session-secret.rotate': planRotation },
});
