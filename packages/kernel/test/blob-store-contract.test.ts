/** The contract of blobs on a file system, and on the store of the environments under test. */
import { mkdtempSync, rmSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BlobStore } from '@freehold/store';
import { describeBlobStore } from '@freehold/testkit/unit-contract';
import { afterAll } from 'vitest';
import { makeNodeBlobStore } from '../../engine-node/src/index.ts';
import { makeMemoryBlobStore } from '../../testkit/src/scope-contract/index.ts';

const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-blobs-'));
afterAll(() => rmSync(dataDirectory, { recursive: true, force: true }));

const pathOf = (scopeId: string, digest: string) =>
  join(dataDirectory, 'blobs', scopeId, digest.slice(0, 2), digest);

describeBlobStore({
  name: 'a file system',
  store: (scopeId) => makeNodeBlobStore({ dataDirectory, scopeId, now: Date.now }),
  behind: {
    damage: async (scopeId, digest, at) => {
      const bytes = await readFile(pathOf(scopeId, digest));
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      await writeFile(pathOf(scopeId, digest), bytes);
    },
    dropChunks: (scopeId, digest) => rm(`${pathOf(scopeId, digest)}.chunks`, { force: true }),
  },
});

const memory = new Map<string, BlobStore>();
describeBlobStore({
  name: 'memory',
  store: (scopeId) => {
    const found = memory.get(scopeId) ?? makeMemoryBlobStore(Date.now);
    memory.set(scopeId, found);
    return found;
  },
});
