/** Long work over HTTP: 202 with an address, waiting, events, plans, short addresses and uploads. */
import { PlatformError } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import { makeMemoryBackups } from '../../directory/test/memory-backups.ts';
import { makeControlPlaneClient, waitForOperation } from '../src/client/index.ts';
import { openRealPlatform } from './support/real-platform.ts';

const bytesOf = (text: string) => new Response(text).body as ReadableStream<Uint8Array>;

async function open() {
  const backups = makeMemoryBackups();
  const platform = await openRealPlatform({
    backups,
    vertical: {
      exportScopeLocal: async ({ format = 'ndjson' }) => ({
        format,
        bookmark: null,
        body: bytesOf('a copy'),
      }),
      restoreScopeLocal: async ({ format }, body) => {
        restored.push(await new Response(body).text());
        return { format, tables: 1, rows: 1, undo: null };
      },
    },
  });
  const restored: string[] = [];
  const client = makeControlPlaneClient(platform.clientOptions());
  const tenant = await client.tenants.create({ body: { slug: 'acme', name: 'Acme' } });
  const scope = await client.scopes.provision({
    params: { tenant: tenant.id },
    body: { slug: 'main', name: 'Main', vertical: 'fieldwork' },
  });
  const params = { tenant: tenant.id, scope: scope.id };
  const send = (method: string, path: string, headers: Record<string, string> = {}, body?: string) =>
    platform.send(
      new Request(`https://control.example${path}`, {
        method,
        headers: { authorization: `Bearer ${platform.secret}`, ...headers },
        ...(body === undefined ? {} : { body }),
      }),
    );
  const at = `/tenants/${tenant.id}/scopes/${scope.id}`;
  return {
    platform,
    backups,
    restored,
    client,
    scope,
    params,
    send,
    at,
    [Symbol.asyncDispose]: () => platform[Symbol.asyncDispose](),
  };
}

test('spec C-19: a backup is 202, with the address at which it is followed to its end', async () => {
  await using house = await open();
  const begun = await house.send('POST', `${house.at}/backups`);
  expect(begun.status).toBe(202);
  const { id } = (await begun.json()) as { id: string };
  expect(begun.headers.get('location')).toBe(`/operations/${id}`);
  expect(begun.headers.get('x-admin-log-head')).toMatch(/^\d+:/);
  const ended = await house.send('GET', `/operations/${id}?wait=30s`);
  expect(await ended.json()).toMatchObject({ id, state: 'done', result: { bytes: 6 } });
});

test('a wait is 1 to 60 whole seconds', async () => {
  await using house = await open();
  const { id } = await house.client.scopeBackups.create({ params: house.params, body: {} });
  for (const wait of ['61s', '0s', '30', '1.5s', ''])
    expect((await house.send('GET', `/operations/${id}?wait=${wait}`)).status, wait).toBe(400);
});

test('the client waits for the end, and hears how far it is', async () => {
  await using house = await open();
  const begun = await house.client.scopeBackups.create({ params: house.params, body: {} });
  const heard: string[] = [];
  const ended = await waitForOperation(house.client, begun, { onProgress: ({ state }) => heard.push(state) });
  expect(ended.state).toBe('done');
  expect(heard.at(-1)).toBe('done');
});

describe('events', () => {
  test('of work that is followed, or is just begun, end with how it ended', async () => {
    await using house = await open();
    const begun = await house.send('POST', `${house.at}/backups`, { accept: 'text/event-stream' });
    expect(begun.status).toBe(202);
    expect(begun.headers.get('content-type')).toBe('text/event-stream');
    const text = await begun.text();
    const last = text.trim().split('\n\n').at(-1) ?? '';
    expect(last).toMatch(/^event: done\ndata: \{.*\}$/);
    const record = JSON.parse(last.split('data: ')[1] ?? '') as { id: string };
    expect(record).toMatchObject({ state: 'done', result: { bytes: 6 } });
    const again = await house.send('GET', `/operations/${record.id}`, { accept: 'text/event-stream' });
    expect(await again.text()).toBe(`${last}\n\n`);
  });

  test.each(['application/json', '*/*', 'text/event-stream;q=0'])('are not sent to %s', async (accept) => {
    await using house = await open();
    const { id } = await house.client.scopeBackups.create({ params: house.params, body: {} });
    const answer = await house.send('GET', `/operations/${id}`, { accept });
    expect(answer.headers.get('content-type')).toBe('application/json');
    await answer.json();
  });

  test('stop when nobody reads them any more', async () => {
    await using house = await open();
    const { promise, resolve } = Promise.withResolvers<void>();
    house.backups.beforePut = () => promise;
    const { id } = await house.client.scopeBackups.create({ params: house.params, body: {} });
    const answer = await house.send('GET', `/operations/${id}`, { accept: 'text/event-stream' });
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
    expect(new TextDecoder().decode((await reader.read()).value)).toMatch(/^event: progress\n/);
    await reader.cancel();
    resolve();
    await waitForOperation(house.client, { id });
  });
});

