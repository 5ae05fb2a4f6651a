/** Copies of scopes that come in from outside: their bytes go into the store first, and are known only after that. */
import {
  EXPORT_MEDIA_TYPES,
  type ExportFormat,
  ID_PREFIXES,
  PlatformError,
  type ScopeExport,
} from '@freehold/contracts';
import type { UnitStub } from '@freehold/store';
import type { AdminCall, AdminResult } from '../actors.ts';
import type { ChangeOutcome } from '../lib/changes.ts';
import type { EffectDeps } from '../lib/effects.ts';
import type { CallOf, WiringFacts } from '../lib/handlers.ts';
import type { Performers } from '../lib/host-admin-performers.ts';
import type { DirectoryMethods } from '../unit.ts';
import type { BackupStore } from './backup-store.ts';
import { dropCopy } from './incoming.ts';
import type { importsCreate } from './operations.ts';
import { requireStore, writeBackup } from './write-backup.ts';

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
