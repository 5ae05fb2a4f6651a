/** The contract of scopes inside workerd (spec D-05). */
import { abortAllDurableObjects } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { makeScopeHost, makeUnitVault, type ScopeHost } from '../../kernel/src/index.ts';
import { describeScopeHost, libraryUnit, libraryVaultUnit } from '../../testkit/src/scope-contract/index.ts';
import { makeBucketBlobStore, makeR2Bucket } from '../src/index.ts';
import { ahead, openScopeEngine, scopeNow } from './worker.ts';

describeScopeHost({
  name: 'engine-workerd',
  capabilities: {
    copies: ['ndjson'],
    rewind: { missing: 'the runtime keeps no history of its objects' },
    inspect: true,
    attachments: true,
  },
  open: async () => {
    const openHost = (): ScopeHost => {
      const engine = openScopeEngine();
      return makeScopeHost({
        engine,
        unit: libraryUnit,
        now: scopeNow,
        vault: makeUnitVault((tenantId) => engine.unit(libraryVaultUnit, tenantId, { create: true })),
        blobs: (scopeId) => makeBucketBlobStore({ bucket: makeR2Bucket(env.BLOBS), scopeId, now: scopeNow }),
      });
    };
    return {
      host: openHost(),
      pass: async (ms) => {
        ahead.ms += ms;
      },
      reopen: async () => {
        await abortAllDurableObjects();
        return openHost();
      },
    };
  },
});
