/**
 * The control plane inside workerd: its directory in an object of its own, the scopes of a real vertical in others,
 * and one story over HTTP that passes through every family of operations which stores something.
 */
import { abortAllDurableObjects } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { controlPlaneApp } from '../../control-plane/src/index.ts';
import { type BackupStore, makeHostAdmin } from '../../directory/src/index.ts';
import { makeScopeHost, makeUnitVault } from '../../kernel/src/index.ts';
import { libraryUnit, libraryVaultUnit } from '../../testkit/src/scope-contract/index.ts';
import { makeBucketBlobStore, makeR2Bucket } from '../src/index.ts';
import { openScopeEngine, scopeNow } from './worker.ts';

/** Backups in the bucket of the worker. */
function bucketBackups(): BackupStore {
  const key = (address: string) => `backups/${address}`;
  return {
    put: async (address, body) => {
      const bytes = await new Response(body).arrayBuffer();
      await env.BLOBS.put(key(address), bytes);
      return { address, bytes: bytes.byteLength };
    },
    open: async (address) => (await env.BLOBS.get(key(address)))?.body ?? null,
    delete: (address) => env.BLOBS.delete(key(address)),
    list: async function* (prefix) {
      const { objects } = await env.BLOBS.list({ prefix: key(prefix) });
      for (const { key: found, size } of objects)
        yield { address: found.slice('backups/'.length), bytes: size };
    },
  };
}

/** Opens a platform as a worker would wire it. Unexpected errors are in `incidents`. */
function openPlatform() {
  const incidents: unknown[] = [];
  const onIncident = (error: unknown): void => void incidents.push(error);
  const engine = openScopeEngine();
  const host = makeScopeHost({
    engine,
    unit: libraryUnit,
    now: scopeNow,
    vault: makeUnitVault((tenant) => engine.unit(libraryVaultUnit, tenant, { create: true })),
    blobs: (scopeId) => makeBucketBlobStore({ bucket: makeR2Bucket(env.BLOBS), scopeId, now: scopeNow }),
  });
  const hostAdmin = makeHostAdmin({
    engine,
    gateway: { bound: () => null, local: (slug) => (slug === 'library' ? host : null) },
    now: scopeNow,
    random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
    onIncident,
    backups: bucketBackups(),
  });
  const app = controlPlaneApp({
    hostAdmin,
    onIncident,
    now: scopeNow,
    newRequestId: () => crypto.randomUUID(),
  });
  return { app, hostAdmin, incidents };
}

async function openCaller() {
  let platform = openPlatform();
  const { secret } = await platform.hostAdmin.mintServiceToken({ name: 'workerd' });
  const send = async (method: string, path: string, body?: unknown): Promise<Response> =>
    platform.app.fetch(
      new Request(`https://api.example.com${path}`, {
        method,
        headers: {
          authorization: `Bearer ${secret}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    );
  /** Returns the answer, which must be a success. */
  const ask = async <T = Record<string, never>>(method: string, path: string, body?: unknown): Promise<T> => {
    const response = await send(method, path, body);
    const text = await response.text();
    expect(response.status, `${method} ${path}: ${text}`).toBeLessThan(300);
    return (text === '' ? null : JSON.parse(text)) as T;
  };
  /** Waits for long work, which must succeed; returns its result. */
  const finish = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const { id } = await ask<{ id: string }>(method, path, body);
    const done = await ask<{ state: string; result: T; problem: unknown }>(
      'GET',
      `/operations/${id}?wait=30s`,
    );
    expect(done.state, `${path}: ${JSON.stringify(done.problem)}`).toBe('done');
    return done.result;
  };
  return {
    send,
    ask,
    finish,
    incidents: () => platform.incidents,
    /** Ends every object, and starts a new isolate. */
    crash: async () => {
      await abortAllDurableObjects();
      platform = openPlatform();
    },
  };
}

test('C-01 to C-30: a tenant from its first day to its last', async () => {
  const { send, ask, finish, incidents, crash } = await openCaller();
  const tenant = await ask<{ id: string }>('POST', '/tenants', { slug: 'acme', name: 'Acme' });
  const of = `/tenants/${tenant.id}`;
  const order = { slug: 'main', name: 'Main', vertical: 'library', kind: 'live' };
  const scope = await ask<{ id: string; status: string }>('POST', `${of}/scopes`, order);
  expect(scope.status).toBe('active');
  const at = `${of}/scopes/${scope.id}`;
  // The data window of a scope that lives in an object of its own.
  for (const read of [
    'health',
    'tables',
    'migrations',
    'facets',
    'dead-letters',
    'denials',
    'denials/summary',
  ])
    await ask('GET', `${at}/${read}`);
  await ask('POST', `${at}/query`, { sql: 'SELECT count(*) AS n FROM _spine_events' });
  const copy = await (await send('GET', `${at}/export`)).arrayBuffer();
  expect(new TextDecoder().decode(copy).split('\n').length).toBeGreaterThan(10);
  expect((await send('GET', `${at}/bookmarks`)).status).toBe(501);

  // The directory's records of it.
  await ask('PUT', `${of}/entitlements/reports`, { quota: 5 });
  await ask('POST', `${of}/identities`, { kind: 'issuer', issuer: 'https://login.example.com' });
  await ask('PUT', '/roles/helper', { name: 'Helper', permissions: ['book.read'] });
  const bound = { hostname: 'acme.localhost', tenant: tenant.id, scope: scope.id };
  expect(await ask('POST', '/hostnames', bound)).toMatchObject({ status: 'active' });
  const token = await ask<{ token: { id: string } }>('POST', '/push-tokens', {
    name: 'ci',
    tenant: tenant.id,
  });
  await ask('POST', '/verticals', { slug: 'orchard', name: 'Orchard', ownerTenant: tenant.id });

  // Copies and restores of the scope and of the directory itself, with a crash between.
  const snapshot = await ask<{ id: string }>('POST', `${at}/snapshots`, {});
  const backup = await finish<{ id: string; bytes: number }>('POST', `${at}/backups`, {});
  expect(backup.bytes).toBeGreaterThan(1_000);
  await crash();
  await finish('POST', `${at}/restore`, { from: { backup: backup.id } });
  await finish('POST', `${at}/restore`, { from: { snapshot: snapshot.id } });
  const whole = await finish<{ id: string }>('POST', '/directory/backups');
  await ask('DELETE', `/push-tokens/${token.token.id}`);
  await ask('PUT', `${of}/status`, { status: 'suspended' });
  const restored = await finish<{ epoch: number; keptAway: unknown[] }>('POST', '/directory/restore', {
    backup: whole.id,
  });
  expect(restored.epoch).toBe(1);
  expect(restored.keptAway).not.toEqual([]);
  expect(await ask('GET', of)).toMatchObject({ status: 'suspended' });
  await ask('PUT', `${of}/status`, { status: 'active' });

  // The end.
  await ask('PUT', `${at}/status`, { status: 'archived' });
  await finish('POST', `${at}/reap`, { backup: false });
  await ask('PUT', `${of}/status`, { status: 'deleting' });
  await finish('POST', `${of}/reap`, {});
  expect(await ask('GET', of)).toMatchObject({ status: 'reaped' });
  for (const log of [
    '/admin-log',
    '/access-log',
    '/ops-failures',
    '/sweep-runs',
    '/issues',
    '/meters',
    '/model-usage',
  ])
    await ask('GET', log);
  expect(await ask('GET', '/admin-log/verify')).toMatchObject({
    status: 'unanchored',
    epochs: 1,
    firstBad: null,
  });
  expect(incidents()).toEqual([]);
});
