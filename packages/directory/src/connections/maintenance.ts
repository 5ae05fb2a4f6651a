/**
 * The platform's own work on connections: refreshing tokens before they expire, verifying keys once a day, and sealing
 * credentials under the present key (spec 6.4; design: control-plane, "Sweep"). A change of state is written to the admin
 * log; a refresh changes no record, and is written to the connection's activity only.
 */
import { PlatformError } from '@freehold/contracts';
import type { SqlDatabase, UnitContext } from '@freehold/store';
import { appendAdminLog, logHead } from '../audit/admin-log.ts';
import type { ConnectionReason } from '../declarations/connections.ts';
import type { LogHead } from '../declarations/records.ts';
import { isLeased } from '../lib/lease.ts';
import type { ConnectionSweep } from '../operations-log/recorder.ts';
import { loadScope } from '../scopes/store.ts';
import { loadTenant } from '../tenants/store.ts';
import { auditFields, note, takeStep, targetOf } from './connection-record.ts';
import type { SealedCredential } from './credential.ts';
import type { ConnectionCalls } from './host-admin-connections.ts';
import { ProviderFailure } from './provider-exchange.ts';
import {
  type ConnectionRef,
  type ConnectionRow,
  type CredentialRow,
  hasGrantIn,
  loadCredential,
  type MaintenanceRow,
  needsRefresh,
  replaceSeal,
  requireConnection,
  saveConnection,
  saveCredential,
  setRefreshing,
} from './store.ts';
import type { ConnectionDeps, TokenKeeper } from './token-keeper.ts';

/** The lease of a refresh: longer than a provider may take to answer. */
const REFRESH_LEASE_MS = 60_000;

/** The actor of the platform's own changes in the log. */
const PLATFORM = { kind: 'system', id: 'connections', name: "The platform's own upkeep" } as const;

/** A connection with its present credential. */
export interface Loaded {
  readonly connection: ConnectionRow;
  readonly credential: CredentialRow;
}

/** One credential of a connection: work on an earlier generation must not change a later one. */
export interface CredentialRef extends ConnectionRef {
  readonly generation: number;
}

/** @throws PlatformError `not_found`; `conflict`, reason `connection_not_live`, without a credential. */
export function loadLoaded(db: SqlDatabase, ref: ConnectionRef): Loaded {
  const connection = requireConnection(db, ref);
  const credential = loadCredential(db, connection.id);
  if (!credential) throw notLive(connection);
  return { connection, credential };
}

/**
 * The same for a use of the credential.
 * @throws PlatformError also `conflict`, reason `connection_not_live`, while the connection or its tenant is not active.
 */
export function loadForUse(db: SqlDatabase, ref: ConnectionRef): Loaded {
  const loaded = loadLoaded(db, ref);
  if (loaded.connection.state === 'active' && loadTenant(db, ref.tenant)?.status === 'active') return loaded;
  throw notLive(loaded.connection);
}

/**
 * The gate that every delegated call passes (spec 4.4): the connection is active, and may act in the scope.
 * @throws PlatformError `not_found`; `conflict`, reason `connection_not_live`; `forbidden`, reason `not_granted`.
 */
export function requireLive(db: SqlDatabase, ref: ConnectionRef & { readonly scope: string }): ConnectionRow {
  const connection = requireConnection(db, ref);
  if (connection.state !== 'active') throw notLive(connection);
  const scope = loadScope(db, ref);
  if (
    scope?.status !== 'active' ||
    scope.vertical !== connection.vertical ||
    loadTenant(db, ref.tenant)?.status !== 'active' ||
    !hasGrantIn(db, connection.id, ref.scope)
  )
    throw new PlatformError('forbidden', 'This connection may not act in this scope.', {
      reason: 'not_granted',
    });
  return connection;
}

