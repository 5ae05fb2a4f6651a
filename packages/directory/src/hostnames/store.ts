/** The claims on host names in SQL. A name may be claimed by several tenants; at most one of them holds it. */
import { PlatformError, type ScopeId, type TenantId, toTimestamp } from '@freehold/contracts';
import {
  defineTable,
  hidden,
  type Migration,
  nullable,
  type RowOf,
  revision,
  type SqlDatabase,
  text,
  time,
} from '@freehold/store';
import type { HostnameReason } from '../declarations/hostnames.ts';
import type { PreviewRef } from '../declarations/previews.ts';
import type { HostnameRecord } from '../declarations/records.ts';
import { definePages, type PageRequest } from '../lib/pages.ts';
import { challengeBody, challengeOf } from './challenge.ts';
import { rememberHolder } from './hostname-history.ts';

/** The table as it was at first; `schema.ts` makes of it what it is. */
export const hostnamesMigration: Migration = {
  version: 3,
  name: 'host names',
  sql: `
    CREATE TABLE hostnames (
      hostname TEXT PRIMARY KEY,
      tenant TEXT NOT NULL REFERENCES tenants (id),
      scope TEXT NOT NULL REFERENCES scopes (id),
      surface TEXT NOT NULL,
      status TEXT NOT NULL,
      revision INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      updated_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX hostnames_tenant ON hostnames (tenant);
    CREATE INDEX hostnames_scope ON hostnames (scope);
    CREATE INDEX hostnames_status ON hostnames (status);
  `,
};

const hostnames = defineTable('hostnames', ['claim'], {
  /** The name, a space, the tenant. */
  claim: hidden(text()),
  hostname: text(),
  tenant: text<TenantId>(),
  scope: text<ScopeId>(),
  surface: text(),
  status: text<HostnameRecord['status']>(),
  method: hidden(nullable(text<NonNullable<HostnameRecord['verification']['method']>>())),
  token: hidden(text()),
  verifiedAtMs: hidden(nullable(time())),
  checkedAtMs: hidden(nullable(time())),
  reason: hidden(nullable(text<HostnameReason>())),
  missingSinceMs: hidden(nullable(time())),
  /** See `areaOf`. */
  area: hidden(text()),
  createdAtMs: time(),
  updatedAtMs: time(),
  revision: revision(),
});
export type HostnameRow = RowOf<typeof hostnames>;

const save = hostnames.saving(
  ...(['status', 'method', 'verifiedAtMs', 'checkedAtMs', 'reason', 'missingSinceMs'] as const),
  ...(['revision', 'updatedAtMs'] as const),
);
const shown = hostnames.recording<Omit<HostnameRecord, 'verification'>>();
export const deleteHostname = hostnames.delete;

const HOLDER = `${hostnames.select} WHERE hostname = ? AND status IN ('active', 'disabled')`;
const CLAIMS = `${hostnames.select} WHERE hostname = ? ORDER BY created_at, claim`;

/** The claim that holds a name, switched on or off; undefined while none does. */
export function loadHostname(db: SqlDatabase, hostname: string): HostnameRow | undefined {
  return hostnames.first(db, HOLDER, hostname);
}

/** One tenant's claim on a name. */
export function loadClaim(db: SqlDatabase, hostname: string, tenant: string): HostnameRow | undefined {
  return hostnames.get(db, `${hostname} ${tenant}`);
}

/** Every claim on a name, the oldest first. */
export function loadClaims(db: SqlDatabase, hostname: string): HostnameRow[] {
  return hostnames.all(db, CLAIMS, hostname);
}

/** The document of the claim that has this token, or null. */
export function loadChallengeBody(
  db: SqlDatabase,
  { hostname, token }: { readonly hostname: string; readonly token: string },
): string | null {
  const row = db.get<{ token: string }>(
    'SELECT token FROM hostnames WHERE token = ? AND hostname = ?',
    token,
    hostname,
  );
  return row ? challengeBody(hostname, row.token) : null;
}

/** Saves a claim, and remembers the holder of an active one. */
export function saveHostname(db: SqlDatabase, row: HostnameRow): void {
  save(db, row);
  if (row.status === 'active') rememberHolder(db, { ...row, sinceMs: row.verifiedAtMs ?? row.updatedAtMs });
}

interface HostnameFilter extends PageRequest {
  readonly tenant?: string | undefined;
  readonly scope?: string | undefined;
  readonly status?: string | undefined;
}

