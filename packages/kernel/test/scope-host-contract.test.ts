/** The contract of scopes on the embedded engine (spec D-05). */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { makeNodeBlobStore, type NodeEngine } from '../../engine-node/src/index.ts';
import { openTestEngine } from '../../testkit/src/index.ts';
import {
  describeScopeHost,
  libraryUnit,
  libraryVaultUnit,
  recordIncident,
} from '../../testkit/src/scope-contract/index.ts';
import { makeScopeHost, makeUnitVault, type ScopeHost } from '../src/index.ts';

const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-scopes-'));
const clock = { ms: Date.UTC(2026, 0, 1) };
const now = (): number => clock.ms;
/** One for the whole file: opening one for every scope is most of what the suite would take. */
let engine: NodeEngine | undefined;

afterAll(async () => {
  await engine?.close();
  rmSync(dataDirectory, { recursive: true, force: true });
});

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

describeScopeHost({
  name: 'engine-node',
  capabilities: { copies: ['sqlite', 'ndjson'], rewind: true, inspect: true, attachments: true },
  open: async () => ({
    host: openHost(),
    pass: async (ms) => {
      clock.ms += ms;
    },
    reopen: async () => {
      await engine?.close();
      engine = undefined;
      return openHost();
    },
  }),
});
