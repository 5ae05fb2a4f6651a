/** The names of a tenant that stay after a reap, and the states that keep a reap from beginning (requirement C-03). */
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { openRounds } from '../../test/consent-round.ts';
import { makeKeyProvider } from '../../test/key-provider.ts';
import { makeMemoryBackups } from '../../test/memory-backups.ts';
import { openPlatform, type Platform, refusal, STAFF } from '../../test/platform.ts';
import { admitted, makeRuntimeDouble, manifestOf } from '../../test/registry.ts';
import { staffMember } from '../../test/staff.ts';
import type { OperationRecord, ScopeRecord, TenantRecord } from '../admin-operations.ts';
import type { TenantReapPlan } from '../declarations/tenants.ts';
import { directoryUnit } from '../unit.ts';

const setStatus = (platform: Platform, tenant: string, status: string) =>
  platform.call('tenants.set-status', { params: { tenant }, body: { status } });
const reap = (platform: Platform, tenant: string, more = {}) =>
  platform.call('tenants.reap', { params: { tenant }, body: {}, ...more });

/** Tombstones, revoked tokens, what happened, what is billed, and answers that are repeated for a day. */
const STAYS = [
  // The floor that says that it was reaped.
  'revocations',
  ...['tenants', 'scopes', 'tokens', 'admin_log', 'access_log', 'operations', 'operation_steps', 'erasures'],
  ...['ops_failures', 'sweep_runs', 'idempotency_keys'],
  ...['meter_days', 'model_usage_lines', 'model_usage_days'],
  // The former owner of a name is known for as long as another tenant could claim it.
  'hostname_holders',
];

/** The tables that say of each row whose tenant's, or which scope's, it is. */
const OWNED = (() => {
  const database = new DatabaseSync(':memory:');
  for (const { migrations } of directoryUnit.migrations) for (const { sql } of migrations) database.exec(sql);
  return database
    .prepare(
      `SELECT DISTINCT m.name FROM sqlite_schema m, pragma_table_info(m.name) c
       WHERE m.type = 'table' AND c.name IN ('tenant', 'scope') ORDER BY m.name`,
    )
    .all()
    .map(({ name }) => String(name));
})();

/** The tables in which some column of some row is this id. */
async function tablesNaming(platform: Platform, id: string): Promise<string[]> {
  const found: string[] = [];
  await platform.tamper((database) => {
    const tables = database
      .prepare(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name",
      )
      .all();
    for (const { name } of tables)
      if (
        database
          .prepare(`SELECT * FROM "${name}"`)
          .all()
          .some((row) => Object.values(row).some((value) => typeof value === 'string' && value.includes(id)))
      )
        found.push(String(name));
  });
  return found;
}

async function furnished() {
  const platform = await openPlatform({
    backups: makeMemoryBackups(),
    runtime: makeRuntimeDouble(),
    connections: makeKeyProvider().options,
  });
  const { id: tenant } = await platform.tenant('acme');
  const scope = await platform.scope(tenant);
  const params = { tenant };
  await platform.hostname(scope, 'acme.localhost');
  await platform.call('push-tokens.create', { body: { name: 'ci', tenant } });
  const { id: connection } = await platform.value<{ id: string }>('connections.create', {
    params,
    body: { provider: 'ledger', scope: scope.id, subjectRef: 'books', apiKey: 'key-of-acme-1' },
  });
  await platform.call('connection-grants.put', {
    params: { ...params, connection },
    body: { scope: scope.id, permission: 'order.read' },
  });
  await platform.call('identities.add', {
    params,
    body: { kind: 'organization', issuer: 'https://login.example.com', value: 'acme' },
  });
  await platform.call('entitlements.put', { params: { ...params, key: 'seats' }, body: { quota: 5 } });
  await platform.call('snapshots.take', { params: { ...params, scope: scope.id }, body: {} });
  await staffMember(platform, { login: 'of-acme', role: 'builder', tenant });
  await platform.finish(
    platform.call('scope-backups.create', { params: { ...params, scope: scope.id }, body: {} }),
  );
  await platform.call('verticals.create', { body: { slug: 'fieldwork', name: 'Fieldwork' } });
  await admitted(platform, 'fieldwork', '1.0.0');
  await platform.call('scope-version.set', {
    params: { ...params, scope: scope.id },
    body: { version: '1.0.0' },
  });
  await platform.finish(platform.call('fleet-migrations.run', { body: {} }));
  await platform.call('previews.create', {
    params: { slug: 'fieldwork' },
    body: {
      scope: scope.id,
      manifest: manifestOf('fieldwork', '2.0.0'),
      modules: [{ name: 'main.js', mediaType: 'application/javascript+module', base64: btoa('0') }],
    },
  });
  await platform.tamper((database) => {
    database.prepare("INSERT INTO hostname_attempts VALUES (?, 'acme.example.org', 1, 1)").run(tenant);
    database
      .prepare('INSERT INTO role_outbox (scope, due_at) VALUES (?, 1) ON CONFLICT DO NOTHING')
      .run(scope.id);
    database
      .prepare(
        `INSERT INTO connect_rounds (id, state_hash, tenant, scope, vertical, provider, created_by, subject_ref,
           return_url, expires_at, ended_at) VALUES ('rnd_1', 'h', ?, ?, 'fieldwork', 'ledger', 'p', 's', 'u', 1, NULL)`,
      )
      .run(tenant, scope.id);
    database
      .prepare(
        'INSERT INTO entitlement_outbox (scope, tenant, due_at) VALUES (?, ?, 1) ON CONFLICT DO NOTHING',
      )
      .run(scope.id, tenant);
  });
  return { platform, tenant, scope };
}