test('spec C-04: a plan is 200 and changes nothing', async () => {
  await using house = await open();
  await house.client.scopes.setStatus({ params: house.params, body: { status: 'archived' } });
  const { items: before } = await house.client.adminLog.list({});
  const plan = await house.client.scopes.reap({ params: house.params, query: { dryRun: true }, body: {} });
  expect(plan).toEqual({
    dryRun: true,
    scope: expect.objectContaining({ id: house.scope.id, status: 'archived' }),
    hostnames: [],
    snapshots: 0,
    backups: 0,
    connections: [],
    backup: true,
  });
  expect((await house.client.adminLog.list({})).items).toEqual(before);
  expect((await house.client.operations.list({})).items).toEqual([]);
});

test('spec C-19: backups and snapshots of a scope are reached without its tenant too', async () => {
  await using house = await open();
  const begun = await house.send('POST', `/scopes/${house.scope.id}/backups`);
  expect(begun.status).toBe(202);
  const { id } = (await begun.json()) as { id: string };
  expect(begun.headers.get('location')).toBe(`/operations/${id}`);
  await waitForOperation(house.client, { id });
  const listed = await house.send('GET', `/scopes/${house.scope.id}/backups`);
  expect(await listed.json()).toMatchObject({ items: [{ scope: house.scope.id }] });
  expect((await house.send('GET', `/scopes/${house.scope.id}/snapshots`)).status).toBe(200);
  const [row] = (await house.client.adminLog.list({ query: { action: 'scope-backups.create' } })).items;
  expect(row?.target).toMatchObject({ tenant: house.params.tenant, scope: house.scope.id });
  const nobody = await house.send('GET', '/scopes/scp_01jd0000000000000000000009/backups');
  expect(nobody.status).toBe(404);
});

test('spec C-19: a builder of another tenant finds nothing at the short address', async () => {
  await using house = await open();
  const other = await house.client.tenants.create({ body: { slug: 'other', name: 'Other' } });
  const { secret } = await house.client.pushTokens.create({ body: { name: 'ci', tenant: other.id } });
  for (const [method, path] of [
    ['GET', 'backups'],
    ['POST', 'backups'],
    ['GET', 'snapshots'],
    ['POST', 'snapshots'],
  ] as const) {
    const authorization = `Bearer ${secret}`;
    const answer = await house.send(method, `/scopes/${house.scope.id}/${path}`, { authorization });
    expect(answer.status, `${method} ${path}`).toBe(404);
  }
});

describe('spec C-04: a copy that comes from outside', () => {
  const TYPE = 'application/x-ndjson';

  test('is brought in as its bytes, and restored by its id', async () => {
    await using house = await open();
    const imported = await house.client.imports.create({
      params: house.params,
      upload: { mediaType: TYPE, content: bytesOf('from outside') },
    });
    expect(imported).toMatchObject({ origin: 'upload', format: 'ndjson', bytes: 12, scope: house.scope.id });
    const begun = await house.client.scopes.restore({
      params: house.params,
      body: { from: { export: imported.id } },
    });
    expect(await waitForOperation(house.client, begun)).toMatchObject({ state: 'done' });
    expect(house.restored).toEqual(['from outside']);
  });

  test('of another media type, or compressed, is refused before a byte is kept', async () => {
    await using house = await open();
    const path = `${house.at}/imports`;
    for (const headers of [
      { 'content-type': 'application/json' },
      { 'content-type': TYPE, 'content-encoding': 'gzip' },
      {},
    ])
      expect((await house.send('POST', path, headers, 'x')).status).toBe(415);
    const huge = { 'content-type': TYPE, 'content-length': String(17 * 1024 ** 3) };
    expect((await house.send('POST', path, huge, 'x')).status).toBe(413);
    expect(house.backups.kept.size).toBe(0);
  });

  test('that breaks off leaves nothing', async () => {
    await using house = await open();
    const broken = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.error(new PlatformError('unavailable', 'gone')),
    });
    const request = new Request(`https://control.example${house.at}/imports`, {
      method: 'POST',
      headers: { authorization: `Bearer ${house.platform.secret}`, 'content-type': TYPE },
      body: broken,
      duplex: 'half',
    } as RequestInit);
    const answer = await house.platform.send(request);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ reason: 'body_incomplete' });
    expect(house.backups.kept.size).toBe(0);
    expect((await house.client.scopeBackups.list({ params: house.params })).items).toEqual([]);
  });
});

test('spec C-19: without a place for backups everything that needs one is 501 with a diagnosis', async () => {
  await using platform = await openRealPlatform();
  const client = makeControlPlaneClient(platform.clientOptions());
  const answer = client.directoryBackups.create({ body: {} });
  await expect(answer).rejects.toMatchObject({ status: 501, reason: 'no_backup_store' });
});
