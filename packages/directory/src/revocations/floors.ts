/**
 * The floors of revocations: for each kind of thing the least strict state that a restore of the directory may leave, and
 * its application to a restored state.
 *
 * Invariant: a floor never grants anything. A stricter restored state stays.
 */
import type { SqlDatabase, SqlValue } from '@freehold/store';

/** The floor of each kind of thing. Stored as JSON. */
export interface Floors {
  readonly tenant: { readonly status: string };
  readonly scope: { readonly status: string };
  readonly hostname:
    | { readonly status: 'removed' | 'taken_over' }
    | { readonly status: 'active' | 'disabled' | 'pending'; readonly scope: string | null };
  readonly identity: Removed;
  readonly entitlement:
    | Removed
    | { readonly plan: string | null; readonly quota: number | null; readonly expiresAtMs: number | null };
  readonly snapshot: Removed;
  readonly 'platform-grant': Removed;
  readonly 'connection-grant': Removed;
  readonly member: Removed;
  readonly role: Removed | { readonly permissions: readonly string[] };
  readonly 'install-block': { readonly reason: string; readonly by: string; readonly sinceMs: number };
  readonly 'version-files': Removed;
  readonly version: { readonly reviewedBy: string | null; readonly note: string | null };
  readonly listing: { readonly tier: string };
  readonly token: { readonly revoked: true };
  readonly 'token-end': { readonly expiresAtMs: number };
  readonly credential: { readonly fingerprint: string };
  readonly connection: { readonly reason: string | null };
}

type Removed = { readonly removed: true };

export type RevocationKind = keyof Floors;

/** The key of a thing, part by part. */
export type Target = readonly (string | null)[];

/** The transaction of a restore. */
export interface Reapplying {
  /** The sequence of the row that the restore ends with. */
  readonly revision: number;
  readonly nowMs: number;
}

interface Revoked<K extends RevocationKind> {
  readonly target: Target;
  readonly floor: Floors[K];
}

interface Kind<F> {
  /** Its ids are never used again, so that its floors hold for every restored state. */
  readonly permanent?: true;
  /** Returns how many rows it changed. */
  apply(db: SqlDatabase, revoked: { readonly target: Target; readonly floor: F }, at: Reapplying): number;
}

/** From the most permissive to the strictest. A status that is not listed restricts nothing. */
const STRICTNESS = {
  tenant: { update: 'tenants SET status', key: 'id', states: ['active', 'suspended', 'deleting', 'reaped'] },
  scope: {
    update: 'scopes SET status',
    key: 'id',
    states: ['provisioning', 'active', 'suspended', 'archived', 'reaped'],
  },
  listing: { update: 'verticals SET tier', key: 'slug', states: ['published', 'unlisted', 'private'] },
} as const;

/** The states that a floor replaces. */
export function weakerThan(kind: keyof typeof STRICTNESS, least: string): readonly string[] {
  const states: readonly string[] = STRICTNESS[kind].states;
  return least === 'active' ? [] : states.slice(0, Math.max(0, states.indexOf(least)));
}

export const KINDS: { readonly [K in RevocationKind]: Kind<Floors[K]> } = {
  tenant: { apply: (db, { target, floor }, at) => atLeast(db, 'tenant', target, floor.status, at) },
  scope: { apply: (db, { target, floor }, at) => atLeast(db, 'scope', target, floor.status, at) },
  listing: { apply: (db, { target, floor }, at) => atLeast(db, 'listing', target, floor.tier, at) },
  hostname: { apply: restrictHostname },
  identity: removal('tenant_identities WHERE tenant = ? AND kind = ? AND issuer = ? AND value = ?'),
  entitlement: { apply: restrictEntitlement },
  snapshot: removal('snapshots WHERE scope = ? AND id = ?'),
  'platform-grant': removal('platform_grants WHERE vertical = ? AND name = ?'),
  'connection-grant': removal('connection_grants WHERE connection = ? AND scope = ?'),
  member: { ...removal('staff WHERE id = ?'), permanent: true },
  role: { apply: restrictRole },
  'install-block': { apply: blockInstalling },
  'version-files': { apply: forgetFiles },
  version: { apply: rejectVersion },
  token: { apply: revokeToken, permanent: true },
  'token-end': { apply: endToken, permanent: true },
  credential: { apply: dropEarlierCredential },
  connection: { apply: disconnect, permanent: true },
};

