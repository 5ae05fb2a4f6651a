/**
 * How each thing that was taken away is taken away again, where an earlier state of the directory brings it back: the words
 * that the table of it is made of (`taken-away.ts`).
 *
 * Invariant: taking away again never gives anything. What the restored state withholds more strictly stays as strict.
 */
import { fromTimestamp } from '@freehold/contracts';
import type { SqlDatabase, SqlValue } from '@freehold/store';
import type { Fields, LoggedRow, TakingAgain, Word } from './taken-away.ts';

/** It is there again, and there is nothing to be taken. */
export function given(thing: string): Word {
  return { thing, taken: false, again: () => 0 };
}

/**
 * Its row goes.
 * @param rest what follows `DELETE FROM`.
 */
export function deleted(thing: string, rest: string, params: readonly SqlValue[]): Word {
  return { thing, taken: true, again: (db) => changed(db, `DELETE FROM ${rest}`, ...params) };
}

/** Somebody is on the roster no more. */
export function left(member: string | null): Word {
  return deleted(`member ${member}`, 'staff WHERE id = ?', [member]);
}

/** From the least that was taken to the most. A state that is not in the list shuts nobody out. */
const TENANT_STATES = ['active', 'suspended', 'deleting', 'reaped'];
const SCOPE_STATES = ['provisioning', 'active', 'suspended', 'archived', 'reaped'];

export function tenantIs(tenant: string | null, status: unknown): Word {
  return { thing: `tenant ${tenant}`, ...atLeast('tenants', tenant, status, TENANT_STATES) };
}

export function scopeIs(scope: string | null, status: unknown): Word {
  return { thing: `scope ${scope}`, ...atLeast('scopes', scope, status, SCOPE_STATES) };
}

function atLeast(
  table: 'tenants' | 'scopes',
  id: string | null,
  status: unknown,
  states: readonly string[],
): Omit<Word, 'thing'> {
  const weaker = status === 'active' ? [] : states.slice(0, Math.max(0, states.indexOf(String(status))));
  return {
    taken: weaker.length > 0,
    again: (db, { revision, nowMs }) =>
      weaker.length === 0
        ? 0
        : changed(
            db,
            `UPDATE ${table} SET status = ?, revision = ?, updated_at = ?
             WHERE id = ? AND status IN (${weaker.map(() => '?').join(', ')})`,
            ...[String(status), revision, nowMs, id, ...weaker],
          ),
  };
}

export function identity(tenant: string | null, fields: Fields): string {
  return `identity ${tenant} ${JSON.stringify(identityFields(fields))}`;
}

export function identityFields({ kind, issuer, value }: Fields): string[] {
  return [String(kind), String(issuer), typeof value === 'string' ? value : ''];
}

/** A claim leads where the newest row says, and is served no more than that says. */
export function hostnameIs({ tenant, scope, other: hostname, after }: LoggedRow): Word {
  const claim = [hostname, tenant] as const;
  return {
    thing: `hostname ${hostname} ${tenant}`,
    taken: after.status !== 'active',
    again: (db, { revision, nowMs }) => {
      const elsewhere = 'DELETE FROM hostnames WHERE hostname = ? AND tenant = ? AND scope <> ?';
      const moved = changed(db, elsewhere, ...claim, scope);
      if (after.status === 'active') return moved;
      const held = after.status === 'disabled' ? `= 'active'` : `IN ('active', 'disabled')`;
      const proof =
        after.status === 'disabled' ? '' : ', method = NULL, verified_at = NULL, missing_since = NULL';
      return (
        moved +
        changed(
          db,
          `UPDATE hostnames SET status = ?, revision = ?, updated_at = ?${proof}
           WHERE hostname = ? AND tenant = ? AND status ${held}`,
          ...[after.status === 'disabled' ? 'disabled' : 'pending', revision, nowMs, ...claim],
        )
      );
    },
  };
}

/** Another tenant proved the name. */
export function takenOver(hostname: string | null, tenant: string): Word {
  return {
    thing: `hostname ${hostname} ${tenant}`,
    taken: true,
    again: (db, { revision, nowMs }) =>
      changed(
        db,
        `UPDATE hostnames SET status = 'failed', reason = 'taken_over', method = NULL, verified_at = NULL,
           missing_since = NULL, revision = ?, updated_at = ?
         WHERE hostname = ? AND tenant = ? AND status IN ('active', 'disabled')`,
        ...[revision, nowMs, hostname, tenant],
      ),
  };
}

/** An earlier credential may be one that somebody stole: there is none rather than that one. */
export function exchanged(connection: string | null, fingerprint: unknown): Word {
  return {
    thing: `credential ${connection}`,
    taken: true,
    again: (db, at) => {
      const earlier = 'DELETE FROM connection_credentials WHERE connection = ? AND fingerprint <> ?';
      if (changed(db, earlier, connection, String(fingerprint)) === 0) return 0;
      return 1 + disconnect(db, at, connection, null);
    },
  };
}

export function disconnected(connection: string | null, reason: unknown): Word {
  return {
    thing: `connection ${connection}`,
    taken: true,
    again: (db, at) => {
      const credentials = changed(db, 'DELETE FROM connection_credentials WHERE connection = ?', connection);
      return credentials + disconnect(db, at, connection, typeof reason === 'string' ? reason : null);
    },
  };
}

/** The connections that went with a scope. */
export function erased({ connections }: Fields): string[] {
  const { disconnected: ids } = (connections ?? {}) as { readonly disconnected?: unknown };
  return Array.isArray(ids) ? ids.map(String) : [];
}

