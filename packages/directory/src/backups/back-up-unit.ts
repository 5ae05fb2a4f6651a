/** One backup that the platform makes by itself, from its beginning to its end: long work like anybody's. */
import { PlatformError } from '@freehold/contracts';
import type { AdminCall, AdminResult } from '../actors.ts';
import type { OperationRecord } from '../declarations/long-work.ts';
import type { SweepUnit } from '../operations-log/recorder.ts';
import { PLATFORM } from './maintenance-expiry.ts';
import type { UnitOfBackups } from './scheduled-store.ts';

export interface UnitDeps {
  /** Begins long work. */
  readonly begin: (call: AdminCall) => Promise<AdminResult>;
  /** Performs `operations.get`. */
  readonly follow: (call: AdminCall) => Promise<AdminResult>;
  readonly newRequestId: () => string;
}

/** What is backed up: a scope, or the directory, which has none. */
export type Unit = Pick<UnitOfBackups, 'tenant' | 'scope' | 'vertical'> | null;
export type BackupResult = Pick<Extract<SweepUnit, { readonly kind: 'backup' }>, 'outcome' | 'reason'>;

/** Backs one up. Null when the platform stops meanwhile: the next process takes it up. */
export async function backUpUnit(
  deps: UnitDeps,
  unit: Unit,
  signal: AbortSignal,
): Promise<BackupResult | null> {
  const begun = await beginBackup(deps, unit);
  if ('outcome' in begun) return begun;
  const ended = await endOf(deps, begun.id, signal);
  if (!ended) return null;
  if (ended.state === 'cancelled') return { outcome: 'failed', reason: 'cancelled' };
  if (ended.state !== 'done') return { outcome: 'failed', reason: reasonOf(ended) };
  return { outcome: 'swept', reason: 'backed_up' };
}

/** What is in other hands just now, or has gone since, is passed over and looked at again. */
const PASSED_OVER: ReadonlySet<string> = new Set([
  'conflict',
  'not_found',
  'invalid_transition',
  'unsupported',
]);

async function beginBackup(deps: UnitDeps, unit: Unit): Promise<{ readonly id: string } | BackupResult> {
  try {
    const { value } = await deps.begin(callOf(deps, unit));
    return { id: (value as OperationRecord).id };
  } catch (error) {
    if (!(error instanceof PlatformError && PASSED_OVER.has(error.code))) throw error;
    return { outcome: 'skipped', reason: wordOf(error) };
  }
}

/** Waits for the end of long work, or until the platform stops: then null. */
async function endOf(deps: UnitDeps, id: string, signal: AbortSignal): Promise<OperationRecord | null> {
  const stopped = Promise.withResolvers<null>();
  const stop = (): void => stopped.resolve(null);
  signal.addEventListener('abort', stop, { once: true });
  try {
    while (!signal.aborted) {
      const looked = deps.follow({
        operation: 'operations.get',
        params: { operation: id },
        query: { wait: '60s' },
        body: {},
        actor: PLATFORM,
        requestId: deps.newRequestId(),
      });
      const record = (await Promise.race([looked, stopped.promise]))?.value as OperationRecord | undefined;
      // Nobody waits for that answer any more, whatever it is.
      if (!record) looked.catch(() => undefined);
      else if (record.finishedAt !== null) return record;
    }
    return null;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function callOf({ newRequestId }: UnitDeps, unit: Unit): AdminCall {
  return {
    operation: `${unit === null ? 'directory' : 'scope'}-backups.create`,
    params: unit === null ? {} : { tenant: unit.tenant, scope: unit.scope },
    query: {},
    body: unit === null ? {} : { format: 'ndjson' },
    actor: PLATFORM,
    requestId: newRequestId(),
  };
}

function reasonOf({ problem }: OperationRecord): string {
  return problem?.reason ?? problem?.code ?? 'unknown';
}

/** What became of it, in a word. */
export function wordOf(error: unknown): string {
  return error instanceof PlatformError ? (error.reason ?? error.code) : 'internal';
}
