/** The contract of tools inside workerd. */
import { abortAllDurableObjects, reset } from 'cloudflare:test';
import { toolsContract } from '@freehold/testkit/unit-contract';
import { openEngine } from './worker.ts';

toolsContract({
  name: 'engine-workerd',
  formats: ['ndjson'],
  stopsStatements: 'SQLite in a Durable Object cannot be interrupted; what might not end is not begun',
  open: async () => {
    await reset();
    return {
      engine: openEngine(),
      reopen: async () => {
        await abortAllDurableObjects();
        return openEngine();
      },
    };
  },
});
