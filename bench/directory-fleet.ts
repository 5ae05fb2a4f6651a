/**
 * Directories of every size. Provisioning a million scopes would take hours, so the rows are written straight into the
 * directory's file, as `tenants.create`, `scopes.provision` and `hostnames.bind` leave them, with the indexes rebuilt
 * afterwards. The admin log gets a row for each scope.
 */
import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { canonicalJson, firstIdAt, ID_PREFIXES } from '@freehold/contracts';
import { DIRECTORY_KEY, type DirectoryHostAdmin, directoryUnit, makeHostAdmin } from '@freehold/directory';
import { type NodeEngine, openNodeEngine } from '@freehold/engine-node';
import type { ScopeHost } from '@freehold/kernel';

/** The number of scopes of one tenant. */
const SCOPES_PER_TENANT = 4;
const ROWS_PER_COMMIT = 50_000;
/** The vertical of all scopes. */
export const VERTICAL = 'bench';

/** The parameters of a fleet: enough to find each of its records again, in another process too. */
export interface FleetPlan {
  readonly dataDirectory: string;
  /** A multiple of {@link SCOPES_PER_TENANT}. */
  readonly scopes: number;
  /** The creation time of all records. */
  readonly nowMs: number;
}

/** The names of a fleet's records, each by the number of its scope. */
export interface FleetNames {
  readonly scopes: number;
  tenantOf(nth: number): string;
  scope(nth: number): string;
  hostname(nth: number): string;
}

export interface Directory {
  readonly engine: NodeEngine;
  readonly hostAdmin: DirectoryHostAdmin;
}

export type Fleet = FleetNames & Directory & { readonly plan: FleetPlan };

/** Opens an empty directory. The given host is its one vertical. */
export function openDirectory(dataDirectory: string, local: ScopeHost | null = null): Directory {
  const onIncident = (error: unknown): void => console.error(error);
  const engine = openNodeEngine({ dataDirectory, onIncident, historyMs: 0 });
  const gateway = { bound: () => null, local: (slug: string) => (slug === VERTICAL ? local : null) };
  const random = (bytes: number): Uint8Array => randomBytes(bytes);
  return { engine, hostAdmin: makeHostAdmin({ engine, gateway, onIncident, now: Date.now, random }) };
}

/** Opens a directory that was made before. */
export function openFleet(plan: FleetPlan): Fleet {
  return { ...openDirectory(plan.dataDirectory), ...namesOf(plan), plan };
}

/** Makes a directory with so many scopes, each with a host name. */
export async function makeFleet(dataDirectory: string, scopes: number): Promise<FleetPlan> {
  const empty = openDirectory(dataDirectory);
  await empty.hostAdmin.ensureServiceToken({ name: 'bench' });
  await empty.engine.close();

  const plan = { dataDirectory, scopes, nowMs: Date.now() };
  const db = new DatabaseSync(join(dataDirectory, directoryUnit.kind, `${DIRECTORY_KEY}.sqlite`));
  db.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -200000');
  const indexes = db
    .prepare(
      `SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL
       AND tbl_name IN ('tenants', 'scopes', 'hostnames', 'admin_log')`,
    )
    .all() as { name: string; sql: string }[];
  for (const { name } of indexes) db.exec(`DROP INDEX "${name}"`);
  const write = rowWriter(db, plan);
  for (let from = 0; from < scopes; from += ROWS_PER_COMMIT) {
    db.exec('BEGIN');
    for (let nth = from; nth < Math.min(from + ROWS_PER_COMMIT, scopes); nth++) write(nth);
    db.exec('COMMIT');
  }
  for (const { sql } of indexes) db.exec(sql);
  db.exec('ANALYZE; PRAGMA wal_checkpoint(TRUNCATE)');
  db.close();
  return plan;
}

function namesOf({ scopes, nowMs }: FleetPlan): FleetNames {
  const idAt = (prefix: string, nth: number): string =>
    `${firstIdAt(prefix, nowMs).slice(0, -12)}${String(nth).padStart(12, '0')}`;
  return {
    scopes,
    tenantOf: (nth) => idAt(ID_PREFIXES.tenant, Math.floor(nth / SCOPES_PER_TENANT)),
    scope: (nth) => idAt(ID_PREFIXES.scope, nth),
    hostname: (nth) => `app-${nth}.example.net`,
  };
}

/** Writes all rows of the `nth` scope. */
function rowWriter(db: DatabaseSync, plan: FleetPlan): (nth: number) => void {
  const { nowMs } = plan;
  const { tenantOf, scope, hostname } = namesOf(plan);
  const tenantRow = db.prepare(
    `INSERT INTO tenants (id, slug, name, folded_name, status, revision, created_at, updated_at)
     VALUES (?, ?, ?, ?, 'active', 1, ?, ?)`,
  );
  const scopeRow = db.prepare(
    `INSERT INTO scopes (id, tenant, slug, name, vertical, kind, status, revision, created_at, updated_at)
     VALUES (?, ?, ?, 'Main', '${VERTICAL}', 'production', 'active', 1, ?, ?)`,
  );
  const hostnameRow = db.prepare(
    `INSERT INTO hostnames (claim, hostname, tenant, scope, surface, status, method, token, verified_at, revision,
       created_at, updated_at) VALUES (?1 || ' ' || ?2, ?1, ?2, ?3, 'app', 'active', 'dns', ?1, ?4, 1, ?4, ?4)`,
  );
  const log = logWriter(db, nowMs);
  return (nth) => {
    const tenant = tenantOf(nth);
    if (nth % SCOPES_PER_TENANT === 0)
      tenantRow.run(tenant, `t-${nth}`, `Tenant ${nth}`, `tenant ${nth}`, nowMs, nowMs);
    scopeRow.run(scope(nth), tenant, `s-${nth}`, nowMs, nowMs);
    hostnameRow.run(hostname(nth), tenant, scope(nth), nowMs);
    log({ tenant, scope: scope(nth), slug: `s-${nth}` });
  };
}

/** Appends to the admin log with hashes as documented, so that verifying it also checks the documentation. */
function logWriter(db: DatabaseSync, nowMs: number) {
  const at = new Date(nowMs).toISOString();
  const head = db.prepare('SELECT sequence, hash FROM admin_log ORDER BY sequence DESC LIMIT 1').get();
  let { sequence, hash: previousHash } = head as { sequence: number; hash: string };
  const row = db.prepare(
    `INSERT INTO admin_log (sequence, at, actor_kind, actor, actor_name, request, action, tenant, scope, vertical,
       after, outcome, previous_hash, hash) VALUES (?, ?, 'service', 'svc_bench', 'bench', ?, 'scopes.provision', ?, ?,
       '${VERTICAL}', ?, 'done', ?, ?)`,
  );
  return ({
    tenant,
    scope,
    slug,
  }: {
    readonly tenant: string;
    readonly scope: string;
    readonly slug: string;
  }) => {
    sequence += 1;
    const requestId = `req_${sequence}`;
    const after = { slug, status: 'active' };
    const entry = {
      sequence,
      at,
      actor: { kind: 'service', id: 'svc_bench', name: 'bench' },
      token: null,
      requestId,
      action: 'scopes.provision',
      target: { tenant, scope, vertical: VERTICAL, other: null },
      before: null,
      after,
      outcome: 'done',
      intent: null,
      code: null,
      previousHash,
    };
    const hash = createHash('sha256')
      .update(`freehold.admin-log.v1\n${canonicalJson(entry)}`)
      .digest('hex');
    row.run(sequence, nowMs, requestId, tenant, scope, canonicalJson(after), previousHash, hash);
    previousHash = hash;
  };
}
