/**
 * Meters of what tenants use. Requests and operations are counted in memory and added to the directory's meters each
 * minute; storage is measured once a day. The kernels of this process count the operations, whichever caller made them.
 */
import type { GaugeInput, MeterInput } from '@freehold/directory';
import type { BlobStore } from '@freehold/store';
import type { Fleet, FleetScope } from '../applications/operator.ts';
import type { ScopeActivity, TenantScope, Use } from '../network/activity.ts';
import type { JobTotals } from './runner.ts';

export interface UseMetersOptions {
  readonly activity: Pick<ScopeActivity, 'takeRequests' | 'takeInvocations'>;
  readonly add: (readings: readonly MeterInput[]) => Promise<void>;
  /** Whether a scope is billed: a test scope never is. */
  readonly isLive: (ref: TenantScope) => Promise<boolean>;
  readonly tenantOf: (ref: { readonly vertical: string; readonly scope: string }) => Promise<string>;
  /** Receives each tenant whose use is not counted, or not that of one of its scopes. */
  readonly onError: (error: unknown, meter: MeterInput['meter'], tenant: string) => void;
  /** Receives each scope whose operations are not counted, because its tenant is unknown. */
  readonly onUnknownScope: (error: unknown, scope: string) => void;
}

export interface UseMeters {
  /**
   * Adds what was counted, and returns of how many tenants. A failed addition is dropped, because charging too little is
   * better than charging twice; so is the use of a scope that may be a test scope, and of no other.
   */
  flush(): Promise<JobTotals>;
}

export function makeUseMeters(options: UseMetersOptions): UseMeters {
  const { activity, tenantOf, onUnknownScope } = options;
  return {
    flush: async () => {
      const requests = activity.takeRequests();
      const invocations: Use[] = [];
      let failed = 0;
      for (const { vertical, scope, quantity } of activity.takeInvocations()) {
        try {
          invocations.push({ tenant: await tenantOf({ vertical, scope }), scope, quantity });
        } catch (error) {
          failed += 1;
          onUnknownScope(error, scope);
        }
      }
      return sumOf([
        { done: failed, failed },
        await addUse(options, 'http.requests', requests),
        await addUse(options, 'operations.invoked', invocations),
      ]);
    },
  };
}

/** One call per tenant, so that a failure for one tenant does not lose the use of another. */
async function addUse(
  { add, isLive, onError }: UseMetersOptions,
  meter: MeterInput['meter'],
  uses: readonly Use[],
): Promise<JobTotals> {
  const failed = new Set<string>();
  const fail = (error: unknown, tenant: string): void => {
    failed.add(tenant);
    onError(error, meter, tenant);
  };
  const byTenant = Map.groupBy(uses, ({ tenant }) => tenant);
  await Promise.all(
    [...byTenant].map(async ([tenant, parts]) => {
      let quantity = 0;
      for (const use of parts) {
        try {
          if (await isLive({ tenant, scope: use.scope })) quantity += use.quantity;
        } catch (error) {
          fail(error, tenant);
        }
      }
      if (quantity > 0)
        await add([{ tenant: tenant as never, meter, quantity }]).catch((error: unknown) =>
          fail(error, tenant),
        );
    }),
  );
  return { done: byTenant.size, failed: failed.size };
}

/** Asks once for each scope: a live scope does not become a test scope. */
export function remembering(isLive: UseMetersOptions['isLive']): UseMetersOptions['isLive'] {
  const known = new Map<string, boolean>();
  return async (ref) => {
    const live = known.get(ref.scope) ?? (await isLive(ref));
    known.set(ref.scope, live);
    return live;
  };
}

/** The totals of several parts of one run. */
export function sumOf(parts: readonly JobTotals[]): JobTotals {
  return parts.reduce((sum, part) => ({ done: sum.done + part.done, failed: sum.failed + part.failed }), {
    done: 0,
    failed: 0,
  });
}

export interface StorageMeter {
  /**
   * Measures the database files and attachments of live scopes, unless all were measured today (UTC), and returns of how
   * many tenants. A later measure of a day replaces an earlier one.
   */
  measure(signal: AbortSignal): Promise<JobTotals>;
}

export interface StorageMeterOptions {
  readonly fleet: Pick<Fleet, 'scopes'>;
  /** The size of a scope's database file; null where this process has none. Opens no database. */
  readonly databaseBytes: (scope: FleetScope) => Promise<number | null>;
  readonly blobs: (scopeId: string) => Pick<BlobStore, 'list'>;
  readonly isLive: (ref: TenantScope) => Promise<boolean>;
  /** Records a tenant's figure of today. */
  readonly set: (readings: readonly GaugeInput[]) => Promise<void>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Receives each tenant that has no figure today. */
  readonly onError: (error: unknown, tenant: string) => void;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const NOTHING: JobTotals = { done: 0, failed: 0 };

export function makeStorageMeter(options: StorageMeterOptions): StorageMeter {
  let measuredDay: number | null = null;
  return {
    measure: async (signal) => {
      const day = Math.floor(options.now() / DAY_MS);
      if (day === measuredDay) return NOTHING;
      const totals = await measureAll(options, signal);
      if (!signal.aborted) measuredDay = day;
      return totals;
    },
  };
}

async function measureAll(options: StorageMeterOptions, signal: AbortSignal): Promise<JobTotals> {
  const { fleet, set, onError } = options;
  const sums = new Map<string, number>();
  // A partial sum would be a wrong figure: a tenant with one scope that cannot be measured has none today.
  const failed = new Map<string, unknown>();
  for await (const scope of fleet.scopes()) {
    if (signal.aborted) return NOTHING;
    try {
      const bytes = await bytesOf(options, scope);
      if (bytes !== null) sums.set(scope.tenant, (sums.get(scope.tenant) ?? 0) + bytes);
    } catch (error) {
      failed.set(scope.tenant, error);
    }
  }
  for (const [tenant, quantity] of sums) {
    if (failed.has(tenant)) continue;
    await set([{ tenant: tenant as never, meter: 'storage.bytes', quantity }]).catch((error: unknown) =>
      failed.set(tenant, error),
    );
  }
  for (const [tenant, error] of failed) onError(error, tenant);
  return { done: new Set([...sums.keys(), ...failed.keys()]).size, failed: failed.size };
}

/** Null for a scope that is not billed, or has no database here. */
async function bytesOf(
  { isLive, databaseBytes, blobs }: StorageMeterOptions,
  scope: FleetScope,
): Promise<number | null> {
  if (!(await isLive(scope))) return null;
  let bytes = await databaseBytes(scope);
  if (bytes === null) return null;
  for await (const blob of blobs(scope.scope).list()) bytes += blob.bytes;
  return bytes;
}
