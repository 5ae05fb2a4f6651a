/** Push tokens and service tokens in SQL. Of a secret only its hash and its two ends are kept. */
import { cutPage, type Page, type TenantId, type TokenId, toTimestamp } from '@freehold/contracts';
import type { Migration, SqlDatabase } from '@freehold/store';
import { TOKEN_PREFIXES, type TokenKind } from '../access/secret.ts';
import type { PushTokenRecord } from '../declarations/records.ts';
import type { StaffRole } from '../declarations/staff.ts';
import type { ServiceTokenRecord } from '../declarations/tokens.ts';
import { type PageRequest, pageStatement, type Statement } from '../lib/pages.ts';
import { OWNERS_FROM_MAKERS } from './schema.ts';

export const tokensMigration: Migration = {
  version: 5,
  name: 'tokens',
  sql: `
    CREATE TABLE tokens (
      id TEXT PRIMARY KEY,
      kind TEXT NOT NULL,
      name TEXT NOT NULL,
      tenant TEXT REFERENCES tenants (id),
      hash TEXT NOT NULL UNIQUE,
      last4 TEXT NOT NULL,
      created_by TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      last_used_at INTEGER,
      revoked_at INTEGER,
      revision INTEGER NOT NULL,
      CHECK ((kind = 'push') = (tenant IS NOT NULL))
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX tokens_kind ON tokens (kind);
    CREATE INDEX tokens_tenant ON tokens (tenant, kind);
    CREATE INDEX tokens_name ON tokens (kind, name);
  `,
};

const COLUMNS = `id, kind, name, tenant, last4, created_by AS createdBy, owner,
  (SELECT role FROM staff WHERE staff.id = tokens.owner AND staff.tenant IS NULL) AS ownerRole, created_at AS createdAtMs,
  expires_at AS expiresAtMs, last_used_at AS lastUsedAtMs, revoked_at AS revokedAtMs, revision`;

export interface TokenRow {
  readonly id: TokenId;
  readonly kind: TokenKind;
  readonly name: string;
  /** Null exactly for a service token. */
  readonly tenant: TenantId | null;
  readonly last4: string;
  readonly createdBy: string;
  /** The member of the staff whose rights a service token has, on the roster or not; null without an owner. */
  readonly owner: string | null;
  /** The owner's role at this moment; null also for an owner who left the staff. */
  readonly ownerRole: StaffRole | null;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly lastUsedAtMs: number | null;
  readonly revokedAtMs: number | null;
  readonly revision: number;
}

export function loadToken(db: SqlDatabase, id: string): TokenRow | undefined {
  return db.get<TokenRow>(`SELECT ${COLUMNS} FROM tokens WHERE id = ?`, id);
}

/** The operator's own service token of this name that works the longest, or undefined when none works. */
export function loadWorkingServiceToken(db: SqlDatabase, name: string, nowMs: number): TokenRow | undefined {
  return db.get<TokenRow>(
    `SELECT ${COLUMNS} FROM tokens WHERE kind = 'service' AND name = ? AND owner IS NULL
       AND revoked_at IS NULL AND expires_at > ?
     ORDER BY expires_at DESC LIMIT 1`,
    name,
    nowMs,
  );
}

