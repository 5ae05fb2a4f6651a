/** The unit contract on the embedded engine. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Engine } from '@freehold/store';
import { recordIncident, unitContract } from '@freehold/testkit/unit-contract';
import { onTestFinished } from 'vitest';
import { openNodeEngine } from './index.ts';

unitContract({
  name: 'engine-node',
  open: async () => {
    const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-contract-'));
    let engine: Engine = openNodeEngine({ dataDirectory, onIncident: recordIncident });
    onTestFinished(async () => {
      await engine.close();
      rmSync(dataDirectory, { recursive: true });
    });
    return {
      engine,
      reopen: async () => {
        await engine.close();
        engine = openNodeEngine({ dataDirectory, onIncident: recordIncident });
        return engine;
      },
    };
  },
});