function disconnect(
  db: SqlDatabase,
  { revision, nowMs }: TakingAgain,
  connection: string | null,
  reason: string | null,
): number {
  const grants = changed(db, 'DELETE FROM connection_grants WHERE connection = ?', connection);
  return (
    grants +
    changed(
      db,
      `UPDATE connections SET state = 'disconnected', reason = ?, revision = ?, updated_at = ?
       WHERE id = ? AND state <> 'disconnected'`,
      ...[reason, revision, nowMs, connection],
    )
  );
}

/** A role holds nothing that it does not hold now. */
export function roleIs(key: string | null, before: unknown, after: unknown): Word {
  const [earlier, now] = [before, after].map((list) => (Array.isArray(list) ? list.map(String) : []));
  return {
    thing: `role ${key}`,
    taken: (earlier ?? []).some((permission) => !now?.includes(permission)),
    again: (db, { revision, nowMs }) => {
      const row = db.get<{ permissions: string }>('SELECT permissions FROM roles WHERE key = ?', key);
      const held = JSON.parse(row?.permissions ?? '[]') as string[];
      const left = held.filter((permission) => now?.includes(permission));
      if (left.length === held.length) return 0;
      const update = 'UPDATE roles SET permissions = ?, revision = ?, updated_at = ? WHERE key = ?';
      return changed(db, update, JSON.stringify(left), revision, nowMs, key);
    },
  };
}

export function platformGrant({ vertical, other }: LoggedRow): Word {
  const rest = 'platform_grants WHERE vertical = ? AND name = ?';
  return deleted(`grant ${vertical} ${other}`, rest, [vertical, other]);
}

/** Whoever blocks decides who may lift it: a block of the platform takes the place of the owner's. */
export function blocked({ vertical, at, after }: LoggedRow): Word {
  return {
    thing: `installing ${vertical}`,
    taken: true,
    again: (db, { revision }) =>
      changed(
        db,
        `INSERT INTO install_blocks (vertical, reason, blocked_by, revision, since)
         SELECT slug, ?, ?, ?, ? FROM verticals WHERE slug = ?
         ON CONFLICT (vertical) DO UPDATE SET reason = excluded.reason, blocked_by = excluded.blocked_by,
           revision = excluded.revision WHERE blocked_by = 'owner' AND excluded.blocked_by = 'platform'`,
        ...[String(after.reason), String(after.by), revision, at, vertical],
      ),
  };
}

/** What was rejected runs nowhere: staff promote another version, and scopes that were bound to it follow that. */
export function rejected({ other: version, after }: LoggedRow): Word {
  return {
    thing: `version ${version}`,
    taken: true,
    again: (db, { revision, nowMs }) => {
      const { reviewedBy, note } = after as { reviewedBy?: string | null; note?: string | null };
      const again = changed(
        db,
        `UPDATE vertical_versions SET status = 'rejected', reviewed_by = ?, note = ?, revision = ?, updated_at = ?
         WHERE id = ? AND status <> 'rejected'`,
        ...[reviewedBy ?? null, note ?? null, revision, nowMs, version],
      );
      if (again === 0) return 0;
      db.run(
        `UPDATE verticals SET serving = NULL, promoted_at = NULL, promotion = ?1, revision = ?1, updated_at = ?2
         WHERE serving = ?3 AND built_in IS NOT ?3`,
        ...[revision, nowMs, version],
      );
      db.run(
        `UPDATE scope_versions SET version = NULL, snapshot = NULL, revision = ?, bound_at = ? WHERE version = ?`,
        ...[revision, nowMs, version],
      );
      return again;
    },
  };
}

/** From the most who can find it to the fewest. */
const TIERS = ['published', 'unlisted', 'private'];

export function shownTo(vertical: string | null, tier: unknown): Word {
  const wider = TIERS.slice(0, Math.max(0, TIERS.indexOf(String(tier))));
  return {
    thing: `listing ${vertical}`,
    taken: wider.length > 0,
    again: (db, { revision, nowMs }) =>
      wider.length === 0
        ? 0
        : changed(
            db,
            `UPDATE verticals SET tier = ?, revision = ?, updated_at = ?
             WHERE slug = ? AND tier IN (${wider.map(() => '?').join(', ')})`,
            ...[String(tier), revision, nowMs, vertical, ...wider],
          ),
  };
}

export function revoked(token: string | null): Word {
  return {
    thing: `token ${token}`,
    taken: true,
    again: (db, { revision, nowMs }) =>
      changed(
        db,
        'UPDATE tokens SET revoked_at = ?, revision = ? WHERE id = ? AND revoked_at IS NULL',
        ...[nowMs, revision, token],
      ),
  };
}

/** The token that a rotation replaced works until the overlap ends. */
export function runsOut({ before, after }: LoggedRow): Word[] {
  const replaced = after.replaced as { expiresAt?: string } | undefined;
  if (typeof before.token !== 'string' || replaced?.expiresAt === undefined) return [];
  const [token, endsAtMs] = [before.token, fromTimestamp(replaced.expiresAt)];
  return [
    {
      thing: `end of ${token}`,
      taken: true,
      again: (db) =>
        changed(db, 'UPDATE tokens SET expires_at = ?1 WHERE id = ?2 AND expires_at > ?1', endsAtMs, token),
    },
  ];
}

function changed(db: SqlDatabase, sql: string, ...params: readonly SqlValue[]): number {
  return db.all(`${sql} RETURNING 1 AS changed`, ...params).length;
}
