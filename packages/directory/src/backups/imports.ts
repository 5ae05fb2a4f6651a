/**
 * Copies of scopes that are uploaded. Their bytes are stored before the directory knows a backup of them, and a crash in
 * between would leave them there for ever: so each upload is noted before its first byte, and one that never became a
 * backup is deleted. Other files of the store are never touched: they may belong to another installation.
 */
import {
  EXPORT_MEDIA_TYPES,
  type ExportFormat,
  ID_PREFIXES,
  PlatformError,
  type ScopeExport,
} from '@freehold/contracts';
import type { Migration, SqlDatabase, UnitContext, UnitStub } from '@freehold/store';
import type { AdminCall, AdminResult } from '../access/actors.ts';
import type { ChangeInput, ChangeOutcome } from '../changes/changes.ts';
import type { BackupRecord } from '../declarations/backups.ts';
import type { EffectDeps } from '../lib/effects.ts';
import type { CallOf, WiringFacts } from '../lib/handlers.ts';
import type { Performers } from '../lib/performers.ts';
import { examineCopy, presenceOf } from '../verticals/examine-copy.ts';
import { type BackupOrder, type BackupStore, openBackup, requireStore, writeBackup } from './backup-store.ts';
import type { importsCreate } from './operations.ts';
import { loadBackup } from './store.ts';

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

export const incomingMigrations = { name: 'incoming-copies', migrations: [incomingMigration] } as const;

/** An upload that takes longer counts as left by a crash: it is refused when it ends, `upload_abandoned`. */
const ABANDONED_AFTER_MS = 24 * 60 * 60 * 1000;
const PAGE = 50;

export function incomingMethods({ db, now }: UnitContext) {
  return {
    expectCopy: ({ id, address }: BackupOrder): null => {
      db.run('INSERT INTO incoming_copies (id, address, begun_at) VALUES (?, ?, ?)', id, address, now());
      return null;
    },
    forgetCopy: ({ id }: Pick<BackupOrder, 'id'>): null => {
      db.run('DELETE FROM incoming_copies WHERE id = ?', id);
      return null;
    },
    rememberedBackup: ({ id }: Pick<BackupOrder, 'id'>): BackupRecord | null => loadBackup(db, id),

    /** Gives up uploads that began long ago, and returns some of them. */
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
 * Makes a copy known, so that its bytes are not deleted any more.
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
  UnitStub<ReturnType<typeof incomingMethods>>,
  'expectCopy' | 'forgetCopy' | 'abandonCopies' | 'rememberedBackup'
>;

/** Deletes the bytes of a copy that did not become known. A copy whose caller only missed the answer keeps them. */
async function dropCopy(
  { directory, store }: { readonly directory: Directory; readonly store: BackupStore },
  { id, address }: BackupOrder,
): Promise<void> {
  if (await directory.rememberedBackup({ id })) return;
  await store.delete(address);
  await directory.forgetCopy({ id });
}

export interface ImportMaintenance {
  /** Deletes the remains of uploads of more than a day ago, and returns how many. Once a day is enough. */
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

interface ImportDeps extends Pick<EffectDeps, 'target' | 'gateway' | 'deadline'> {
  readonly directory: Directory & UnitStub<{ change(input: ChangeInput): ChangeOutcome }>;
  readonly backups: BackupStore | null;
  readonly newId: (prefix: string) => string;
  readonly factsOf: (call: AdminCall) => WiringFacts;
  /** Follows every durable change. It does not reject. */
  readonly finalize: (outcome: ChangeOutcome) => Promise<AdminResult>;
  readonly incident: (method: string) => (error: unknown) => void;
}

export function makeImports(deps: ImportDeps): Performers {
  const { directory, factsOf, finalize, incident } = deps;
  const makeKnown = async ({ call, drop }: Received): Promise<ChangeOutcome> => {
    try {
      const outcome = await directory.change({ call, facts: factsOf(call) });
      // A replay answers with the first copy.
      if (outcome.result.replayed) await drop();
      return outcome;
    } catch (error) {
      await drop().catch(incident('import'));
      throw error;
    }
  };
  return { 'imports.create': async (call) => finalize(await makeKnown(await receive(deps, call))) };
}

/** The call that makes a copy known, and the removal of its bytes where that fails. */
interface Received {
  readonly call: AdminCall;
  readonly drop: () => Promise<void>;
}

async function receive(deps: ImportDeps, call: AdminCall): Promise<Received> {
  const { target, backups, newId, directory, incident } = deps;
  const { params } = call as unknown as CallOf<typeof importsCreate>;
  const { upload } = call;
  if (!upload) throw new TypeError('an import came without its bytes');
  try {
    const store = requireStore(backups);
    const { scope } = await target(call);
    const format = formatOf(upload.mediaType);
    const id = newId(ID_PREFIXES.backup);
    const order = { id, address: `scopes/${params.scope}/${id}.${format}` };
    const copy: ScopeExport = { format, bookmark: null, body: upload.body };
    await directory.expectCopy(order);
    const written = await writeBackup(store, order, copy, { progress: () => undefined });
    const drop = (): Promise<void> => dropCopy({ directory, store }, order);
    try {
      const present = await presenceOf(deps, scope);
      await examineCopy(deps, scope, { format, body: await openBackup(store, written) }, present);
    } catch (error) {
      await drop().catch(incident('import'));
      throw error;
    }
    const { upload: _bytes, ...input } = call;
    const { id: _id, address: _address, ...about } = written;
    return { call: { ...input, body: about, stored: { id: written.id, address: written.address } }, drop };
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
