/** Section 7 of the spec on Node: over sockets, and with the embedded engine behind them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { makeScopeHost } from '../../kernel/src/index.ts';
import { openTestEngine } from '../../testkit/src/index.ts';
import { libraryUnit, recordIncident } from '../../testkit/src/scope-contract/index.ts';
import { listen } from './mcp/listen.ts';
import { describeSectionSeven } from './section-seven.ts';

describeSectionSeven({
  name: 'engine-node, over HTTP',
  open: async (build) => {
    const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-section-seven-'));
    const engine = openTestEngine({ dataDirectory, onIncident: recordIncident });
    const host = makeScopeHost({ engine, unit: libraryUnit, now: Date.now });
    const app = build(host);
    const server = await listen((request) => app.fetch(request));
    onTestFinished(async () => {
      await server[Symbol.asyncDispose]();
      await engine.close();
      rmSync(dataDirectory, { recursive: true });
    });
    return { host, ask: (path, init) => fetch(`${server.origin}${path}`, init) };
  },
});
