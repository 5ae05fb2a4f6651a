import {
  EXPORT_MEDIA_TYPES,
  type ExportFormat,
  ID_PREFIXES,
  PlatformError,
  type ScopeExport,
} from '@freehold/contracts';
import type { Migration, SqlDatabase, UnitContext, UnitStub } from '@freehold/store';
import type { AdminCall, AdminResult } from '../actors.ts';
import type { ChangeOutcome } from '../lib/changes.ts';
import type { EffectDeps } from '../lib/effects.ts';
import type { CallOf, WiringFacts } from '../lib/handlers.ts';
import type { Performers } from '../lib/host-admin-performers.ts';
import type { DirectoryMethods } from '../unit.ts';
import { type BackupOrder, type BackupStore, requireStore, writeBackup } from './backup-store.ts';
import type { importsCreate } from './operations.ts';

/**
 * Copies that are on their way in from outside. Their bytes are in the store before the directory knows a backup of them,
 * and a crash in between would leave them there for ever: so each one is noted before its first byte, and what was noted
 * and never became known is deleted. Nothing else in the store is: it may be all that is left of another installation.
 */

const incomingMigration: Migration = {
  version: 1,
  name: 'copies on their way in',
  sql: `
    CREATE TABLE incoming_copies (
      id TEXT PRIMARY KEY,
      address TEXT NOT NULL,
      begun_at INTEGER NOT NULL,
      -- 1 once its bytes are being deleted: it cannot become known any more.
      abandoned INTEGER NOT NULL DEFAULT 0
    ) STRICT, WITHOUT ROWID;
  `,
};

/** The set that the directory applies after that of the backups. */
export const incomingMigrations = { name: 'incoming-copies', migrations: [incomingMigration] } as const;

/** An upload that takes longer is taken for one that a crash left: it is refused when it ends, `upload_abandoned`. */
const ABANDONED_AFTER_MS = 24 * 60 * 60 * 1000;
const PAGE = 50;

/** The methods of the unit. */
export function incomingMethods({ db, now }: UnitContext) {
  return {
    expectCopy: ({ id, address }: BackupOrder): null => {
      db.run('INSERT INTO incoming_copies (id, address, begun_at) VALUES (?, ?, ?)', id, address, now());
      return null;
    },
    /** Its bytes are gone. */
    forgetCopy: ({ id }: Pick<BackupOrder, 'id'>): null => {
      db.run('DELETE FROM incoming_copies WHERE id = ?', id);
      return null;
    },
    /** Gives up those that were begun long ago, and answers some of them. */
    abandonCopies: (): readonly BackupOrder[] => {
      db.run('UPDATE incoming_copies SET abandoned = 1 WHERE begun_at <= ?', now() - ABANDONED_AFTER_MS);
      return db.all<BackupOrder & Record<string, string>>(
        'SELECT id, address FROM incoming_copies WHERE abandoned = 1 ORDER BY id LIMIT ?',
        PAGE,
      );
    },
  };
}

/**
 * A copy becomes known: its bytes are nobody's to delete any more.
 * @throws PlatformError `unavailable`, reason `upload_abandoned`, when they are being deleted already.
 */
export function receiveCopy(db: SqlDatabase, id: string): void {
  const row = db.get<{ abandoned: number }>('SELECT abandoned FROM incoming_copies WHERE id = ?', id);
  if (row?.abandoned !== 0)
    throw new PlatformError('unavailable', 'This upload took too long. Begin it anew.', {
      reason: 'upload_abandoned',
    });
  db.run('DELETE FROM incoming_copies WHERE id = ?', id);
}

type Directory = Pick<
  UnitStub<DirectoryMethods>,
  'expectCopy' | 'forgetCopy' | 'abandonCopies' | 'rememberedBackup'
>;

/**
 * Deletes the bytes of a copy that did not become known. One that did, though nobody heard of it, keeps them.
 */
export async function dropCopy(
  { directory, store }: { readonly directory: Directory; readonly store: BackupStore },
  { id, address }: BackupOrder,
): Promise<void> {
  if (await directory.rememberedBackup({ id })) return;
  await store.delete(address);
  await directory.forgetCopy({ id });
}

export interface ImportMaintenance {
  /** Deletes what uploads of more than a day ago have left behind, and answers how many. A day apart is enough. */
  clearAbandoned(): Promise<number>;
}

export function makeImportMaintenance(directory: Directory, store: BackupStore | null): ImportMaintenance {
  return {
    clearAbandoned: async () => {
      let cleared = 0;
      if (store === null) return cleared;
      for (;;) {
        const copies = await directory.abandonCopies();
        if (copies.length === 0) return cleared;
        for (const copy of copies) {
          await store.delete(copy.address);
          await directory.forgetCopy(copy);
        }
        cleared += copies.length;
      }
    },
  };
}

/** Copies of scopes that come in from outside: their bytes go into the store first, and are known only after that. */

export interface ImportDeps extends Pick<EffectDeps, 'target'> {
  readonly directory: UnitStub<DirectoryMethods>;
  readonly backups: BackupStore | null;
  readonly newId: (prefix: string) => string;
  readonly factsOf: (call: AdminCall) => WiringFacts;
  /** What follows every durable change. It does not reject. */
  readonly finalize: (outcome: ChangeOutcome) => Promise<AdminResult>;
  readonly incident: (method: string) => (error: unknown) => void;
}

export function makeImports(deps: ImportDeps): Performers {
  const { directory, factsOf, finalize, incident } = deps;
  const keep = async ({ call, drop }: Received): Promise<ChangeOutcome> => {
    try {
      const outcome = await directory.change({ call, facts: factsOf(call) });
      // A replay names the copy that came first.
      if (outcome.result.replayed) await drop();
      return outcome;
    } catch (error) {
      await drop().catch(incident('import'));
      throw error;
    }
  };
  return { 'imports.create': async (call) => finalize(await keep(await receive(deps, call))) };
}

/** The call that makes a copy known, and what takes its bytes away where that fails. */
interface Received {
  readonly call: AdminCall;
  readonly drop: () => Promise<void>;
}

async function receive(
  { target, backups, newId, directory }: ImportDeps,
  call: AdminCall,
): Promise<Received> {
  const { params } = call as unknown as CallOf<typeof importsCreate>;
  const { upload } = call;
  if (!upload) throw new TypeError('an import came without its bytes');
  try {
    const store = requireStore(backups);
    await target(call);
    const format = formatOf(upload.mediaType);
    const id = newId(ID_PREFIXES.backup);
    const order = { id, address: `scopes/${params.scope}/${id}.${format}` };
    const copy: ScopeExport = { format, bookmark: null, body: upload.body };
    await directory.expectCopy(order);
    const written = await writeBackup(store, order, copy, { progress: () => undefined });
    const { upload: _bytes, ...input } = call;
    const { id: _id, address: _address, ...about } = written;
    return {
      call: { ...input, body: about, stored: { id: written.id, address: written.address } },
      drop: () => dropCopy({ directory, store }, order),
    };
  } finally {
    await upload.body.cancel().catch(() => undefined);
  }
}

function formatOf(mediaType: string): ExportFormat {
  const formats = Object.keys(EXPORT_MEDIA_TYPES) as ExportFormat[];
  const format = formats.find((each) => EXPORT_MEDIA_TYPES[each] === mediaType);
  if (format) return format;
  throw new PlatformError('unsupported_media_type', 'An export is of another media type.');
}
