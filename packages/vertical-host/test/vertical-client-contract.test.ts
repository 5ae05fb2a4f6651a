/** The contract of scopes through `VerticalClient` and the mount, over sockets (spec D-01, D-05). */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getRequestListener } from '@hono/node-server';
import { afterAll, beforeAll } from 'vitest';
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

const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-remote-scopes-'));
const clock = { ms: Date.UTC(2026, 0, 1) };
const now = (): number => clock.ms;
/** One for the whole file: opening one for every scope is most of what the suite would take. */
let engine: NodeEngine | undefined;

function openHost(): ScopeHost {
  const opened = engine ?? openTestEngine({ dataDirectory, now, onIncident: recordIncident });
  engine = opened;
  return makeScopeHost({
    engine: opened,
    unit: libraryUnit,
    now,
    vault: makeUnitVault((tenantId) => opened.unit(libraryVaultUnit, tenantId, { create: true })),
    blobs: (scopeId) => makeNodeBlobStore({ dataDirectory, scopeId, now }),
  });
}

const app = libraryVertical(openHost);
const server = createServer(getRequestListener(app.fetch));
let baseUrl: string;

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await engine?.close();
  rmSync(dataDirectory, { recursive: true, force: true });
});

describeScopeHost({
  name: 'VerticalClient over HTTP to engine-node',
  isRemote: true,
  capabilities: { copies: ['sqlite', 'ndjson'], rewind: true, inspect: true, attachments: true },
  open: async () => ({
    host: remoteHost(openHost(), { baseUrl }),
    pass: async (ms) => {
      clock.ms += ms;
    },
    reopen: async () => {
      await engine?.close();
      engine = undefined;
      return remoteHost(openHost(), { baseUrl });
    },
  }),
});
