/** Connections with API keys: verified before they are stored, rotated, tried again, and never shown (spec C-18). */
import { makeKeyring } from '@freehold/store';
import { describe, expect, test } from 'vitest';
import { type KeyProvider, makeKeyProvider } from '../../test/key-provider.ts';
import { type CallParts, openPlatform, refusal, SERVICE } from '../../test/platform.ts';
import type {
  AdminOperationName,
  ConnectionCredentialRecord,
  ConnectionRecord,
} from '../admin-operations.ts';

const KEY = 'key-of-ada-1';

async function openLedger(provider: KeyProvider = makeKeyProvider()) {
  const platform = await openPlatform({ connections: provider.options });
  const tenant = await platform.tenant('acme');
  const scope = await platform.scope(tenant.id);
  const create = (body: Record<string, unknown> = {}, parts: CallParts = {}) =>
    platform.call('connections.create', {
      params: { tenant: tenant.id },
      body: { provider: 'ledger', scope: scope.id, subjectRef: 'the books', apiKey: KEY, ...body },
      ...parts,
    });
  const made = async (body?: Record<string, unknown>): Promise<ConnectionRecord> =>
    (await create(body)).value as ConnectionRecord;
  /** A call on one connection. */
  const on = (connection: string, operation: AdminOperationName, parts: CallParts = {}) =>
    platform.call(operation, { ...parts, params: { tenant: tenant.id, connection } });
  const credential = async (connection: string) =>
    (await on(connection, 'connections.credential')).value as ConnectionCredentialRecord;
  const kinds = async (connection: string) => {
    const { value } = await on(connection, 'connections.activity');
    return (value as { items: { kind: string }[] }).items.map(({ kind }) => kind);
  };
  return { provider, platform, tenant, scope, create, made, on, credential, kinds };
}