test('C-03: after a reap nothing but tombstones, logs and bills names the tenant, or a scope of it', async () => {
  const { platform, tenant, scope } = await furnished();
  const named = async () =>
    new Set([...(await tablesNaming(platform, tenant)), ...(await tablesNaming(platform, scope.id))]);
  const before = await named();
  // Every table that could keep something of a tenant does, so that none is forgotten below.
  expect(OWNED.filter((name) => !STAYS.includes(name) && !before.has(name))).toEqual([]);
  await setStatus(platform, tenant, 'deleting');
  expect(await platform.finish(reap(platform, tenant))).toMatchObject({ state: 'done' });
  expect([...(await named())].filter((name) => !STAYS.includes(name))).toEqual([]);
  const floors = platform.look((database) =>
    database
      .prepare("SELECT DISTINCT kind FROM revocations WHERE target || floor LIKE '%' || ? || '%'")
      .all(tenant),
  );
  expect(floors).toEqual([{ kind: 'tenant' }]);
}, 30_000);

describe('C-03: a reap does not begin', () => {
  test('while other work on something of the tenant goes on, and says which', async () => {
    const backups = makeMemoryBackups();
    const platform = await openPlatform({ backups });
    const { id: tenant } = await platform.tenant('acme');
    const scope: ScopeRecord = await platform.scope(tenant);
    const other = await platform.scope((await platform.tenant('globex')).id);
    const held = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    backups.beforePut = async () => {
      reached.resolve();
      await held.promise;
    };
    const backUp = async ({ tenant: of, id }: ScopeRecord) =>
      (
        await platform.call('scope-backups.create', {
          params: { tenant: of, scope: id },
          body: {},
          as: STAFF,
        })
      ).value as OperationRecord;
    const running = await backUp(scope);
    await reached.promise;
    await setStatus(platform, tenant, 'deleting');
    const rows = await platform.adminLog();
    const refused = await refusal(reap(platform, tenant));
    expect(refused).toMatchObject({ status: 409, code: 'conflict', reason: 'operation_running' });
    expect(refused.message).toContain(running.id);
    expect(await platform.adminLog()).toEqual(rows);

    held.resolve();
    const wait = { params: { operation: running.id }, query: { wait: '60s' } };
    expect(await platform.value('operations.get', wait)).toMatchObject({ state: 'done' });
    // Work of another tenant does not matter.
    const still = Promise.withResolvers<void>();
    backups.beforePut = () => still.promise;
    const theirs = await backUp(other);
    expect(await platform.finish(reap(platform, tenant, { body: { backup: false } }))).toMatchObject({
      state: 'done',
    });
    still.resolve();
    await platform.finish(Promise.resolve({ status: 202, value: theirs, replayed: false }));
  });

  test('on a tag of before, and nor is its plan told', async () => {
    const platform = await openPlatform();
    const { id: tenant, etag } = await platform.tenant('acme');
    await setStatus(platform, tenant, 'deleting');
    for (const query of [{}, { dryRun: true }])
      expect(await refusal(reap(platform, tenant, { query, ifMatch: `"${etag}"` }))).toMatchObject({
        status: 412,
        code: 'precondition_failed',
      });
    const { etag: present } = await platform.value<TenantRecord>('tenants.get', { params: { tenant } });
    const plan = reap(platform, tenant, { query: { dryRun: true }, ifMatch: `"${present}"` });
    expect((await plan).value).toMatchObject({ dryRun: true, tenant });
  });
});