/** Takes the lease of the refresh. False: another process has it, or the credential was replaced. */
export function beginRefresh(context: UnitContext, ref: CredentialRef): boolean {
  const { db } = context;
  const credential = currentCredential(db, ref);
  const nowMs = context.now();
  if (!credential || isLeased(credential.refreshingUntilMs, nowMs, REFRESH_LEASE_MS)) return false;
  setRefreshing(db, ref.connection, nowMs + REFRESH_LEASE_MS);
  return true;
}

/** The end of a refresh. `failed`: the provider could not be asked, and nothing is known. */
export type RefreshEnd =
  | {
      readonly outcome: 'refreshed';
      readonly credential: SealedCredential;
      readonly scopes: readonly string[] | null;
    }
  | { readonly outcome: 'refused'; readonly reason: ConnectionReason }
  | { readonly outcome: 'failed' };

/** The credential after a refresh or a check. */
export interface Ended {
  /** The generation of the present credential; null when the refresh or check was about an earlier one. */
  readonly generation: number | null;
  /** The log's new head, when a row was written. */
  readonly head: LogHead | null;
}

/** The credential was replaced or destroyed meanwhile: nothing is written down. */
const SUPERSEDED: Ended = { generation: null, head: null };

/** Ends the lease and writes the result down; nothing when the credential was replaced or destroyed. */
export function endRefresh(
  context: UnitContext,
  { end, requestId, ...ref }: CredentialRef & { readonly end: RefreshEnd; readonly requestId: string },
): Ended {
  const { db } = context;
  const { generation } = ref;
  if (!currentCredential(db, ref)) return SUPERSEDED;
  setRefreshing(db, ref.connection, 0);
  const connection = requireConnection(db, ref);
  if (end.outcome === 'failed') return { generation, head: null };
  if (end.outcome === 'refused')
    return { generation, head: becomeBroken(context, connection, end.reason, requestId) };
  saveCredential(db, connection.id, end.credential, context.now());
  note(context, { connection: connection.id, kind: 'refreshed', by: PLATFORM.id });
  const scopes = end.scopes === null ? connection.scopes : [...end.scopes];
  return { generation: generation + 1, head: becomeActive(context, { ...connection, scopes }, requestId) };
}

/** Writes down a provider's answer when the platform asked by itself. */
export function recordCheck(
  context: UnitContext,
  {
    reason,
    requestId,
    ...ref
  }: CredentialRef & { readonly reason: ConnectionReason | null; readonly requestId: string },
): Ended {
  const { db } = context;
  if (!currentCredential(db, ref)) return SUPERSEDED;
  const connection = requireConnection(db, ref);
  const head =
    reason === null
      ? becomeActive(context, connection, requestId)
      : becomeBroken(context, connection, reason, requestId);
  return { generation: ref.generation, head };
}

/** Stores the same credential under another key, unless it was replaced meanwhile. */
export function resealCredential(
  context: UnitContext,
  { sealed, ...ref }: CredentialRef & { readonly sealed: string },
): boolean {
  if (!currentCredential(context.db, ref)) return false;
  replaceSeal(context.db, ref.connection, sealed);
  return true;
}

/** The credential of this generation, or undefined when it is there no more. */
function currentCredential(db: SqlDatabase, ref: CredentialRef): CredentialRow | undefined {
  const credential = loadCredential(db, ref.connection);
  return credential?.generation === ref.generation ? credential : undefined;
}

function becomeActive(context: UnitContext, row: ConnectionRow, requestId: string): LogHead | null {
  if (row.state !== 'active')
    return logged(context, row, { state: 'active', reason: null, verified: true }, requestId);
  // The provider has just accepted it. Like a token's last use, that makes no new version of the record.
  saveConnection(context.db, { ...row, verifiedAtMs: context.now() });
  return null;
}

function becomeBroken(
  context: UnitContext,
  row: ConnectionRow,
  reason: ConnectionReason,
  requestId: string,
): LogHead | null {
  if (row.state !== 'active') return null;
  note(context, { connection: row.id, kind: 'broken', reason, by: PLATFORM.id });
  return logged(context, row, { state: 'broken', reason, verified: false }, requestId);
}