describe('connecting with a key', () => {
  test('asks the provider first, and shows its answer', async () => {
    const { made, provider, tenant, scope, platform } = await openLedger();
    expect(await made()).toMatchObject({
      tenant: tenant.id,
      scope: scope.id,
      vertical: 'fieldwork',
      provider: 'ledger',
      account: 'ada-1',
      accountName: 'The books of ada-1',
      subjectRef: 'the books',
      createdBy: 'ada',
      scopes: [],
      state: 'active',
      reason: null,
      verifiedAt: '2026-11-21T08:00:00.000Z',
    });
    expect(provider.asked).toEqual([`Bearer ${KEY}`]);
    expect((await platform.adminLog()).at(-1)).toMatchObject({
      action: 'connections.create',
      outcome: 'done',
      before: null,
      after: { provider: 'ledger', state: 'active', fingerprint: expect.stringMatching(/^[0-9a-f]{12}$/) },
    });
  });

  test('a key that the provider refuses is not stored, and nothing is logged', async () => {
    const { create, platform, tenant } = await openLedger();
    const before = await platform.adminLog();
    expect(await refusal(create({ apiKey: 'key-of-no-account' }))).toMatchObject({
      status: 400,
      code: 'validation_failed',
      reason: 'credential_refused',
    });
    expect(await platform.adminLog()).toEqual(before);
    const list = await platform.value('connections.list', { params: { tenant: tenant.id } });
    expect(list).toEqual({ items: [], nextCursor: null });
  });

  test.each<[string, () => Promise<Response>, string]>([
    ['is down', () => Promise.reject(new TypeError('fetch failed')), 'provider_unreachable'],
    ['has trouble', async () => new Response('', { status: 503 }), 'provider_unreachable'],
    ['answers nonsense', async () => new Response('<html>'), 'provider_answer'],
    ['does not say whose key it is', async () => Response.json({ account: {} }), 'provider_answer'],
    ['redirects', async () => new Response('', { status: 302 }), 'provider_answer'],
  ])('a provider that %s is a 502, and nothing is stored', async (_, fault, reason) => {
    const { create, provider, platform, tenant } = await openLedger();
    provider.fault = fault;
    expect(await refusal(create())).toMatchObject({ status: 502, code: 'runtime_fault', reason });
    const list = await platform.value('connections.list', { params: { tenant: tenant.id } });
    expect(list).toEqual({ items: [], nextCursor: null });
  });

  test('without a sealing key nothing is asked and nothing is stored', async () => {
    const { create, provider } = await openLedger(makeKeyProvider([]));
    expect(await refusal(create())).toMatchObject({ status: 503, reason: 'no_seal_key' });
    expect(provider.asked).toEqual([]);
  });

  test.each([
    ['an unknown provider', { provider: 'nowhere' }, 400, 'unknown_provider'],
    ['an unknown scope', { scope: 'scp_01jd0000000000000000000009' }, 404, 'unknown_scope'],
    ['a key with a line break', { apiKey: 'key-of-ada-1\r\nx: y' }, 400, undefined],
    ['a key with a space', { apiKey: 'key of ada 1' }, 400, undefined],
    ['a name with a control character', { subjectRef: 'a\u0000b' }, 400, undefined],
    ['a field that is not declared', { secret: 'x' }, 400, undefined],
  ])('%s is refused, and the provider is not asked', async (_, body, status, reason) => {
    const { create, provider } = await openLedger();
    expect(await refusal(create(body))).toMatchObject({ status, reason });
    expect(provider.asked).toEqual([]);
  });

  describe.each(['tenant', 'scope'] as const)('of a %s that is suspended', (whose) => {
    const suspend = ({ platform, tenant, scope }: Awaited<ReturnType<typeof openLedger>>) =>
      whose === 'tenant'
        ? platform.call('tenants.set-status', {
            params: { tenant: tenant.id },
            body: { status: 'suspended' },
          })
        : platform.call('scopes.set-status', {
            params: { tenant: tenant.id, scope: scope.id },
            body: { status: 'suspended' },
          });
    const listed = ({ platform, tenant }: Awaited<ReturnType<typeof openLedger>>) =>
      platform.value('connections.list', { params: { tenant: tenant.id } });

    test('is refused, and the provider is not asked', async () => {
      const ledger = await openLedger();
      await suspend(ledger);
      expect(await refusal(ledger.create())).toMatchObject({ status: 409, code: 'invalid_transition' });
      expect(ledger.provider.asked).toEqual([]);
    });

    test('while the provider is asked is refused, and nothing is stored', async () => {
      const ledger = await openLedger();
      ledger.provider.fault = async () => {
        await suspend(ledger);
        return Response.json({ account: { id: 'ada-1', name: 'The books of ada-1' } });
      };
      expect(await refusal(ledger.create())).toMatchObject({ status: 409, code: 'invalid_transition' });
      expect(await listed(ledger)).toEqual({ items: [], nextCursor: null });
    });
  });

  test('an account that is connected is not connected again, and its key stays', async () => {
    const { create, made, credential } = await openLedger();
    const { id } = await made();
    const before = await credential(id);
    expect(await refusal(create({ apiKey: `${KEY}-new`, subjectRef: 'again' }))).toMatchObject({
      status: 409,
      reason: 'account_connected',
    });
    expect(await credential(id)).toEqual(before);
  });

  test('the log, which is kept for ever, names no account: it may identify a person', async () => {
    const { made, on, platform } = await openLedger();
    const { id } = await made();
    await on(id, 'connections.verify');
    await on(id, 'connections.rotate', { body: { apiKey: `${KEY}-new` } });
    await on(id, 'connections.disconnect');
    const logged = JSON.stringify(await platform.adminLog());
    expect(logged).toContain(id);
    expect(logged).not.toMatch(/ada-1|The books/);
  });

  test('where the provider does not name the account, each scope has its own name for it', async () => {
    const provider = makeKeyProvider();
    Object.assign(provider.options.providers?.ledger ?? {}, {
      probe: { endpoint: 'https://ledger.example/me', tellsAccount: false },
    });
    const { create, made, platform, tenant } = await openLedger(provider);
    const second = await platform.scope(tenant.id, 'second');
    const [one, other] = [await made(), await made({ scope: second.id })];
    expect([one.account, other.account, one.id === other.id]).toEqual([null, null, false]);
    expect(await refusal(create())).toMatchObject({ status: 409, reason: 'account_connected' });
    expect((await made({ subjectRef: 'other books' })).id).not.toBe(one.id);
  });

  test('two calls at the same moment make one connection', async () => {
    const { create, platform, tenant } = await openLedger();
    const both = await Promise.allSettled([create(), create()]);
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const { items } = await platform.value<{ items: object[] }>('connections.list', {
      params: { tenant: tenant.id },
    });
    expect(items).toHaveLength(1);
  });

  test('a replay gives the first answer and asks no provider; the same key with another input is refused', async () => {
    const { create, provider } = await openLedger();
    const first = await create({}, { key: 'k' });
    provider.fault = () => Promise.reject(new TypeError('fetch failed'));
    expect(await create({}, { key: 'k' })).toMatchObject({ replayed: true, value: first.value, status: 201 });
    expect(provider.asked).toHaveLength(1);
    const other = create({ apiKey: 'key-of-bob-1' }, { key: 'k' });
    expect(await refusal(other)).toMatchObject({ status: 409, reason: 'idempotency_key_reused' });
  });

  test('the key is nowhere in clear: not in the database, not in an answer, not in the log', async () => {
    const { platform, create, on, made } = await openLedger();
    const { id } = await made();
    const answers = [
      await create({ apiKey: 'key-of-bob-1' }, { key: 'k' }),
      await on(id, 'connections.credential'),
      await on(id, 'connections.rotate', { body: { apiKey: `${KEY}-new` } }),
      await on(id, 'connections.activity'),
    ];
    expect(JSON.stringify([answers, await platform.adminLog()])).not.toMatch(/key-of-(ada|bob)/);
    await platform.tamper((database) => {
      const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
      const everything = tables.map(({ name }) => database.prepare(`SELECT * FROM "${name}"`).all());
      expect(JSON.stringify(everything)).toContain(id);
      expect(JSON.stringify(everything)).not.toMatch(/key-of-(ada|bob)/);
    });
  });
});

