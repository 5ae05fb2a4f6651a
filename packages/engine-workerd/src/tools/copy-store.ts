/**
 * Copies in an object's own key-value storage, in parts. SQL neither sees nor copies them. One part is written and
 * read at a time, so that no copy is in memory as a whole.
 */
import { PlatformError } from '@freehold/contracts';

/** The largest part: Cloudflare stores values of up to 2 MB. */
export const PART_BYTES_MAX = 1_024 * 1_024;

/** A stored copy. */
export interface StoredCopy {
  readonly id: string;
  /** `snapshot` stays until it is removed; the others are being sent or received. */
  readonly use: 'snapshot' | 'export' | 'staged';
  readonly name: string | null;
  readonly parts: number;
  readonly bytes: number;
  /** SHA-256 of its bytes, hexadecimal; empty while it is being staged. */
  readonly digest: string;
  readonly bookmark: string | null;
  readonly atMs: number;
}

const INDEX = 'freehold/copies';

export type CopyStore = ReturnType<typeof makeCopyStore>;

export function makeCopyStore(kv: SyncKvStorage) {
  const all = (): readonly StoredCopy[] => kv.get<readonly StoredCopy[]>(INDEX) ?? [];
  const partKey = (id: string, part: number): string => `freehold/copy/${id}/${part}`;

  const save = (copy: StoredCopy): void => kv.put(INDEX, [...all().filter(({ id }) => id !== copy.id), copy]);

  const drop = (id: string): void => {
    const found = all().find((copy) => copy.id === id);
    if (!found) return;
    for (let part = 0; part < found.parts; part++) kv.delete(partKey(id, part));
    kv.put(
      INDEX,
      all().filter((copy) => copy.id !== id),
    );
  };

  return {
    save,
    drop,
    find: (id: string): StoredCopy | undefined => all().find((copy) => copy.id === id),
    /** Returns the copies of one use, newest first. */
    list: (use: StoredCopy['use']): StoredCopy[] =>
      all()
        .filter((copy) => copy.use === use)
        .toReversed(),
    writePart: (id: string, part: number, bytes: Uint8Array): void => kv.put(partKey(id, part), bytes),
    /** @throws PlatformError `not_found`, reason `copy_gone`, when the transfer took too long. */
    readPart: (id: string, part: number): Uint8Array => {
      const bytes = kv.get<Uint8Array>(partKey(id, part));
      if (!bytes)
        throw new PlatformError('not_found', 'This copy is not here any more.', { reason: 'copy_gone' });
      return bytes;
    },
    /** Removes unfinished transfers from before a moment, whose reader or sender never came back. */
    sweep: (beforeMs: number): void => {
      for (const { id, use, atMs } of all()) if (use !== 'snapshot' && atMs < beforeMs) drop(id);
    },
  };
}