function logged(
  context: UnitContext,
  before: ConnectionRow,
  step: Omit<Parameters<typeof takeStep>[2], 'revision'>,
  requestId: string,
): LogHead {
  const revision = (logHead(context.db)?.sequence ?? 0) + 1;
  const after = takeStep(context, before, { ...step, revision });
  return appendAdminLog(
    context,
    { actor: PLATFORM, token: null, requestId, action: 'connections.upkeep' },
    { target: targetOf(after), before: auditFields(before), after: auditFields(after), outcome: 'done' },
  );
}

function notLive(row: ConnectionRow): PlatformError {
  const why = row.state === 'active' ? 'belongs to a tenant that is not active' : `is ${row.state}`;
  return new PlatformError('conflict', `This connection ${why}.`, { reason: 'connection_not_live' });
}

type SweepResult = Pick<ConnectionSweep, 'outcome' | 'reason'>;

/** Tokens that expire within this time are refreshed; a sweep should run more often than that. */
const REFRESH_AHEAD_MS = 10 * 60 * 1000;
/** The time after which a key that the provider accepted is tried again. */
const VERIFY_EVERY_MS = 24 * 60 * 60 * 1000;
const PAGE = 100;

/** Builds the sweep over every connection that has a credential, one at a time. It rejects for none of them. */
export function makeConnectionSweep(
  deps: ConnectionDeps,
  keeper: TokenKeeper,
  calls: ConnectionCalls,
): () => AsyncGenerator<ConnectionSweep, void, undefined> {
  const { directory, registry, vault, now, newRequestId, publish, incident } = deps;

  const sweepOne = async (row: MaintenanceRow): Promise<SweepResult> => {
    if (row.state !== 'active') return { outcome: 'skipped', reason: row.state };
    if (!registry.find(row.provider)) return { outcome: 'skipped', reason: 'unknown_provider' };
    const resealed = await resealStale(row);
    const done = row.kind === 'api-key' ? await verify(row) : await refresh(row);
    if (done !== null) return { outcome: 'swept', reason: done };
    return resealed ? { outcome: 'swept', reason: 'resealed' } : { outcome: 'skipped', reason: 'not_due' };
  };

  const resealStale = async ({ tenant, id, sealed, generation }: MaintenanceRow): Promise<boolean> => {
    const place = { tenant, connection: id };
    const again = vault.reseal(place, sealed);
    return again !== null && directory.resealCredential({ ...place, generation, sealed: again });
  };

  /** Null where nothing was due. */
  const refresh = async (row: MaintenanceRow) => {
    const { tenant, id, expiresAtMs, refreshable, generation } = row;
    const ref = { tenant, connection: id };
    if (expiresAtMs === null) return null;
    if (refreshable === 0) {
      if (expiresAtMs > now()) return null;
      await record({ ...ref, generation, reason: 'token_expired' });
      throw new ProviderFailure('refused', 'The token has expired and cannot be refreshed.');
    }
    if (!needsRefresh(row, now(), REFRESH_AHEAD_MS)) return null;
    await keeper.refresh(await directory.connectionLoaded(ref));
    return 'refreshed';
  };

  /** Null where nothing was due. */
  const verify = async ({ tenant, id, verifiedAtMs }: MaintenanceRow) => {
    const elapsedMs = now() - verifiedAtMs;
    // A time ahead is of a clock that was, and proves no recent check.
    if (elapsedMs >= 0 && elapsedMs < VERIFY_EVERY_MS) return null;
    const ref = { tenant, connection: id };
    const { verdict, generation } = await calls.check(await directory.connectionLoaded(ref));
    await record({ ...ref, generation, reason: verdict.taken ? null : verdict.reason });
    if (!verdict.taken) throw new ProviderFailure('refused', 'The provider does not take the key.');
    return 'verified';
  };

  const record = async (check: CredentialRef & { readonly reason: ConnectionReason | null }) => {
    const { head } = await directory.recordCheck({ ...check, requestId: newRequestId() });
    if (head) await publish(head);
  };

  const failed = (error: unknown): SweepResult => {
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
