/** The place for backups, with somebody counting how often it fails: a copy can fail for reasons that are not its own. */
import type { BackupStore } from './backup-store.ts';
import { passThrough } from './write-backup.ts';

export interface WatchedStore {
  readonly store: BackupStore;
  /** How many calls the place itself has failed so far. A body that failed on its way there is not one. */
  readonly faults: () => number;
}

export function watchStore(store: BackupStore): WatchedStore {
  let faults = 0;
  const counting = <T>(work: Promise<T>): Promise<T> =>
    work.catch((error: unknown) => {
      faults += 1;
      throw error;
    });
  return {
    faults: () => faults,
    store: {
      put: async (address, body) => {
        let isOwn = true;
        const onError = (): void => {
          isOwn = false;
        };
        const watched = passThrough(body, { onBytes: () => undefined, onError });
        return store.put(address, watched).catch((error: unknown) => {
          if (isOwn) faults += 1;
          throw error;
        });
      },
      open: (address) => counting(store.open(address)),
      delete: (address) => counting(store.delete(address)),
      list: (prefix) => store.list(prefix),
    },
  };
}
