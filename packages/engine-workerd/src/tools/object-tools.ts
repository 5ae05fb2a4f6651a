/**
 * The tools of a unit on the object's side: one method for each request of the caller's side. Those that pause are run while
 * the object takes no other call; the others are synchronous, but for those of history.
 */
import { PlatformError } from '@freehold/contracts';
import {
  type InspectRequest,
  type InspectResult,
  type SqlRow,
  type UnitDefinition,
  type UnitSnapshot,
  unknownUnit,
} from '@freehold/store';
import { durableDatabase } from '../lib/durable-database.ts';
import { pause } from '../lib/pauses.ts';
import { rolledBackLater } from '../lib/rolled-back.ts';
import { type AdmitStep, type Judge, takeJudge } from './admission.ts';
import { makeCopyStore, PART_BYTES_MAX, type StoredCopy } from './copy-store.ts';
import { dump } from './dump.ts';
import { inspect } from './inspect.ts';
import { type Loaded, load, takeIn } from './load.ts';
import { type PresentReading, readPresent, requireReadings } from './present.ts';
import { copyDamaged, copyForeign, unitHasNoCopies } from './refusals.ts';
import { expectedSchema, migrateAll, requireSchema, takeDown } from './schema.ts';

/** The parts of the tools. */
export interface ObjectToolParts {
  readonly storage: DurableObjectStorage;
  readonly definition: Pick<UnitDefinition, 'kind' | 'migrations' | 'copies' | 'admit'>;
  readonly key: string;
  readonly copyBytesMax: number;
  readonly now: () => number;
}

/** The time after which an unfinished transfer of a copy is removed. */
const UNFINISHED_KEPT_MS = 3_600_000;
/** The number of copies in transfer at once: each takes the space of the unit once more. */
const UNFINISHED_MAX = 8;

export type ObjectTools = ReturnType<typeof makeObjectTools>;