export function insertToken(db: SqlDatabase, row: TokenRow, hash: string): void {
  db.run(
    `INSERT INTO tokens (id, kind, name, tenant, hash, last4, created_by, owner, created_at, expires_at, last_used_at,
       revoked_at, revision)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    row.id,
    row.kind,
    row.name,
    row.tenant,
    hash,
    row.last4,
    row.createdBy,
    row.owner,
    row.createdAtMs,
    row.expiresAtMs,
    row.lastUsedAtMs,
    row.revokedAtMs,
    row.revision,
  );
}

export function revokeTokenRow(db: SqlDatabase, row: TokenRow): void {
  db.run(
    'UPDATE tokens SET revoked_at = ?, revision = ? WHERE id = ?',
    row.revokedAtMs,
    row.revision,
    row.id,
  );
}

/** Lets a token end earlier. */
export function retireTokenRow(db: SqlDatabase, row: TokenRow): void {
  db.run(
    'UPDATE tokens SET expires_at = ?, revision = ? WHERE id = ?',
    row.expiresAtMs,
    row.revision,
    row.id,
  );
}

export interface PushTokenFilter extends PageRequest {
  readonly tenant?: string | undefined;
}

export function pushTokensPage(filter: PushTokenFilter): Statement {
  return pageStatement(
    {
      select: `SELECT ${COLUMNS} FROM tokens`,
      where: { kind: 'push', tenant: filter.tenant },
      key: 'id',
      order: 'ASC',
    },
    filter,
  );
}

export function listPushTokens(db: SqlDatabase, filter: PushTokenFilter): Page<PushTokenRecord> {
  const { sql, params } = pushTokensPage(filter);
  return cutPage(db.all<TokenRow>(sql, ...params), filter.limit, (row) => row.id, pushTokenOfRow);
}

export interface ServiceTokenFilter extends PageRequest {
  readonly owner?: string | undefined;
}

export function serviceTokensPage(filter: ServiceTokenFilter): Statement {
  return pageStatement(
    {
      select: `SELECT ${COLUMNS} FROM tokens`,
      where: { kind: 'service', owner: filter.owner },
      key: 'id',
      order: 'ASC',
    },
    filter,
  );
}

export function listServiceTokens(
  db: SqlDatabase,
  filter: ServiceTokenFilter,
  nowMs: number,
): Page<ServiceTokenRecord> {
  const { sql, params } = serviceTokensPage(filter);
  const recordOf = (row: TokenRow) => serviceTokenOfRow(row, nowMs);
  return cutPage(db.all<TokenRow>(sql, ...params), filter.limit, (row) => row.id, recordOf);
}

/** Gives owners to the tokens of a backup from before owners. Without one they would be the operator's own. */
export function deriveOwners(db: SqlDatabase): void {
  db.run(OWNERS_FROM_MAKERS);
}

/** Counts the service tokens of a member that work at this moment. */
export function countWorkingTokensOf(
  db: SqlDatabase,
  { owner, nowMs }: { readonly owner: string; readonly nowMs: number },
): number {
  const counted = db.get<{ n: number }>(
    `SELECT count(*) AS n FROM tokens
     WHERE owner = ? AND kind = 'service' AND revoked_at IS NULL AND expires_at > ?`,
    owner,
    nowMs,
  );
  return counted?.n ?? 0;
}

export function serviceTokenOfRow(row: TokenRow, nowMs: number): ServiceTokenRecord {
  return { ...shownOfRow(row), owner: row.owner, role: row.ownerRole, status: statusOf(row, nowMs) };
}

function statusOf(row: TokenRow, nowMs: number): ServiceTokenRecord['status'] {
  if (row.revokedAtMs !== null) return 'revoked';
  if (row.expiresAtMs <= nowMs) return 'expired';
  return row.owner !== null && row.ownerRole === null ? 'suspended' : 'active';
}

/** @throws TypeError for a service token, which has no tenant to show. */
export function pushTokenOfRow(row: TokenRow): PushTokenRecord {
  if (row.tenant === null) throw new TypeError('a service token is not a push token');
  return { ...shownOfRow(row), tenant: row.tenant };
}

/** The shown fields of a token of either kind. */
function shownOfRow(row: TokenRow): Omit<PushTokenRecord, 'tenant'> {
  return {
    id: row.id,
    name: row.name,
    prefix: TOKEN_PREFIXES[row.kind],
    last4: row.last4,
    createdAt: toTimestamp(row.createdAtMs),
    createdBy: row.createdBy,
    expiresAt: toTimestamp(row.expiresAtMs),
    lastUsedAt: row.lastUsedAtMs === null ? null : toTimestamp(row.lastUsedAtMs),
    revokedAt: row.revokedAtMs === null ? null : toTimestamp(row.revokedAtMs),
    etag: String(row.revision),
  };
}
