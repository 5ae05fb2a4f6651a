/** Long work over HTTP: 202 with an address, waiting, events, plans, short addresses and uploads. */
import { PlatformError } from '@freehold/contracts';
import { Client, type Progress, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, test } from 'vitest';
import { makeMemoryBackups } from '../../directory/test/memory-backups.ts';
import { makeControlPlaneClient, waitForOperation } from '../src/client/index.ts';
import { controlPlaneApp } from '../src/index.ts';
import { openRealPlatform } from './support/real-platform.ts';

const bytesOf = (text: string) => new Response(text).body as ReadableStream<Uint8Array>;

type Platform = Awaited<ReturnType<typeof openRealPlatform>>;

/** @param ready settles when the application may hand its copy over. */
async function open(ready: () => Promise<void> = async () => undefined) {
  const backups = makeMemoryBackups();
  const platform = await openRealPlatform({
    origin: 'https://control.example',
    backups,
    vertical: {
      exportScopeLocal: async ({ format = 'ndjson' }) => {
        await ready();
        return { format, bookmark: null, body: bytesOf('a copy') };
      },
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
  await using fixture = await open();
  const begun = await fixture.send('POST', `${fixture.at}/backups`);
  expect(begun.status).toBe(202);
  const { id } = (await begun.json()) as { id: string };
  expect(begun.headers.get('location')).toBe(`/operations/${id}`);
  expect(begun.headers.get('x-admin-log-head')).toMatch(/^\d+:/);
  const ended = await fixture.send('GET', `/operations/${id}?wait=30s`);
  expect(await ended.json()).toMatchObject({ id, state: 'done', result: { bytes: 6 } });
});

test('a wait is 1 to 60 whole seconds', async () => {
  await using fixture = await open();
  const { id } = await fixture.client.scopeBackups.create({ params: fixture.params, body: {} });
  for (const wait of ['61s', '0s', '30', '1.5s', ''])
    expect((await fixture.send('GET', `/operations/${id}?wait=${wait}`)).status, wait).toBe(400);
});

test('the client waits for the end, and hears how far it is', async () => {
  await using fixture = await open();
  const begun = await fixture.client.scopeBackups.create({ params: fixture.params, body: {} });
  const heard: string[] = [];
  const ended = await waitForOperation(fixture.client, begun, {
    onProgress: ({ state }) => heard.push(state),
  });
  expect(ended.state).toBe('done');
  expect(heard.at(-1)).toBe('done');
});

describe('events', () => {
  test('of work that is followed, or is just begun, end with how it ended', async () => {
    await using fixture = await open();
    const begun = await fixture.send('POST', `${fixture.at}/backups`, { accept: 'text/event-stream' });
    expect(begun.status).toBe(202);
    expect(begun.headers.get('content-type')).toBe('text/event-stream');
    const text = await begun.text();
    const last = text.trim().split('\n\n').at(-1) ?? '';
    expect(last).toMatch(/^event: done\ndata: \{.*\}$/);
    const record = JSON.parse(last.split('data: ')[1] ?? '') as { id: string };
    expect(record).toMatchObject({ state: 'done', result: { bytes: 6 } });
    const again = await fixture.send('GET', `/operations/${record.id}`, { accept: 'text/event-stream' });
    expect(await again.text()).toBe(`${last}\n\n`);
  });

  test.each(['application/json', '*/*', 'text/event-stream;q=0'])('are not sent to %s', async (accept) => {
    await using fixture = await open();
    const { id } = await fixture.client.scopeBackups.create({ params: fixture.params, body: {} });
    const answer = await fixture.send('GET', `/operations/${id}`, { accept });
    expect(answer.headers.get('content-type')).toBe('application/json');
    await answer.json();
  });

  test('stop when the reader leaves', async () => {
    await using fixture = await open();
    const { promise, resolve } = Promise.withResolvers<void>();
    fixture.backups.beforePut = () => promise;
    const { id } = await fixture.client.scopeBackups.create({ params: fixture.params, body: {} });
    const answer = await fixture.send('GET', `/operations/${id}`, { accept: 'text/event-stream' });
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
    expect(new TextDecoder().decode((await reader.read()).value)).toMatch(/^event: progress\n/);
    await reader.cancel();
    resolve();
    await waitForOperation(fixture.client, { id });
  });
});

test('spec C-04: a plan is 200 and changes nothing', async () => {
  await using fixture = await open();
  await fixture.client.scopes.setStatus({ params: fixture.params, body: { status: 'archived' } });
  const { items: before } = await fixture.client.adminLog.list({});
  const plan = await fixture.client.scopes.reap({
    params: fixture.params,
    query: { dryRun: true },
    body: {},
  });
  expect(plan).toEqual({
    dryRun: true,
    scope: expect.objectContaining({ id: fixture.scope.id, status: 'archived' }),
    hostnames: [],
    snapshots: 0,
    backups: 0,
    connections: [],
    backup: true,
  });
  expect((await fixture.client.adminLog.list({})).items).toEqual(before);
  expect((await fixture.client.operations.list({})).items).toEqual([]);
});

test('spec C-19: backups and snapshots of a scope are reached without its tenant too', async () => {
  await using fixture = await open();
  const begun = await fixture.send('POST', `/scopes/${fixture.scope.id}/backups`);
  expect(begun.status).toBe(202);
  const { id } = (await begun.json()) as { id: string };
  expect(begun.headers.get('location')).toBe(`/operations/${id}`);
  await waitForOperation(fixture.client, { id });
  const listed = await fixture.send('GET', `/scopes/${fixture.scope.id}/backups`);
  expect(await listed.json()).toMatchObject({ items: [{ scope: fixture.scope.id }] });
  expect((await fixture.send('GET', `/scopes/${fixture.scope.id}/snapshots`)).status).toBe(200);
  const [row] = (await fixture.client.adminLog.list({ query: { action: 'scope-backups.create' } })).items;
  expect(row?.target).toMatchObject({ tenant: fixture.params.tenant, scope: fixture.scope.id });
  const noPrincipal = await fixture.send('GET', '/scopes/scp_01jd0000000000000000000009/backups');
  expect(noPrincipal.status).toBe(404);
});

test('spec C-19: a builder of another tenant finds nothing at the short address', async () => {
  await using fixture = await open();
  const other = await fixture.client.tenants.create({ body: { slug: 'other', name: 'Other' } });
  const { secret } = await fixture.client.pushTokens.create({
    body: { name: 'ci', tenant: other.id, kind: 'operate' },
  });
  for (const [method, path] of [
    ['GET', 'backups'],
    ['POST', 'backups'],
    ['GET', 'snapshots'],
    ['POST', 'snapshots'],
  ] as const) {
    const authorization = `Bearer ${secret}`;
    const answer = await fixture.send(method, `/scopes/${fixture.scope.id}/${path}`, { authorization });
    expect(answer.status, `${method} ${path}`).toBe(404);
  }
});

describe('spec C-04: a copy that comes from outside', () => {
  const TYPE = 'application/x-ndjson';

  test('is brought in as its bytes, and restored by its id', async () => {
    await using fixture = await open();
    const imported = await fixture.client.imports.create({
      params: fixture.params,
      upload: { mediaType: TYPE, content: bytesOf('from outside') },
    });
    expect(imported).toMatchObject({
      origin: 'upload',
      format: 'ndjson',
      bytes: 12,
      scope: fixture.scope.id,
    });
    const begun = await fixture.client.scopes.restore({
      params: fixture.params,
      body: { from: { export: imported.id } },
    });
    expect(await waitForOperation(fixture.client, begun)).toMatchObject({ state: 'done' });
    expect(fixture.restored).toEqual(['from outside']);
  });

  test('of another media type, or compressed, is refused before a byte is kept', async () => {
    await using fixture = await open();
    const path = `${fixture.at}/imports`;
    for (const headers of [
      { 'content-type': 'application/json' },
      { 'content-type': TYPE, 'content-encoding': 'gzip' },
      {},
    ])
      expect((await fixture.send('POST', path, headers, 'x')).status).toBe(415);
    const huge = { 'content-type': TYPE, 'content-length': String(17 * 1024 ** 3) };
    expect((await fixture.send('POST', path, huge, 'x')).status).toBe(413);
    expect(fixture.backups.stored.size).toBe(0);
  });

  test('that breaks off leaves nothing', async () => {
    await using fixture = await open();
    const broken = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.error(new PlatformError('unavailable', 'gone')),
    });
    const request = new Request(`https://control.example${fixture.at}/imports`, {
      method: 'POST',
      headers: { authorization: `Bearer ${fixture.platform.secret}`, 'content-type': TYPE },
      body: broken,
      duplex: 'half',
    } as RequestInit);
    const answer = await fixture.platform.send(request);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ reason: 'body_incomplete' });
    expect(fixture.backups.stored.size).toBe(0);
    expect((await fixture.client.scopeBackups.list({ params: fixture.params })).items).toEqual([]);
  });
});

