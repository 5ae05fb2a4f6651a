/**
 * Daily maintenance: removes history beyond its window, reseals keys and secrets that are sealed under a former key, and
 * reconciles the archive of attachments. A scope maintains its own tables and attachments itself.
 */
import { PlatformError } from '@freehold/contracts';
import { DIRECTORY_KEY, directoryUnit, type VerticalSecrets } from '@freehold/directory';
import type { NodeEngine } from '@freehold/engine-node';
import type { VaultUnit } from '@freehold/kernel';
import type { IncidentSink, Keyring } from '@freehold/store';
import type { Fleet } from '../applications/operator.ts';
import type { CoLocatedVertical } from '../applications/verticals.ts';
import { type FailureSink, reasonOf } from '../feeds/feeds.ts';
import type { BlobArchive } from '../storage/blob-archive.ts';
import { PLATFORM_KEY, platformUnit } from '../storage/platform-unit.ts';
import { finalizeRotation } from '../storage/seal-keys.ts';

export interface MaintenanceOptions {
  readonly engine: Pick<NodeEngine, 'unit' | 'sweepHistory'>;
  readonly vaultUnit: VaultUnit;
  readonly keyring: Keyring;
  /** The secrets of builders. */
  readonly secrets: Pick<VerticalSecrets, 'resealSecrets'>;
  /** Null without an archive. */
  readonly blobArchive: Pick<BlobArchive, 'reconcile'> | null;
  /** By slug. */
  readonly verticals: ReadonlyMap<string, Pick<CoLocatedVertical, 'units'>>;
  readonly fleet: Fleet;
  readonly onIncident: IncidentSink;
  readonly onFailure: FailureSink;
}

export interface TidyTotals {
  readonly steps: number;
  readonly failed: number;
}

/** Keys or secrets of a tenant that are resealed in one transaction. */
const RESEAL_BATCH = 200;

/** Maintains everything once, one unit after the other. A failed step is an incident, and the others go on. */
export async function tidyUp(options: MaintenanceOptions, signal: AbortSignal): Promise<TidyTotals> {
  const { engine, vaultUnit, keyring, secrets, blobArchive, verticals, fleet, onIncident, onFailure } =
    options;
  const totals = { steps: 0, failed: 0 };
  const attempt = async (key: string, method: string, work: () => Promise<unknown>): Promise<void> => {
    if (signal.aborted) return;
    totals.steps += 1;
    try {
      await work();
    } catch (error) {
      if (isAbsent(error) || signal.aborted) return;
      totals.failed += 1;
      onIncident(error, { kind: 'platform', key, method });
      const detail = `The step ${method} of the daily tidying up did not work.`;
      onFailure({ operation: 'maintenance', subject: `${method} ${key}`, reason: reasonOf(error), detail });
    }
  };

  await attempt(DIRECTORY_KEY, 'sweepHistory', () => engine.sweepHistory(directoryUnit, DIRECTORY_KEY));
  await attempt(PLATFORM_KEY, 'sweepHistory', () => engine.sweepHistory(platformUnit, PLATFORM_KEY));
  let isAllResealed = true;
  const reseal = async (batch: () => Promise<{ left: number }>): Promise<void> => {
    try {
      if (!(await untilNoneIsLeft(batch, signal))) isAllResealed = false;
    } catch (error) {
      if (!isAbsent(error)) isAllResealed = false;
      throw error;
    }
  };
  await attempt(DIRECTORY_KEY, 'resealVerticalSecrets', () => reseal(() => secrets.resealSecrets()));
  const identities = new Set([...verticals.values()].map(({ units }) => units.identity));
  for await (const tenant of fleet.tenants()) {
    for (const identity of identities) {
      await attempt(tenant, 'sweepHistory', () => engine.sweepHistory(identity, tenant));
      await attempt(tenant, 'resealSecrets', () =>
        reseal(() => engine.unit(identity, tenant).resealSecrets({ limit: RESEAL_BATCH })),
      );
    }
    await attempt(tenant, 'reseal', () =>
      reseal(() => engine.unit(vaultUnit, tenant).reseal({ limit: RESEAL_BATCH })),
    );
  }
  if (isAllResealed) await attempt(PLATFORM_KEY, 'finalizeRotation', () => finalizeRotation(engine, keyring));
  for await (const { scope, vertical } of fleet.scopes()) {
    const known = verticals.get(vertical);
    if (!known) continue;
    await attempt(scope, 'sweepHistory', () => engine.sweepHistory(known.units.scope, scope));
  }
  await attempt('attachments', 'archive', async () => blobArchive?.reconcile(scopeIdsOf(fleet)));
  return totals;
}

/** Not every tenant has every unit: one without sign-ins has no identity directory, for example. */
function isAbsent(error: unknown): boolean {
  return error instanceof PlatformError && error.code === 'not_found';
}

/** Repeats a batch; returns whether none is left. A batch without progress holds only values that do not open. */
async function untilNoneIsLeft(
  batch: () => Promise<{ left: number }>,
  signal: AbortSignal,
): Promise<boolean> {
  for (let before = Number.POSITIVE_INFINITY; !signal.aborted; ) {
    const { left } = await batch();
    if (left === 0 || left >= before) return left === 0;
    before = left;
  }
  return false;
}

/** The ids of all scopes. */
export async function* scopeIdsOf(fleet: Fleet): AsyncIterable<string> {
  for await (const { scope } of fleet.scopes()) yield scope;
}