export function makeObjectTools({ storage, definition, key, copyBytesMax, now }: ObjectToolParts) {
  const { kind } = definition;
  const store = makeCopyStore(storage);

  /** @throws PlatformError `not_found`, reason `unknown_unit`. */
  const requireUnit = (): void => {
    const journal = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '_spine_migrations'";
    if (storage.sql.exec(journal).toArray().length === 0) throw unknownUnit(kind);
  };

  const requireCopied = (): void => {
    if (definition.copies !== undefined && definition.copies !== 'full') throw unitHasNoCopies(kind);
  };
  /** @throws PlatformError `unsupported`, reason `unit_has_no_copies`; and as {@link requireUnit}. */
  const requireCopies = (): void => {
    requireCopied();
    requireUnit();
  };

  /** Removes old transfers, and refuses a new one when too many are running. */
  const admitUnfinished = (): void => {
    store.sweep(now() - UNFINISHED_KEPT_MS);
    if (store.list('export').length + store.list('staged').length < UNFINISHED_MAX) return;
    throw new PlatformError('unavailable', 'Too many copies are in transfer here. Try again in a moment.', {
      reason: 'too_many_copies',
      headers: { 'retry-after': '60' },
    });
  };

  const snapshotOf = ({ id, name, bytes, digest, bookmark, atMs }: StoredCopy): UnitSnapshot => ({
    id,
    name,
    bytes,
    digest,
    bookmark,
    atMs,
  });

  const requireSnapshot = (id: string): StoredCopy => {
    requireCopies();
    const found = store.find(id);
    if (found?.use === 'snapshot') return found;
    throw new PlatformError('not_found', 'There is no such snapshot.', { reason: 'unknown_snapshot' });
  };

  const stagedParts = function* (id: string): Generator<Uint8Array> {
    const staged = store.find(id);
    if (staged?.use !== 'staged') throw new TypeError('nothing is staged under this id');
    for (let part = 0; part < staged.parts; part++) {
      yield store.readPart(id, part);
      store.dropPart(id, part);
    }
  };

  /** Writes a copy under an id. */
  const write = async <T extends Pick<StoredCopy, 'id' | 'use' | 'name' | 'bookmark' | 'atMs'>>(
    copy: T,
  ): Promise<StoredCopy> => {
    try {
      return await dump(storage.sql, store, copy, { kind, key, bytesMax: copyBytesMax });
    } catch (error) {
      storage.transactionSync(() => store.drop(copy.id));
      throw error;
    }
  };

  /** Replaces everything by a staged copy. Call it in a transaction in which no other work of the object writes. */
  const replace = async (id: string, judge: Judge): Promise<{ loaded: Loaded; rows: readonly SqlRow[] }> => {
    const { sql } = storage;
    const taken = store.find(id)?.taken;
    if (!taken) throw new TypeError('a copy is taken in before it is loaded');
    sql.exec('PRAGMA defer_foreign_keys = on');
    takeDown(sql);
    const expected = expectedSchema(storage, definition, now());
    const loaded = await load(sql, id, taken);
    const staged = durableDatabase(storage, null);
    try {
      migrateAll(storage, definition, now());
    } catch (error) {
      throw error instanceof PlatformError
        ? copyForeign('it cannot be migrated to the present version', error)
        : error;
    }
    requireSchema(sql, expected, definition);
    requireReferences(sql);
    definition.admit?.(staged, key);
    const rows = takeJudge(staged, judge);
    requireReferences(sql);
    sql.exec('PRAGMA defer_foreign_keys = off');
    return { loaded, rows };
  };

  return {
    /** Writes a copy of this moment. The reader fetches it part by part, and drops it at the end. */
    copy: async ({ id, bookmark }: { readonly id: string; readonly bookmark: string | null }) => {
      requireCopies();
      admitUnfinished();
      return write({ id, use: 'export', name: null, bookmark, atMs: now() });
    },

    snapshot: async (named: {
      readonly id: string;
      readonly name: string | null;
      readonly bookmark: string | null;
    }): Promise<UnitSnapshot> => {
      requireCopies();
      if (store.find(named.id))
        throw new PlatformError('conflict', 'There is already a snapshot of this id.', {
          reason: 'snapshot_exists',
        });
      return snapshotOf(await write({ ...named, use: 'snapshot', atMs: now() }));
    },
    snapshots: (): UnitSnapshot[] => {
      requireCopies();
      return store.list('snapshot').map(snapshotOf);
    },
    findSnapshot: ({ id }: { readonly id: string }): StoredCopy => requireSnapshot(id),
    removeSnapshot: ({ id }: { readonly id: string }): void => {
      requireSnapshot(id);
      storage.transactionSync(() => store.drop(id));
    },

    readPart: ({ id, part }: { readonly id: string; readonly part: number }): Uint8Array =>
      store.readPart(id, part),
    /** Drops a copy in transfer, with pauses. A snapshot is none. */
    drop: async ({ id }: { readonly id: string }): Promise<void> => {
      if (store.find(id)?.use === 'snapshot') return;
      while (storage.transactionSync(() => store.dropSome(id))) await pause();
    },

    /** Stores the next part of a copy that is to be restored. */
    stage: ({
      id,
      part,
      bytes,
    }: {
      readonly id: string;
      readonly part: number;
      readonly bytes: Uint8Array;
    }): void => {
      requireCopied();
      const before = store.find(id);
      if (!before) admitUnfinished();
      if (
        part !== (before?.parts ?? 0) ||
        (before && (before.use !== 'staged' || before.taken)) ||
        bytes.length > PART_BYTES_MAX
      )
        throw new TypeError('the parts of a copy come one after the other');
      const total = (before?.bytes ?? 0) + bytes.length;
      if (total > copyBytesMax) throw tooLarge(copyBytesMax);
      storage.transactionSync(() => {
        store.writePart(id, part, bytes);
        store.save({
          id,
          use: 'staged',
          name: null,
          parts: part + 1,
          bytes: total,
          digest: '',
          bookmark: null,
          atMs: before?.atMs ?? now(),
        });
      });
    },
    /** Verifies that a staged copy is whole, and takes its rows in. It is loaded only then. */
    takeIn: async ({ id }: { readonly id: string }): Promise<void> => {
      const taken = await takeIn(storage.sql, stagedParts(id), { id, kind });
      const staged = store.find(id);
      if (staged) store.save({ ...staged, taken });
    },
    /** Lets a judge decide about a staged copy, or read it. Nothing of it stays. */
    judge: async ({
      id,
      judge,
    }: {
      readonly id: string;
      readonly judge: Judge;
    }): Promise<{ readonly loaded: Loaded; readonly rows: readonly SqlRow[] }> => {
      requireCopied();
      return rolledBackLater(storage, () => replace(id, judge));
    },
    /** Returns the rows of a reading of the present state. */
    readPresent: ({ step }: { readonly step: AdmitStep }): readonly SqlRow[] => {
      requireCopies();
      return readPresent(durableDatabase(storage, null), step);
    },
    /** @throws PlatformError `conflict`, reason `present_changed`. */
    requireReadings: (readings: readonly PresentReading[]): void =>
      requireReadings(durableDatabase(storage, null), readings),
    /** @param present what the caller's check of the present state read. */
    restore: async ({
      id,
      judge,
      present = [],
    }: {
      readonly id: string;
      readonly judge: Judge;
      readonly present?: readonly PresentReading[];
    }): Promise<Loaded> => {
      requireCopied();
      return storage.transaction(async () => {
        requireReadings(durableDatabase(storage, null), present);
        return (await replace(id, judge)).loaded;
      });
    },

    inspect: (request: InspectRequest): InspectResult => {
      requireCopies();
      return inspect(storage, request, now);
    },

    requireCopies,
    /** The same for a copy that comes in: there may be no unit yet, or none any more. */
    requireCopied,
  };
}

/** Each row was inserted a moment ago, so that only the deferred foreign keys can be wrong. */
function requireReferences(sql: SqlStorage): void {
  if (sql.exec('PRAGMA foreign_key_check').toArray().length > 0)
    throw copyDamaged('rows of it refer to rows that are missing');
}

function tooLarge(bytesMax: number): PlatformError {
  return new PlatformError(
    'payload_too_large',
    `A copy that is restored here has at most ${Math.floor(bytesMax / 1_024 / 1_024)} MiB.`,
    { reason: 'copy_too_large' },
  );
}