describe('the credential (C-18: it says which one is loaded and reveals nothing)', () => {
  test('names its kind, its fingerprint and its sealing key', async () => {
    const { made, credential } = await openLedger();
    const { id } = await made();
    const shown = await credential(id);
    expect(shown).toEqual({
      connection: id,
      kind: 'api-key',
      fingerprint: expect.stringMatching(/^[0-9a-f]{12}$/),
      sealKey: expect.stringMatching(/^[0-9a-f]{8}$/),
      scopes: [],
      loadedAt: '2026-11-21T08:00:00.000Z',
      expiresAt: null,
      refreshable: false,
    });
  });

  test('is replaced by another key of the same account, after the provider was asked', async () => {
    const { made, on, credential, platform, tenant, provider, kinds } = await openLedger();
    const { id, etag } = await made();
    const before = await credential(id);
    const apiKey = `${KEY}-new`;
    const rotated = await on(id, 'connections.rotate', { body: { apiKey }, ifMatch: etag });
    expect(rotated.value).toEqual(await credential(id));
    expect((rotated.value as ConnectionCredentialRecord).fingerprint).not.toBe(before.fingerprint);
    const used = await platform.admin.connections.use({ tenant: tenant.id, connection: id });
    expect(used).toMatchObject({ kind: 'api-key', secret: apiKey });
    expect((await platform.adminLog()).at(-1)).toMatchObject({
      before: { fingerprint: before.fingerprint },
      after: { fingerprint: (rotated.value as ConnectionCredentialRecord).fingerprint },
    });
    expect(await kinds(id)).toEqual(['rotated', 'connected']);
    // The actor that loaded the present key is named as its creator.
    await on(id, 'connections.rotate', { body: { apiKey }, as: SERVICE });
    expect((await on(id, 'connections.get')).value).toMatchObject({ createdBy: SERVICE.id });
    const stale = on(id, 'connections.rotate', { body: { apiKey }, ifMatch: etag });
    expect(await refusal(stale)).toMatchObject({ status: 412 });
    expect(provider.asked).toHaveLength(4);
  });

  test.each([
    ['of another account', 'key-of-bob-1', 409, 'other_account'],
    ['that the provider refuses', 'key-of-no-account', 400, 'credential_refused'],
  ])('is not replaced by a key %s', async (_, apiKey, status, reason) => {
    const { made, on, credential } = await openLedger();
    const { id } = await made();
    const before = await credential(id);
    expect(await refusal(on(id, 'connections.rotate', { body: { apiKey } }))).toMatchObject({
      status,
      reason,
    });
    expect(await credential(id)).toEqual(before);
  });

  test('another tenant’s reads as not found, also under the wrong tenant', async () => {
    const { made, platform } = await openLedger();
    const { id } = await made();
    const other = await platform.tenant('other');
    for (const name of ['connections.get', 'connections.credential', 'connections.activity'] as const) {
      const call = platform.call(name, { params: { tenant: other.id, connection: id } });
      expect(await refusal(call)).toMatchObject({ status: 404, reason: 'unknown_connection' });
    }
  });
});