test('spec C-19: without a place for backups everything that needs one is 501 with a diagnosis', async () => {
  await using platform = await openRealPlatform();
  const client = makeControlPlaneClient(platform.clientOptions());
  const answer = client.directoryBackups.create({ body: {} });
  await expect(answer).rejects.toMatchObject({ status: 501, reason: 'no_backup_store' });
});

describe.each(['auto', 'legacy'] as const)('a program that negotiates %s', (mode) => {
  const connect = async ({
    platform,
  }: {
    readonly platform: Pick<Platform, 'secret' | 'send'>;
  }): Promise<Client> => {
    const program = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } });
    const headers = { authorization: `Bearer ${platform.secret}` };
    const fetch = (url: string | URL, init?: RequestInit) => platform.send(new Request(url, init));
    const endpoint = new URL('https://control.example/mcp');
    await program.connect(new StreamableHTTPClientTransport(endpoint, { requestInit: { headers }, fetch }));
    return program;
  };
  const backup = (fixture: Awaited<ReturnType<typeof open>>) => ({
    name: 'scope-backups_create',
    arguments: fixture.params,
  });

  test('hears of the steps of long work when it asks, and gets the record of its end', async () => {
    await using fixture = await open();
    const program = await connect(fixture);
    const heard: Progress[] = [];
    const ended = await program.callTool(backup(fixture), { onprogress: (step) => heard.push(step) });
    expect(ended.structuredContent).toMatchObject({ state: 'done', result: { bytes: 6 } });
    expect(heard.length).toBeGreaterThan(0);
    expect(heard.map(({ progress }) => progress)).toEqual(heard.map((_, index) => index + 1));
    expect(heard.at(-1)?.message).toMatch(/^done: \d+ of \d+ \w+$|^done: \d+ \w+$/);
    await program.close();
  });

  test('gets the record of its beginning when it does not ask', async () => {
    await using fixture = await open();
    const program = await connect(fixture);
    const begun = await program.callTool(backup(fixture));
    expect(begun.structuredContent).toMatchObject({ state: expect.stringMatching(/queued|running/) });
    await program.close();
  });

  test('stops no work by leaving, and its leaving is no incident', async () => {
    await using fixture = await open();
    const program = await connect(fixture);
    const leaving = new AbortController();
    const call = program.callTool(backup(fixture), {
      onprogress: () => leaving.abort(),
      signal: leaving.signal,
    });
    await expect(call).rejects.toThrow();
    const ended = async () =>
      (await fixture.client.operations.list({ query: {} })).items.map(({ state }) => state);
    await expect.poll(ended).toEqual(['done']);
    expect(fixture.platform.incidents).toEqual([]);
    await program.close();
  });

  test('stops work by the tool for that', async () => {
    const gate = Promise.withResolvers<void>();
    await using fixture = await open(() => gate.promise);
    const program = await connect(fixture);
    const begun = await program.callTool(backup(fixture));
    const { id: operation } = begun.structuredContent as { id: string };
    const stopped = await program.callTool({ name: 'operations_cancel', arguments: { operation } });
    expect(stopped.isError).toBeUndefined();
    gate.resolve();
    const states = async () =>
      (await fixture.client.operations.list({ query: {} })).items.map(({ state }) => state);
    await expect.poll(states).toEqual(['cancelled']);
    await program.close();
  });

  test('is followed no longer when it leaves, while the work goes on', async () => {
    const gate = Promise.withResolvers<void>();
    await using fixture = await open(() => gate.promise);
    let isFollowed = true;
    const givenUp = () => {
      isFollowed = false;
    };
    const program = await connect({
      ...fixture,
      platform: { ...fixture.platform, send: sendWatched(fixture.platform, givenUp) },
    });
    // Going away ends the connection in both revisions; cancelling is another message in the earlier one.
    const call = program.callTool(backup(fixture), { onprogress: () => void program.close() });
    await expect(call).rejects.toThrow();
    // The work stands still here: its end cannot be what closed the stream.
    await expect.poll(() => isFollowed).toBe(false);
    gate.resolve();
    const states = async () =>
      (await fixture.client.operations.list({ query: {} })).items.map(({ state }) => state);
    await expect.poll(states).toEqual(['done']);
  });
});

/** The same platform, whose events tell when their reader gives them up. */
function sendWatched({ hostAdmin }: Platform, onCancel: () => void) {
  const app = controlPlaneApp({
    hostAdmin: {
      authenticate: (...given) => hostAdmin.authenticate(...given),
      perform: async (call) => {
        const result = await hostAdmin.perform(call);
        return result.events ? { ...result, events: watched(result.events, onCancel) } : result;
      },
    },
    onIncident: () => undefined,
    now: () => Date.now(),
    newRequestId: () => 'req_watched',
    rateLimit: null,
    origin: () => 'https://control.example',
  });
  return async (request: Request): Promise<Response> => app.fetch(request);
}

function watched<T>(events: ReadableStream<T>, onCancel: () => void): ReadableStream<T> {
  const reader = events.getReader();
  return new ReadableStream<T>({
    pull: async (controller) => {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: async (reason) => {
      await reader.cancel(reason);
      onCancel();
    },
  });
}
