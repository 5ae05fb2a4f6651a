/** The contract of scopes through `VerticalClient` and the mount, over sockets (spec D-01, D-05). */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getRequestListener } from '@hono/node-server';
import { onTestFinished } from 'vitest';
import { makeNodeBlobStore, type NodeEngine } from '../../engine-node/src/index.ts';
import { makeScopeHost, makeUnitVault, type ScopeHost } from '../../kernel/src/index.ts';
import { openTestEngine } from '../../testkit/src/index.ts';
import {
  describeScopeHost,
  libraryUnit,
  libraryVaultUnit,
  recordIncident,
} from '../../testkit/src/scope-contract/index.ts';
import { libraryVertical, remoteHost } from './library-vertical.ts';

describeScopeHost({
  name: 'VerticalClient over HTTP to engine-node',
  capabilities: { copies: ['sqlite', 'ndjson'], rewind: true, inspect: true, attachments: true },
  open: async () => {
    const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-remote-scopes-'));
    const clock = { ms: Date.UTC(2026, 0, 1) };
    const now = (): number => clock.ms;
    let engine: NodeEngine;
    const openHost = (): ScopeHost => {
      engine = openTestEngine({ dataDirectory, now, onIncident: recordIncident });
      return makeScopeHost({
        engine,
        unit: libraryUnit,
        now,
        vault: makeUnitVault((tenantId) => engine.unit(libraryVaultUnit, tenantId, { create: true })),
        blobs: (scopeId) => makeNodeBlobStore({ dataDirectory, scopeId, now }),
      });
    };
    let present = openHost();
    const app = libraryVertical(() => present);
    const server = createServer(getRequestListener(app.fetch));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    onTestFinished(async () => {
      server.closeAllConnections();
      server.close();
      await engine.close();
      rmSync(dataDirectory, { recursive: true, force: true });
    });
    return {
      host: remoteHost(present, { baseUrl }),
      pass: async (ms) => {
        clock.ms += ms;
      },
      reopen: async () => {
        await engine.close();
        present = openHost();
        return remoteHost(present, { baseUrl });
      },
    };
  },
});
