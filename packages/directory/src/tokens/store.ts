/** Push tokens and service tokens in SQL. Of a secret only its hash and its two ends are kept. */
import type { TenantId, TokenId } from '@freehold/contracts';
import {
  computed,
  defineTable,
  hidden,
  json,
  type Migration,
  nullable,
  type RowOf,
  revision,
  type SqlDatabase,
  text,
  time,
  unread,
} from '@freehold/store';
import { TOKEN_PREFIXES, type TokenKind } from '../access/secret.ts';
import type { PushTokenRecord } from '../declarations/records.ts';
import type { StaffRole } from '../declarations/staff.ts';
import type { PushTokenKind, ServiceTokenRecord, TokenRights } from '../declarations/tokens.ts';
import { definePages, type PageRequest } from '../lib/pages.ts';
import { LINEAGES_FROM_LOG, OWNERS_FROM_MAKERS } from './schema.ts';

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

const tokens = defineTable('tokens', ['id'], {
  id: text<TokenId>(),
  kind: hidden(text<TokenKind>()),
  name: text(),
  /** Null exactly for a service token. */
  tenant: hidden(nullable(text<TenantId>())),
  /** The kind of a push token; null for a legacy one and for a service token. */
  rights: hidden(nullable(text<Exclude<PushTokenKind, 'legacy'>>())),
  verticals: hidden(nullable(json<readonly string[]>())),
  scopes: hidden(nullable(json<readonly string[]>())),
  /** The push token whose successor this is. */
  replaces: hidden(nullable(text())),
  hash: unread(text()),
  last4: text(),
  createdAtMs: time(),
  createdBy: text(),
  /** The member of the staff whose rights a service token has, on the roster or not; null without an owner. */
  owner: hidden(nullable(text())),
  /** The owner's role at this moment; null also for an owner who left the staff. */
  ownerRole: computed(
    '(SELECT role FROM staff WHERE staff.id = tokens.owner AND staff.tenant IS NULL)',
    nullable(text<StaffRole>()),
  ),
  expiresAtMs: time(),
  lastUsedAtMs: nullable(time()),
  revokedAtMs: nullable(time()),
  revision: revision(),
});
export type TokenRow = RowOf<typeof tokens>;

export const loadToken = tokens.get;
/** Lets a token end earlier. */
export const retireTokenRow = tokens.updating('expiresAtMs', 'revision');
type OfRights = 'kind' | 'verticals' | 'scopes' | 'replaces';
const shown = tokens.recording<
  Omit<PushTokenRecord, 'tenant' | 'prefix' | OfRights> & Pick<TokenRow, 'ownerRole'>
>();

export function insertToken(db: SqlDatabase, row: TokenRow, hash: string): void {
  tokens.insert(db, { ...row, hash });
}

/** The operator's own service token of this name that works the longest, or undefined when none works. */
export function loadWorkingServiceToken(db: SqlDatabase, name: string, nowMs: number): TokenRow | undefined {
  return tokens.first(
    db,
    `${tokens.select} WHERE kind = 'service' AND name = ? AND owner IS NULL
       AND revoked_at IS NULL AND expires_at > ?
     ORDER BY expires_at DESC LIMIT 1`,
    name,
    nowMs,
  );
}

export interface PushTokenFilter extends PageRequest {
  readonly tenant?: string | undefined;
  readonly kind?: PushTokenKind | undefined;
}

export const { statement: pushTokensPage, list: listPushTokens } = definePages({
  from: tokens,
  where: ({ tenant }: PushTokenFilter) => ({ kind: 'push', tenant }),
  and: ({ kind }) => (kind === undefined ? [] : [{ sql: "coalesce(rights, 'legacy') = ?", params: [kind] }]),
  key: 'id',
  item: pushTokenOfRow,
});

export interface ServiceTokenFilter extends PageRequest {
  readonly owner?: string | undefined;
}

export const { statement: serviceTokensPage, list: listServiceTokens } = definePages({
  from: tokens,
  where: ({ owner }: ServiceTokenFilter) => ({ kind: 'service', owner }),
  key: 'id',
  item: serviceTokenOfRow,
});

/** Completes the tokens of an older backup. Without an owner they would be the operator's own, without a lineage their own. */
export function completeRestoredTokens(db: SqlDatabase): void {
  db.run(OWNERS_FROM_MAKERS);
  db.run(LINEAGES_FROM_LOG);
}

/** The number of legacy push tokens that work at this moment. */
export function countLegacyPushTokens(db: SqlDatabase, nowMs: number): number {
  return db.get<{ n: number }>(LEGACY, nowMs)?.n ?? 0;
}

const LEGACY = `SELECT count(*) AS n FROM tokens
  WHERE kind = 'push' AND rights IS NULL AND revoked_at IS NULL AND expires_at > ?`;

/** The rights of a push token. */
export function rightsOfToken({ rights, verticals, scopes }: TokenRow): TokenRights {
  return { kind: rights ?? 'legacy', verticals, scopes };
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

/** The records of these push tokens that work at this moment. */
export function listPushTokensOf(db: SqlDatabase, ids: readonly string[], nowMs: number): PushTokenRecord[] {
  const rows = ids.flatMap((id) => tokens.get(db, id) ?? []);
  return rows.filter(({ expiresAtMs }) => expiresAtMs > nowMs).map(pushTokenOfRow);
}

export function serviceTokenOfRow(row: TokenRow, nowMs: number): ServiceTokenRecord {
  const { ownerRole: role, ...record } = shown(row);
  return {
    ...record,
    prefix: TOKEN_PREFIXES[row.kind],
    owner: row.owner,
    role,
    status: statusOf(row, nowMs),
  };
}

function statusOf(row: TokenRow, nowMs: number): ServiceTokenRecord['status'] {
  if (row.revokedAtMs !== null) return 'revoked';
  if (row.expiresAtMs <= nowMs) return 'expired';
  return row.owner !== null && row.ownerRole === null ? 'suspended' : 'active';
}

/** @throws TypeError for a service token, which has no tenant to show. */
export function pushTokenOfRow(row: TokenRow): PushTokenRecord {
  if (row.tenant === null) throw new TypeError('a service token is not a push token');
  const { ownerRole: _, ...record } = shown(row);
  const { kind, verticals, scopes } = rightsOfToken(row);
  return {
    ...record,
    ...{ prefix: TOKEN_PREFIXES[row.kind], tenant: row.tenant, kind },
    verticals: verticals && [...verticals],
    scopes: scopes && [...scopes],
    replaces: row.replaces,
  };
}