export const { statement: hostnamesPage, list: listHostnames } = definePages({
  from: hostnames,
  where: ({ tenant, scope, status }: HostnameFilter) => ({ tenant, scope, status }),
  key: 'claim',
  item: hostnameOfRow,
});

/** Names in use whose proof can be looked for again, in the order of the claims. */
export const RECHECK_PAGE = `${hostnames.select} WHERE status = 'active' AND claim > ? ORDER BY claim LIMIT ?`;

export function loadForRecheck(
  db: SqlDatabase,
  { after, limit }: { readonly after: string; readonly limit: number },
): HostnameRow[] {
  return hostnames.all(db, RECHECK_PAGE, after, limit);
}

export function hostnameOfRow(row: HostnameRow): HostnameRecord {
  const at = (ms: number | null) => (ms === null ? null : toTimestamp(ms));
  return {
    ...shown(row),
    verification: {
      method: row.method,
      verifiedAt: at(row.verifiedAtMs),
      checkedAt: at(row.checkedAtMs),
      reason: row.reason,
      missingSince: at(row.missingSinceMs),
      challenge: row.method === 'platform' ? null : challengeOf(row.hostname, row.token),
    },
  };
}

/** Where one host name leads. */
export interface HostRoute {
  readonly hostname: string;
  readonly surface: string;
  readonly tenant: TenantId;
  readonly scope: ScopeId;
  readonly vertical: string;
  readonly version: string;
  /** False when tenant or scope is suspended or archived: the router answers for it. */
  readonly serving: boolean;
}

/** Where a host name leads, with the active host names that share its session, itself among them. */
export interface HostDestination extends HostRoute {
  readonly hostnames: readonly string[];
  /** Where it leads to a preview of the vertical, and not to its scope. */
  readonly preview?: PreviewRef;
}

/** A route for the router's map, without the version, which the wiring knows. */
export type StoredRoute = Omit<HostRoute, 'version'>;

const ROUTES = `SELECT h.hostname, h.surface, h.tenant, h.scope, s.vertical,
     (t.status = 'active' AND s.status = 'active') AS serving
   FROM hostnames h JOIN scopes s ON s.id = h.scope JOIN tenants t ON t.id = h.tenant
   WHERE h.status = 'active'`;

/** A request waits for this statement when its host name is not in the router's map yet. */
export const ROUTE = `${ROUTES} AND h.hostname = ?`;

interface RouteRow extends Omit<StoredRoute, 'serving'> {
  readonly serving: number;
}

export function loadRoutes(db: SqlDatabase): StoredRoute[] {
  return db.all<RouteRow>(`${ROUTES} ORDER BY h.hostname`).map(routeOfRow);
}

/** Where one name leads, or null for a name that is not active. */
export function loadRoute(db: SqlDatabase, hostname: string): StoredRoute | null {
  const row = db.get<RouteRow>(ROUTE, hostname);
  return row ? routeOfRow(row) : null;
}

/** The active host names of a scope, in no order. */
export function loadActiveHostnames(db: SqlDatabase, scope: string): string[] {
  return db.all<{ hostname: string }>(ACTIVE_HOSTNAMES, scope).map(({ hostname }) => hostname);
}

/** `+` keeps SQLite from searching by status, which most names share. */
export const ACTIVE_HOSTNAMES = `SELECT hostname FROM hostnames WHERE scope = ? AND +status = 'active'`;

function routeOfRow(row: RouteRow): StoredRoute {
  return { ...row, serving: row.serving === 1 };
}

/**
 * The claim that a call is about: without a tenant the only one, or that of the holder.
 * @throws PlatformError `not_found`; `conflict`, reason `several_claims`, when several tenants claim it and none holds it.
 */
export function requireClaim(
  db: SqlDatabase,
  { hostname, tenant }: { readonly hostname: string; readonly tenant: string | undefined },
): HostnameRow {
  const claims = tenant === undefined ? loadClaims(db, hostname) : [loadClaim(db, hostname, tenant)];
  const row = claims.length > 1 ? loadHostname(db, hostname) : claims[0];
  if (row) return row;
  if (claims.length > 1)
    throw new PlatformError('conflict', 'Several tenants claim this host name: say which is meant.', {
      reason: 'several_claims',
    });
  throw new PlatformError('not_found', 'There is no such host name.', { reason: 'unknown_hostname' });
}
