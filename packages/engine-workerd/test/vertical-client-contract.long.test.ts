/** The contract of scopes through `VerticalClient` and the mount, both inside workerd (spec D-01, D-05). */
import { abortAllDurableObjects } from 'cloudflare:test';
import { makeScopeHost, makeUnitVault, type ScopeHost } from '../../kernel/src/index.ts';
import {
  describeScopeHost,
  libraryUnit,
  libraryVaultUnit,
  makeMemoryBlobStore,
} from '../../testkit/src/scope-contract/index.ts';
import { libraryVertical, remoteHost } from '../../vertical-host/test/library-vertical.ts';
import { ahead, openScopeEngine, scopeNow } from './worker.ts';

describeScopeHost({
  name: 'VerticalClient to engine-workerd',
  isRemote: true,
  capabilities: {
    copies: ['ndjson'],
    rewind: { missing: 'the runtime keeps no history of its objects' },
    inspect: true,
    attachments: true,
  },
  open: async () => {
    const blobs = new Map<string, ReturnType<typeof makeMemoryBlobStore>>();
    const openHost = (): ScopeHost => {
      const engine = openScopeEngine();
      return makeScopeHost({
        engine,
        unit: libraryUnit,
        now: scopeNow,
        vault: makeUnitVault((tenantId) => engine.unit(libraryVaultUnit, tenantId, { create: true })),
        blobs: (scopeId) => {
          const found = blobs.get(scopeId) ?? makeMemoryBlobStore(scopeNow);
          blobs.set(scopeId, found);
          return found;
        },
      });
    };
    let present = openHost();
    const app = libraryVertical(() => present);
    const reach = { fetch: async (request: Request) => app.fetch(request) };
    return {
      host: remoteHost(present, reach),
      pass: async (ms) => {
        ahead.ms += ms;
      },
      reopen: async () => {
        await abortAllDurableObjects();
        present = openHost();
        return remoteHost(present, reach);
      },
    };
  },
});
