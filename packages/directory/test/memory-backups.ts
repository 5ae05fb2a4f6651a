/** A place for backups in memory, with faults on demand. */
import { PlatformError } from '@freehold/contracts';
import type { BackupStore } from '../src/backups/backup-store.ts';

export interface MemoryBackups extends BackupStore {
  /** The bytes as text, by address. A test may change them. */
  readonly stored: Map<string, string>;
  /** When set, the next calls of this name fail. */
  fault: 'put' | 'open' | 'delete' | null;
  /** When set, called before a `put` takes its first byte. */
  beforePut: (() => Promise<void>) | null;
}

export function makeMemoryBackups(): MemoryBackups {
  const stored = new Map<string, string>();
  const check = (name: MemoryBackups['fault']): void => {
    if (store.fault === name) throw new PlatformError('unavailable', 'The disk is full.');
  };
  const store: MemoryBackups = {
    stored,
    fault: null,
    beforePut: null,
    put: async (address, body) => {
      await store.beforePut?.();
      const text = await new Response(body).text();
      check('put');
      stored.set(address, text);
      return { address, bytes: text.length };
    },
    open: async (address) => {
      check('open');
      const text = stored.get(address);
      return text === undefined ? null : new Response(text).body;
    },
    delete: async (address) => {
      check('delete');
      stored.delete(address);
    },
    list: async function* list(prefix) {
      for (const [address, text] of stored)
        if (address.startsWith(prefix)) yield { address, bytes: text.length };
    },
  };
  return store;
}