describe('asking the provider again', () => {
  test('a key that still works: active, with the time', async () => {
    const { made, on, platform, kinds } = await openLedger();
    const { id } = await made();
    platform.clock.ms += 60_000;
    const { value, etag } = await on(id, 'connections.verify');
    expect(value).toMatchObject({ state: 'active', verifiedAt: '2026-11-21T08:01:00.000Z', etag });
    expect(await kinds(id)).toEqual(['verified', 'connected']);
  });

  test('a key that was withdrawn: broken, and not used until a good one is loaded', async () => {
    const { made, on, platform, provider, tenant, kinds } = await openLedger();
    const { id } = await made();
    provider.withdrawn.add(KEY);
    platform.clock.ms += 60_000;
    expect((await on(id, 'connections.verify')).value).toMatchObject({
      state: 'broken',
      reason: 'credential_refused',
      verifiedAt: '2026-11-21T08:00:00.000Z',
    });
    const ref = { tenant: tenant.id, connection: id };
    expect(await refusal(platform.admin.connections.use(ref))).toMatchObject({
      status: 409,
      reason: 'connection_not_live',
    });
    await on(id, 'connections.rotate', { body: { apiKey: `${KEY}-new` } });
    expect((await on(id, 'connections.get')).value).toMatchObject({ state: 'active', reason: null });
    expect(await platform.admin.connections.use(ref)).toMatchObject({ secret: `${KEY}-new` });
    expect(await kinds(id)).toEqual(['rotated', 'broken', 'connected']);
  });

  test('a key that now belongs to another account: broken', async () => {
    const { made, on, provider } = await openLedger();
    const { id } = await made();
    provider.fault = async () => Response.json({ account: { id: 'mallory-1' } });
    expect((await on(id, 'connections.verify')).value).toMatchObject({
      state: 'broken',
      reason: 'account_changed',
    });
  });

  test('a verdict about a key that was replaced meanwhile does not count', async () => {
    const { made, on, provider } = await openLedger();
    const { id } = await made();
    provider.fault = async () => {
      provider.fault = null;
      await on(id, 'connections.rotate', { body: { apiKey: `${KEY}-new` } });
      return Response.json({ error: 'no' }, { status: 401 });
    };
    expect(await refusal(on(id, 'connections.verify'))).toMatchObject({
      status: 409,
      reason: 'connection_changed',
    });
    expect((await on(id, 'connections.get')).value).toMatchObject({ state: 'active' });
  });

  test('a provider that cannot be asked changes nothing', async () => {
    const { made, on, provider } = await openLedger();
    const before = await made();
    provider.fault = () => Promise.reject(new TypeError('fetch failed'));
    expect(await refusal(on(before.id, 'connections.verify'))).toMatchObject({ status: 502 });
    expect((await on(before.id, 'connections.get')).value).toEqual(before);
  });

  test('a key whose sealing key is gone: 503, and the connection stays', async () => {
    const provider = makeKeyProvider();
    const { made, on, platform } = await openLedger(provider);
    const before = await made();
    Object.assign(provider.options, { keyring: makeKeyring(['another sealing key, of 32 bytes and more']) });
    await platform.tamper(() => undefined);
    expect(await refusal(on(before.id, 'connections.verify'))).toMatchObject({
      status: 503,
      reason: 'credential_unreadable',
    });
    expect((await on(before.id, 'connections.get')).value).toEqual(before);
  });

  test('a credential copied over another’s row does not open', async () => {
    const { made, on, platform } = await openLedger();
    const [ours, theirs] = [await made(), await made({ apiKey: 'key-of-bob-1' })];
    await platform.tamper((database) => {
      database
        .prepare(
          'UPDATE connection_credentials SET sealed = (SELECT sealed FROM connection_credentials WHERE connection = ?) WHERE connection = ?',
        )
        .run(theirs.id, ours.id);
    });
    expect(await refusal(on(ours.id, 'connections.verify'))).toMatchObject({
      reason: 'credential_unreadable',
    });
  });
});

