/** The unit contract inside workerd. */
import { abortAllDurableObjects } from 'cloudflare:test';
import { unitContract } from '@freehold/testkit/unit-contract';
import { openEngine } from './worker.ts';

unitContract({
  name: 'engine-workerd',
  open: async () => ({
    engine: openEngine(),
    reopen: async () => {
      // Harsher than a restart: the objects finish nothing.
      await abortAllDurableObjects();
      return openEngine();
    },
  }),
});
