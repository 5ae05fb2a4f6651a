/** The contract of blobs on a file system, and on the store of the environments under test. */
import { mkdtempSync, rmSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BlobStore } from '@freehold/store';
import { describeBlobStore } from '@freehold/testkit/unit-contract';
import { afterAll } from 'vitest';
import { makeNodeBlobStore } from '../../engine-node/src/index.ts';
import { makeMemoryBlobStore } from '../../testkit/src/scope-contract/index.ts';

const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-blobs-'));
afterAll(() => rmSync(dataDirectory, { recursive: true, force: true }));

describeBlobStore({
  name: 'a file system',
  store: (scopeId) => makeNodeBlobStore({ dataDirectory, scopeId, now: Date.now }),
  damage: async (scopeId, digest) => {
    const path = join(dataDirectory, 'blobs', scopeId, digest.slice(0, 2), digest);
    const bytes = await readFile(path);
    bytes[0] = (bytes[0] ?? 0) ^ 1;
    await writeFile(path, bytes);
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