describe('disconnecting', () => {
  test('destroys the credential and keeps the record; doing it again changes nothing', async () => {
    const { made, on, platform, tenant, kinds } = await openLedger();
    const { id, etag } = await made();
    const gone = await on(id, 'connections.disconnect', { ifMatch: etag });
    expect(gone.value).toMatchObject({ id, state: 'disconnected', reason: 'revocation_unsupported' });
    expect(await refusal(on(id, 'connections.credential'))).toMatchObject({
      status: 404,
      reason: 'no_credential',
    });
    const ref = { tenant: tenant.id, connection: id };
    expect(await refusal(platform.admin.connections.use(ref))).toMatchObject({ status: 409 });
    const rows = await platform.adminLog({ action: 'connections.disconnect' });
    expect(rows.map(({ outcome }) => outcome)).toEqual(['intent', 'done']);
    expect((await on(id, 'connections.disconnect')).value).toEqual(gone.value);
    expect(await platform.adminLog({ action: 'connections.disconnect' })).toEqual(rows);
    expect(await kinds(id)).toEqual(['disconnected', 'connected']);
    await platform.tamper((database) => {
      expect(database.prepare('SELECT * FROM connection_credentials').all()).toEqual([]);
    });
  });

  test('a tag that is no longer the present one is refused', async () => {
    const { made, on } = await openLedger();
    const { id, etag } = await made();
    await on(id, 'connections.verify');
    expect(await refusal(on(id, 'connections.disconnect', { ifMatch: etag }))).toMatchObject({ status: 412 });
  });

  test.each(['connections.verify', 'connections.rotate'] as const)(
    '%s afterwards is a 409',
    async (operation) => {
      const { made, on } = await openLedger();
      const { id } = await made();
      await on(id, 'connections.disconnect');
      const parts = operation === 'connections.rotate' ? { body: { apiKey: `${KEY}-new` } } : {};
      expect(await refusal(on(id, operation, parts))).toMatchObject({
        status: 409,
        reason: 'connection_disconnected',
      });
    },
  );

  test('the account can be connected anew', async () => {
    const { made, on } = await openLedger();
    const { id } = await made();
    await on(id, 'connections.disconnect');
    expect((await made()).id).not.toBe(id);
  });
});

describe('spec C-18: where it may act', () => {
  type Ledger = Awaited<ReturnType<typeof openLedger>>;
  const put = ({ on, scope }: Ledger, connection: string, permission = 'order.read', into = scope.id) =>
    on(connection, 'connection-grants.put', { body: { scope: into, permission } });
  const grants = async ({ on }: Ledger, connection: string) =>
    (
      (await on(connection, 'connection-grants.list')).value as {
        items: { scope: string; permission: string }[];
      }
    ).items;

  test('is its own list: another connection of the same scope is not in it', async () => {
    const ledger = await openLedger();
    const [one, two] = [await ledger.made(), await ledger.made({ apiKey: 'key-of-bob-1' })];
    await put(ledger, one.id);
    await put(ledger, two.id, 'order.complete');
    expect(await grants(ledger, one.id)).toMatchObject([{ connection: one.id, permission: 'order.read' }]);
    expect(await grants(ledger, two.id)).toMatchObject([{ connection: two.id }]);
  });

  test('ends in the one scope that it is shut out of, as its activity shows', async () => {
    const ledger = await openLedger();
    const { platform, tenant, scope, on, kinds } = ledger;
    const second = await platform.scope(tenant.id, 'second');
    const { id } = await ledger.made();
    await put(ledger, id);
    await put(ledger, id, 'order.complete');
    await put(ledger, id, 'order.read', second.id);
    await on(id, 'connection-grants.delete', { query: { scope: scope.id } });
    expect(await grants(ledger, id)).toMatchObject([{ scope: second.id }]);
    expect(await kinds(id)).toEqual(['shut_out', 'granted', 'granted', 'granted', 'connected']);
    expect((await platform.adminLog()).at(-1)).toMatchObject({
      action: 'connection-grants.delete',
      target: { scope: scope.id },
    });
    const rows = await platform.adminLog();
    await on(id, 'connection-grants.delete', { query: { scope: scope.id } });
    expect(await platform.adminLog()).toEqual(rows);
  });

  test('is nowhere once it is disconnected', async () => {
    const ledger = await openLedger();
    const { id } = await ledger.made();
    await put(ledger, id);
    await ledger.on(id, 'connections.disconnect');
    expect(await grants(ledger, id)).toEqual([]);
  });

  test.each(['broken', 'disconnected'])('is nowhere new while it is %s', async (state) => {
    const ledger = await openLedger();
    const { id } = await ledger.made();
    ledger.provider.withdrawn.add(KEY);
    await ledger.on(id, state === 'broken' ? 'connections.verify' : 'connections.disconnect');
    const asked = ledger.platform.fieldwork.requests.length;
    expect(await refusal(put(ledger, id))).toMatchObject({ status: 409, reason: 'connection_not_active' });
    expect(ledger.platform.fieldwork.requests).toHaveLength(asked);
    expect(await grants(ledger, id)).toEqual([]);
  });
});