describe('C-03: a reap', () => {
  test('deletes no copy of another tenant', async () => {
    const { platform, tenant } = await furnished();
    const theirs = await platform.scope((await platform.tenant('globex')).id);
    const params = { tenant: theirs.tenant, scope: theirs.id };
    await platform.finish(platform.call('scope-backups.create', { params, body: {} }));
    const copies = () => platform.value<{ items: unknown[] }>('scope-backups.list', { params });
    const before = await copies();
    expect(before.items).toHaveLength(1);
    await setStatus(platform, tenant, 'deleting');
    expect(await platform.finish(reap(platform, tenant))).toMatchObject({
      result: { erased: { backups: 1 } },
    });
    expect(await copies()).toEqual(before);
  }, 30_000);

  test('revokes at its provider what the tenant was connected to, and nothing of another', async () => {
    const { platform, provider, tenant, connection, scope } = await openRounds();
    const other = await platform.scope((await platform.tenant('globex')).id);
    await platform.hostname(other, 'globex.example.com');
    await connection();
    await connection(
      { tenantId: other.tenant, scopeId: other.id, returnUrl: 'https://globex.example.com/settings' },
      'bob',
    );
    expect(provider.grants.map(({ account, live }) => [account, live])).toEqual([
      ['ada', true],
      ['bob', true],
    ]);
    await setStatus(platform, tenant.id, 'deleting');
    expect(await platform.finish(reap(platform, tenant.id))).toMatchObject({ state: 'done' });
    expect(provider.grants.map(({ account, live }) => [account, live])).toEqual([
      ['ada', false],
      ['bob', true],
    ]);
    expect(platform.fieldwork.provisioned.has(scope.id)).toBe(false);
  });

  test('does not take the word of an application about another scope for this one', async () => {
    const { platform, tenant, scope } = await furnished();
    await setStatus(platform, tenant, 'deleting');
    platform.fieldwork.fault = async () => Response.json({ scopeId: 'scp_01jd0000000000000000000009' });
    expect(await platform.finish(reap(platform, tenant))).toMatchObject({ state: 'failed' });
    platform.fieldwork.fault = null;
    const params = { tenant, scope: scope.id };
    expect(await platform.value('scopes.get', { params })).toMatchObject({ status: 'active' });
    expect(await platform.value('tenants.get', { params: { tenant } })).toMatchObject({ status: 'deleting' });
  }, 30_000);

  test('does not begin where copies are known and the place that they lie in is not there', async () => {
    const platform = await openPlatform();
    const { id: tenant } = await platform.tenant('acme');
    const scope = await platform.scope(tenant);
    await platform.tamper((database) => {
      const known: Record<string, string> = { id: 'bkp_01jd0000000000000000000001', tenant, scope: scope.id };
      const required = database.prepare(`SELECT name FROM pragma_table_info('backups') WHERE "notnull" = 1`);
      const names = [...new Set([...Object.keys(known), ...required.all().map(({ name }) => String(name))])];
      database
        .prepare(`INSERT INTO backups (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`)
        .run(...names.map((name) => known[name] ?? '1'));
    });
    await setStatus(platform, tenant, 'deleting');
    const rows = await platform.adminLog();
    expect(await refusal(reap(platform, tenant))).toMatchObject({ status: 501, reason: 'no_backup_store' });
    expect(await platform.adminLog()).toEqual(rows);
    expect(platform.fieldwork.provisioned.has(scope.id)).toBe(true);
  });

  test.each([
    [200, false],
    [201, true],
  ])('is planned with at most 200 names of a kind: of %i, truncated is %s', async (count, truncated) => {
    const platform = await openPlatform();
    const { id: tenant } = await platform.tenant('acme');
    const scope = await platform.scope(tenant);
    await platform.tamper((database) => {
      database
        .prepare(
          `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
           INSERT INTO hostnames (claim, hostname, tenant, scope, surface, status, token, revision, created_at, updated_at)
           SELECT i || '.example.org ' || ?2, i || '.example.org', ?2, ?3, 'app', 'pending', 't' || i, 1, 1, 1 FROM n`,
        )
        .run(count, tenant, scope.id);
    });
    await setStatus(platform, tenant, 'deleting');
    const plan = await platform.value<TenantReapPlan>('tenants.reap', {
      params: { tenant },
      body: {},
      query: { dryRun: true },
    });
    expect(plan).toMatchObject({ counts: { hostnames: count }, truncated });
    expect(plan.hostnames).toHaveLength(200);
  });
});
