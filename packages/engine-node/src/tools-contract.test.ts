/** The contract of tools on the embedded engine. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toolsContract } from '@freehold/testkit/unit-contract';
import { onTestFinished } from 'vitest';
import { type NodeEngine, openNodeEngine } from './index.ts';

toolsContract({
  name: 'engine-node',
  formats: ['sqlite', 'ndjson'],
  stopsStatements: true,
  open: async () => {
    const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-tools-'));
    const incidents: unknown[] = [];
    const open = (): NodeEngine =>
      openNodeEngine({ dataDirectory, onIncident: (error) => void incidents.push(error) });
    let engine = open();
    onTestFinished(async () => {
      await engine.close();
      rmSync(dataDirectory, { recursive: true });
    });
    return {
      engine,
      reopen: async () => {
        await engine.close();
        engine = open();
        return engine;
      },
    };
  },
});