function removal(rows: string): Kind<Removed> {
  return { apply: (db, { target }) => changed(db, `DELETE FROM ${rows}`, ...target) };
}

function atLeast(
  db: SqlDatabase,
  kind: keyof typeof STRICTNESS,
  [id = null]: Target,
  least: string,
  { revision, nowMs }: Reapplying,
): number {
  const weaker = weakerThan(kind, least);
  const { update, key } = STRICTNESS[kind];
  return changed(
    db,
    `UPDATE ${update} = ?, revision = ?, updated_at = ?
     WHERE ${key} = ? AND ${update.split(' ').at(-1)} IN (${weaker.map(() => '?').join(', ')})`,
    ...[least, revision, nowMs, id, ...weaker],
  );
}

/** A claim leads to the scope of the newest change, with at most its status. */
function restrictHostname(
  db: SqlDatabase,
  { target, floor }: Revoked<'hostname'>,
  { revision, nowMs }: Reapplying,
): number {
  const claim = 'hostname = ? AND tenant = ?';
  if (floor.status === 'removed') return changed(db, `DELETE FROM hostnames WHERE ${claim}`, ...target);
  const moved =
    'scope' in floor
      ? changed(db, `DELETE FROM hostnames WHERE ${claim} AND scope <> ?`, ...target, floor.scope)
      : 0;
  if (floor.status === 'active') return moved;
  const noProof = 'method = NULL, verified_at = NULL, missing_since = NULL';
  const { set, from } = {
    disabled: { set: `status = 'disabled'`, from: `('active')` },
    pending: { set: `status = 'pending', ${noProof}`, from: `('active', 'disabled')` },
    taken_over: {
      set: `status = 'failed', reason = 'taken_over', ${noProof}`,
      from: `('active', 'disabled')`,
    },
  }[floor.status];
  const update = `UPDATE hostnames SET ${set}, revision = ?, updated_at = ? WHERE ${claim} AND status IN ${from}`;
  return moved + changed(db, update, revision, nowMs, ...target);
}

/**
 * An entitlement has at most the present quota and end; null is without limit. Plans have no order: the present plan
 * counts.
 */
function restrictEntitlement(
  db: SqlDatabase,
  { target, floor }: Revoked<'entitlement'>,
  { revision, nowMs }: Reapplying,
): number {
  const [tenant = null, key = null] = target;
  if ('removed' in floor)
    return changed(db, 'DELETE FROM entitlements WHERE tenant = ? AND key = ?', tenant, key);
  return changed(
    db,
    `UPDATE entitlements SET plan = ?1, quota = coalesce(min(quota, ?2), quota, ?2),
       expires_at = coalesce(min(expires_at, ?3), expires_at, ?3), revision = ?4, updated_at = ?5
     WHERE tenant = ?6 AND key = ?7 AND (plan IS NOT ?1 OR (?2 IS NOT NULL AND (quota IS NULL OR quota > ?2))
       OR (?3 IS NOT NULL AND (expires_at IS NULL OR expires_at > ?3)))`,
    ...[floor.plan, floor.quota, floor.expiresAtMs, revision, nowMs, tenant, key],
  );
}

/** A role has at most its present permissions. */
function restrictRole(
  db: SqlDatabase,
  { target: [key = null], floor }: Revoked<'role'>,
  { revision, nowMs }: Reapplying,
): number {
  if ('removed' in floor) return changed(db, 'DELETE FROM roles WHERE key = ?', key);
  const row = db.get<{ permissions: string }>('SELECT permissions FROM roles WHERE key = ?', key);
  const held = JSON.parse(row?.permissions ?? '[]') as string[];
  const left = held.filter((permission) => floor.permissions.includes(permission));
  if (left.length === held.length) return 0;
  const update = 'UPDATE roles SET permissions = ?, revision = ?, updated_at = ? WHERE key = ?';
  return changed(db, update, JSON.stringify(left), revision, nowMs, key);
}

/** A block by the platform replaces one by the owner, because the blocker decides who may lift it. */
function blockInstalling(
  db: SqlDatabase,
  { target: [vertical = null], floor }: Revoked<'install-block'>,
  { revision }: Reapplying,
): number {
  return changed(
    db,
    `INSERT INTO install_blocks (vertical, reason, blocked_by, revision, since)
     SELECT slug, ?, ?, ?, ? FROM verticals WHERE slug = ?
     ON CONFLICT (vertical) DO UPDATE SET reason = excluded.reason, blocked_by = excluded.blocked_by,
       revision = excluded.revision WHERE blocked_by = 'owner' AND excluded.blocked_by = 'platform'`,
    ...[floor.reason, floor.by, revision, floor.sinceMs, vertical],
  );
}

