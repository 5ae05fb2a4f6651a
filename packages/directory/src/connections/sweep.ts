/**
 * The sweep over connections (spec 6.4; design: control-plane, "Sweep"): tokens are refreshed before they expire, keys are
 * tried again once a day, and what is sealed under an old key is sealed under the present one. One line a connection.
 */
import { PlatformError } from '@freehold/contracts';
import type { ConnectionDeps } from './deps.ts';
import type { ConnectionCalls } from './host-admin-connections.ts';
import { ProviderFailure } from './provider-exchange.ts';
import type { MaintenanceRow } from './store.ts';
import type { TokenKeeper } from './token-keeper.ts';

/** What was done about one connection: the row of a sweep run. */
export interface ConnectionSweep {
  readonly connection: string;
  readonly tenant: string;
  readonly scope: string;
  readonly vertical: string;
  readonly provider: string;
  readonly outcome: 'swept' | 'skipped' | 'failed';
  /** `refreshed`, `verified`, `resealed`; `not_due`, `broken`; or why it failed. */
  readonly reason: string;
}

/** Tokens that expire within so long are refreshed; a sweep should come by more often than that. */
const REFRESH_AHEAD_MS = 10 * 60 * 1000;
/** A key is tried again so long after the provider last took it. */
const VERIFY_EVERY_MS = 24 * 60 * 60 * 1000;
const PAGE = 100;

/** Builds the sweep. It goes through every connection that has a credential, one at a time, and does not reject for any. */
export function makeConnectionSweep(
  deps: ConnectionDeps,
  keeper: TokenKeeper,
  calls: ConnectionCalls,
): () => AsyncGenerator<ConnectionSweep, void, undefined> {
  const { directory, registry, vault, now, newRequestId, publish, incident } = deps;

  const sweepOne = async (row: MaintenanceRow): Promise<Pick<ConnectionSweep, 'outcome' | 'reason'>> => {
    if (row.state !== 'active') return { outcome: 'skipped', reason: row.state };
    if (!registry.find(row.provider)) return { outcome: 'skipped', reason: 'unknown_provider' };
    const resealed = await reseal(row);
    const done = row.kind === 'api-key' ? await verify(row) : await refresh(row);
    if (done !== null) return { outcome: 'swept', reason: done };
    return resealed ? { outcome: 'swept', reason: 'resealed' } : { outcome: 'skipped', reason: 'not_due' };
  };

  const reseal = async ({ tenant, id, sealed, generation }: MaintenanceRow): Promise<boolean> => {
    const place = { tenant, connection: id };
    const again = vault.reseal(place, sealed);
    if (again === null) return false;
    return directory.resealCredential({ ...place, generation, sealed: again });
  };

  /** Null where nothing was due. */
  const refresh = async ({ tenant, id, expiresAtMs, refreshable, generation }: MaintenanceRow) => {
    const ref = { tenant, connection: id };
    if (expiresAtMs === null) return null;
    if (refreshable === 0) {
      if (expiresAtMs > now()) return null;
      await record({ ...ref, generation, reason: 'token_expired' });
      throw new ProviderFailure('refused', 'The token has expired and cannot be refreshed.');
    }
    if (expiresAtMs - now() > REFRESH_AHEAD_MS) return null;
    await keeper.refresh(await directory.connectionLoaded(ref));
    return 'refreshed';
  };

  const verify = async ({ tenant, id, verifiedAtMs }: MaintenanceRow) => {
    if (now() - verifiedAtMs < VERIFY_EVERY_MS) return null;
    const ref = { tenant, connection: id };
    const { verdict, generation } = await calls.check(await directory.connectionLoaded(ref));
    await record({ ...ref, generation, reason: verdict.taken ? null : verdict.reason });
    if (!verdict.taken) throw new ProviderFailure('refused', 'The provider does not take the key.');
    return 'verified';
  };

  const record = async (
    check: Omit<Parameters<typeof directory.recordCheck>[0], 'requestId'>,
  ): Promise<void> => {
    const { head } = await directory.recordCheck({ ...check, requestId: newRequestId() });
    if (head) await publish(head);
  };

  const failed = (error: unknown): Pick<ConnectionSweep, 'outcome' | 'reason'> => {
    if (error instanceof ProviderFailure) return { outcome: 'failed', reason: `provider_${error.fault}` };
    if (!(error instanceof PlatformError)) incident('sweep')(error);
    const reason = error instanceof PlatformError ? (error.reason ?? error.code) : 'internal';
    return { outcome: 'failed', reason };
  };

  return async function* sweep() {
    let after = '';
    for (;;) {
      const rows = await directory.connectionsForMaintenance({ after, limit: PAGE });
      for (const row of rows) {
        const { id: connection, tenant, scope, vertical, provider } = row;
        yield { connection, tenant, scope, vertical, provider, ...(await sweepOne(row).catch(failed)) };
      }
      const last = rows.at(-1);
      if (!last || rows.length < PAGE) return;
      after = last.id;
    }
  };
}
