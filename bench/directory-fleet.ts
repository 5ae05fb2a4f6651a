/**
 * Directories of every size. Provisioning a million scopes would take hours, so that the rows are written straight into
 * the directory's file, as `tenants.create`, `scopes.provision` and `hostnames.bind` would have left them.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { firstIdAt, ID_PREFIXES } from '@freehold/contracts';
import { DIRECTORY_KEY, type DirectoryHostAdmin, directoryUnit, makeHostAdmin } from '@freehold/directory';
import { type NodeEngine, openNodeEngine } from '@freehold/engine-node';
import type { ScopeHost } from '@freehold/kernel';

/** How many scopes one tenant has. */
const SCOPES_PER_TENANT = 4;
const ROWS_PER_COMMIT = 50_000;
/** What the scopes are instances of. */
export const VERTICAL = 'bench';

export interface Fleet {
  readonly scopes: number;
  readonly engine: NodeEngine;
  readonly hostAdmin: DirectoryHostAdmin;
  /** Of the `nth` scope. */
  tenantOf(nth: number): string;
  scope(nth: number): string;
  hostname(nth: number): string;
}

/** An empty directory. Its one vertical is whatever host is given. */
export function openDirectory(
  dataDirectory: string,
  local: ScopeHost | null = null,
): Pick<Fleet, 'engine' | 'hostAdmin'> {
  const onIncident = (error: unknown): void => console.error(error);
  const engine = openNodeEngine({ dataDirectory, onIncident, historyMs: 0 });
  const gateway = { bound: () => null, local: (slug: string) => (slug === VERTICAL ? local : null) };
  const random = (bytes: number): Uint8Array => randomBytes(bytes);
  return { engine, hostAdmin: makeHostAdmin({ engine, gateway, onIncident, now: Date.now, random }) };
}

/** Makes a directory with so many scopes, a multiple of {@link SCOPES_PER_TENANT}, each with a host name of its own. */
export async function openFleet(dataDirectory: string, scopes: number): Promise<Fleet> {
  const empty = openDirectory(dataDirectory);
  await empty.hostAdmin.ensureServiceToken({ name: 'bench' });
  await empty.engine.close();

  const nowMs = Date.now();
  const idAt = (prefix: string, nth: number): string =>
    `${firstIdAt(prefix, nowMs).slice(0, -12)}${String(nth).padStart(12, '0')}`;
  const tenantOf = (nth: number): string => idAt(ID_PREFIXES.tenant, Math.floor(nth / SCOPES_PER_TENANT));
  const scope = (nth: number): string => idAt(ID_PREFIXES.scope, nth);
  const hostname = (nth: number): string => `app-${nth}.example.net`;

  const db = new DatabaseSync(join(dataDirectory, directoryUnit.kind, `${DIRECTORY_KEY}.sqlite`));
  db.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -200000');
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
  for (let from = 0; from < scopes; from += ROWS_PER_COMMIT) {
    db.exec('BEGIN');
    for (let nth = from; nth < Math.min(from + ROWS_PER_COMMIT, scopes); nth++) {
      const tenant = tenantOf(nth);
      if (nth % SCOPES_PER_TENANT === 0)
        tenantRow.run(tenant, `t-${nth}`, `Tenant ${nth}`, `tenant ${nth}`, nowMs, nowMs);
      scopeRow.run(scope(nth), tenant, `s-${nth}`, nowMs, nowMs);
      hostnameRow.run(hostname(nth), tenant, scope(nth), nowMs);
    }
    db.exec('COMMIT');
  }
  db.exec('ANALYZE; PRAGMA wal_checkpoint(TRUNCATE)');
  db.close();
  return { ...openDirectory(dataDirectory), scopes, tenantOf, scope, hostname };
}