/** A rejected version runs nowhere: staff promote another one, which scopes that were bound to it then run. */
function rejectVersion(
  db: SqlDatabase,
  { target: [version = null], floor }: Revoked<'version'>,
  { revision, nowMs }: Reapplying,
): number {
  const rejected = changed(
    db,
    `UPDATE vertical_versions SET status = 'rejected', reviewed_by = ?, note = ?, revision = ?, updated_at = ?
     WHERE id = ? AND status <> 'rejected'`,
    ...[floor.reviewedBy, floor.note, revision, nowMs, version],
  );
  if (rejected > 0) releaseVersion(db, version, { revision, nowMs });
  return rejected;
}

/** A version without files runs nowhere either. The runtime has none of one that was discarded since. */
function forgetFiles(
  db: SqlDatabase,
  { target: [version = null] }: Revoked<'version-files'>,
  { revision, nowMs }: Reapplying,
): number {
  const forgotten = changed(
    db,
    `UPDATE vertical_versions SET uploaded_at = NULL, revision = ?1, updated_at = ?2,
       status = iif(status = 'rejected', status, 'pending'), reviewed_by = iif(status = 'rejected', reviewed_by, NULL),
       note = iif(status = 'rejected', note, NULL)
     WHERE id = ?3 AND uploaded_at IS NOT NULL`,
    ...[revision, nowMs, version],
  );
  if (forgotten > 0) releaseVersion(db, version, { revision, nowMs });
  return forgotten;
}

/** Takes a version off prod, and off the scopes that are bound to it. */
function releaseVersion(db: SqlDatabase, version: string | null, { revision, nowMs }: Reapplying): void {
  db.run(
    `UPDATE verticals SET serving = NULL, promoted_at = NULL, promotion = ?1, revision = ?1, updated_at = ?2
     WHERE serving = ?3 AND built_in IS NOT ?3`,
    ...[revision, nowMs, version],
  );
  db.run(
    'UPDATE scope_versions SET version = NULL, snapshot = NULL, revision = ?, bound_at = ? WHERE version = ?',
    ...[revision, nowMs, version],
  );
}

function revokeToken(
  db: SqlDatabase,
  { target: [token = null] }: Revoked<'token'>,
  { revision, nowMs }: Reapplying,
): number {
  const revoke = 'UPDATE tokens SET revoked_at = ?, revision = ? WHERE id = ? AND revoked_at IS NULL';
  return changed(db, revoke, nowMs, revision, token);
}

/** A token that a rotation replaced works until the overlap ends. */
function endToken(db: SqlDatabase, { target: [token = null], floor }: Revoked<'token-end'>): number {
  const end = 'UPDATE tokens SET expires_at = ?1 WHERE id = ?2 AND expires_at > ?1';
  return changed(db, end, floor.expiresAtMs, token);
}

/** An earlier credential may be stolen. The connection ends rather than use it. */
function dropEarlierCredential(
  db: SqlDatabase,
  { target, floor }: Revoked<'credential'>,
  at: Reapplying,
): number {
  const earlier = 'DELETE FROM connection_credentials WHERE connection = ? AND fingerprint <> ?';
  if (changed(db, earlier, ...target, floor.fingerprint) === 0) return 0;
  return 1 + disconnect(db, { target, floor: { reason: null } }, at);
}

function disconnect(
  db: SqlDatabase,
  { target: [connection = null], floor }: Revoked<'connection'>,
  { revision, nowMs }: Reapplying,
): number {
  return (
    changed(db, 'DELETE FROM connection_credentials WHERE connection = ?', connection) +
    changed(db, 'DELETE FROM connection_grants WHERE connection = ?', connection) +
    changed(
      db,
      `UPDATE connections SET state = 'disconnected', reason = ?, revision = ?, updated_at = ?
       WHERE id = ? AND state <> 'disconnected'`,
      ...[floor.reason, revision, nowMs, connection],
    )
  );
}

function changed(db: SqlDatabase, sql: string, ...params: readonly SqlValue[]): number {
  return db.all(`${sql} RETURNING 1 AS changed`, ...params).length;
}
