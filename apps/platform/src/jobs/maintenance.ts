/**
 * What is done about once a day so that nothing is kept for longer than was said: history beyond its window, keys that
 * are still wrapped by a former sealing key, and what the archive has of attachments. What a scope keeps in itself, and
 * its attachments, it tidies up itself.
 */
import { PlatformError } from '@freehold/contracts';
import { DIRECTORY_KEY, directoryUnit } from '@freehold/directory';
import type { NodeEngine } from '@freehold/engine-node';
import type { VaultUnit } from '@freehold/kernel';
import type { IncidentSink, Keyring } from '@freehold/store';
import type { Fleet } from '../applications/fleet.ts';
import type { CoLocatedVertical } from '../applications/verticals.ts';
import { type FailureSink, reasonOf } from '../feeds/feeds.ts';
import type { BlobArchive } from '../storage/blob-archive.ts';
import { PLATFORM_KEY, platformUnit } from '../storage/platform-unit.ts';
import { concludeRotation } from '../storage/seal-keys.ts';

export interface MaintenanceOptions {
  readonly engine: Pick<NodeEngine, 'unit' | 'sweepHistory'>;
  readonly vaultUnit: VaultUnit;
  readonly keyring: Keyring;
  /** Null without an archive. */
  readonly blobArchive: Pick<BlobArchive, 'reconcile'> | null;
  /** By slug. */
  readonly verticals: ReadonlyMap<string, Pick<CoLocatedVertical, 'units'>>;
  readonly fleet: Fleet;
  readonly onIncident: IncidentSink;
  readonly onFailure: FailureSink;
}

/** What became of it. */
export interface TidyTotals {
  readonly steps: number;
  readonly failed: number;
}

/** How many keys or secrets of a tenant are sealed anew in one transaction. */
const RESEAL_BATCH = 200;

/**
 * Goes through everything once, one unit after the other. A failure is an incident and a failed step, and costs nobody
 * else theirs.
 */
export async function tidyUp(options: MaintenanceOptions, signal: AbortSignal): Promise<TidyTotals> {
  const { engine, vaultUnit, keyring, blobArchive, verticals, fleet, onIncident, onFailure } = options;
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
  if (isAllResealed) await attempt(PLATFORM_KEY, 'concludeRotation', () => concludeRotation(engine, keyring));
  for await (const { scope, vertical } of fleet.scopes()) {
    const known = verticals.get(vertical);
    if (!known) continue;
    await attempt(scope, 'sweepHistory', () => engine.sweepHistory(known.units.scope, scope));
  }
  await attempt('attachments', 'archive', async () => blobArchive?.reconcile(idsOf(fleet)));
  return totals;
}

/** Not everybody has everything: a tenant of whom nobody was ever asked has no directory, for example. */
function isAbsent(error: unknown): boolean {
  return error instanceof PlatformError && error.code === 'not_found';
}

/**
 * Repeats a batch, and answers whether none is left. What does not open is left as it is: when a batch got nowhere, there
 * is nothing but that.
 */
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

async function* idsOf(fleet: Fleet): AsyncIterable<string> {
  for await (const { scope } of fleet.scopes()) yield scope;
}