describe('the list', () => {
  test('is narrowed by scope and state, and goes on page by page', async () => {
    const { made, on, platform, tenant } = await openLedger();
    const second = await platform.scope(tenant.id, 'second');
    const one = await made();
    const two = await made({ apiKey: 'key-of-bob-1', scope: second.id });
    await on(one.id, 'connections.disconnect');
    const list = async (query: Record<string, unknown> = {}) => {
      const page = await platform.value<{ items: ConnectionRecord[]; nextCursor: string | null }>(
        'connections.list',
        {
          params: { tenant: tenant.id },
          query,
        },
      );
      return { ids: page.items.map(({ id }) => id), cursor: page.nextCursor };
    };
    expect((await list()).ids).toEqual([one.id, two.id]);
    expect((await list({ scope: second.id })).ids).toEqual([two.id]);
    expect((await list({ state: 'disconnected' })).ids).toEqual([one.id]);
    const first = await list({ limit: 1 });
    expect((await list({ limit: 1, cursor: first.cursor })).ids).toEqual([two.id]);
  });
});

test('spec C-18: the activity of a connection is its own, also where it is cut', async () => {
  const { made, platform, on, kinds } = await openLedger();
  const [one, two] = [await made(), await made({ apiKey: 'key-of-bob-1' })];
  await platform.tamper((database) => {
    const insert = database.prepare(
      "INSERT INTO connection_activity (connection, at, kind, actor) VALUES (?, 0, 'refreshed', 'x')",
    );
    for (let i = 0; i < 500; i++) insert.run(two.id);
  });
  await on(two.id, 'connections.verify');
  expect(await kinds(one.id)).toEqual(['connected']);
});

test('activity keeps the last 500 entries of a connection', async () => {
  const { made, platform, on } = await openLedger();
  const { id } = await made();
  await platform.tamper((database) => {
    const insert = database.prepare(
      "INSERT INTO connection_activity (connection, at, kind, actor) VALUES (?, 0, 'refreshed', 'x')",
    );
    for (let i = 0; i < 600; i++) insert.run(id);
  });
  await on(id, 'connections.verify');
  await platform.tamper((database) => {
    expect(database.prepare('SELECT count(*) AS entries FROM connection_activity').get()).toEqual({
      entries: 500,
    });
  });
});

test('a platform without providers connects no account, and says so', async () => {
  const platform = await openPlatform();
  const tenant = await platform.tenant('acme');
  const scope = await platform.scope(tenant.id);
  const call = platform.call('connections.create', {
    params: { tenant: tenant.id },
    body: { provider: 'ledger', scope: scope.id, subjectRef: 'x', apiKey: KEY },
  });
  expect(await refusal(call)).toMatchObject({ status: 400, reason: 'unknown_provider' });
});
