/** The rights of a push token: its kind, its verticals and scopes, and the one rule for looks into a scope. */
import { describe, expect, test } from 'vitest';
import { openPlatform, type Platform, refusal } from '../../test/platform.ts';
import { chattyTelemetry, makeRuntimeDouble, openApp } from '../../test/registry.ts';
import { sessionOf, staffMember } from '../../test/staff.ts';
import type { Actor } from '../access/actors.ts';
import type { PushTokenRecord, ScopeRecord } from '../admin-operations.ts';
import { type AdminOperation, adminOperations } from '../admin-operations.ts';

type Made = { token: PushTokenRecord; secret: string };

/** A tenant with a scope of the platform's vertical, and one of its own. */
async function open() {
  const platform = await openPlatform({ runtime: makeRuntimeDouble(), telemetry: chattyTelemetry });
  platform.ownVerticals.add('acme-app');
  const { id: tenant } = await platform.tenant('acme');
  const bought = await platform.scope(tenant);
  await openApp(platform, tenant, 'acme-app');
  await platform.call('install-blocks.delete', { params: { slug: 'acme-app' } });
  const own = await platform.value<ScopeRecord>('scopes.provision', {
    params: { tenant },
    body: { slug: 'own', name: 'Own', vertical: 'acme-app' },
  });
  return { platform, tenant, bought, own };
}

async function holding(platform: Platform, tenant: string, body: Record<string, unknown>) {
  const made = await platform.value<Made>('push-tokens.create', { body: { name: 'ci', tenant, ...body } });
  return { ...made, as: (await platform.admin.authenticate(made.secret)) as Actor };
}

const at = ({ tenant, id }: ScopeRecord) => ({ tenant, scope: id });
const rowsOf = (platform: Platform, scope: ScopeRecord, as: Actor) =>
  platform.call('tables.read', { params: { ...at(scope), table: 'orders' }, as });
const claim = (platform: Platform, scope: ScopeRecord, as: Actor) =>
  platform.call('owner-claim.mint', { params: at(scope), as });

describe('spec C-29: the kind of a push token', () => {
  test('is deploy unless it is named, and is listed', async () => {
    const { platform, tenant } = await open();
    const { token } = await holding(platform, tenant, {});
    expect(token).toMatchObject({ kind: 'deploy', verticals: null, scopes: null, replaces: null });
    const of = async (kind: string) =>
      (await platform.value<{ items: PushTokenRecord[] }>('push-tokens.list', { query: { kind } })).items;
    expect(await of('deploy')).toMatchObject([{ id: token.id, kind: 'deploy' }]);
    expect(await of('legacy')).toEqual([]);
    expect((await platform.adminLog()).at(-1)?.after).toMatchObject({ kind: 'push', rights: 'deploy' });
  });

  test('deploy: versions and waves of what the tenant owns, and no look into a scope, setting, seat or name', async () => {
    const { platform, tenant, own, bought } = await open();
    const { as } = await holding(platform, tenant, { kind: 'deploy' });
    const params = { slug: 'acme-app', channel: 'prod' };
    expect((await platform.call('channels.promote', { params, body: { version: '1.1.0' }, as })).status).toBe(
      200,
    );
    const bind = (scope: ScopeRecord) =>
      platform.call('scope-version.set', { params: at(scope), body: { channel: 'prod' }, as });
    expect((await bind(own)).status).toBe(200);
    expect(await refusal(bind(bought))).toMatchObject({ status: 403, reason: 'vertical_not_owned' });
    for (const refused of [
      rowsOf(platform, own, as),
      claim(platform, own, as),
      platform.call('scopes.configure', { params: at(own), body: { config: { A: 'b' } }, as }),
      platform.call('hostnames.bind', { body: { hostname: 'acme.localhost', scope: own.id }, as }),
    ])
      expect(await refusal(refused)).toMatchObject({ status: 403, code: 'forbidden', reason: 'token_kind' });
    const logs = (query: Record<string, unknown>) =>
      platform.call('observability.tenant-logs', { query, as });
    expect((await logs({ vertical: 'acme-app' })).status).toBe(200);
    expect(await refusal(logs({}))).toMatchObject({ status: 403, reason: 'target_required' });
    expect(await refusal(logs({ vertical: 'fieldwork' }))).toMatchObject({ status: 404 });
  });

  test('read: adds looks into scopes of verticals that the tenant owns', async () => {
    const { platform, tenant, own, bought } = await open();
    const { as } = await holding(platform, tenant, { kind: 'read' });
    expect((await rowsOf(platform, own, as)).status).toBe(200);
    expect(await refusal(rowsOf(platform, bought, as))).toMatchObject({
      status: 403,
      reason: 'vertical_not_owned',
    });
    expect(await refusal(claim(platform, own, as))).toMatchObject({ status: 403, reason: 'token_kind' });
  });

  test('operate: adds settings, the owner claim and host names of every scope, and rows by the same rule', async () => {
    const { platform, tenant, bought, own } = await open();
    const { as } = await holding(platform, tenant, { kind: 'operate' });
    const bind = { hostname: 'acme.localhost', scope: bought.id };
    expect((await platform.call('hostnames.bind', { body: bind, as })).status).toBe(201);
    expect((await claim(platform, bought, as)).status).toBe(201);
    expect((await rowsOf(platform, own, as)).status).toBe(200);
    expect(await refusal(rowsOf(platform, bought, as))).toMatchObject({ reason: 'vertical_not_owned' });
  });

  test('a person who builds reads rows by the same rule', async () => {
    const { platform, tenant, bought, own } = await open();
    await staffMember(platform, { login: 'bob', role: 'builder', tenant });
    const as = (await platform.admin.staff.session(sessionOf('bob'))) as Actor;
    expect((await rowsOf(platform, own, as)).status).toBe(200);
    const reads = Object.values(adminOperations).filter(
      ({ builder, audit, input }) => builder === 'own-tenant' && audit === 'access' && input.params,
    );
    expect(reads.length).toBeGreaterThan(10);
    for (const { name } of reads)
      expect(
        await refusal(
          platform.admin.perform({
            operation: name,
            params: at(bought),
            query: {},
            body: {},
            actor: as,
            requestId: 'req-rows',
          }),
        ),
        name,
      ).toMatchObject({ status: 403, reason: 'vertical_not_owned' });
  });
});

describe('a token that is narrowed', () => {
  test('to a scope reaches no other: what it may not see is not there', async () => {
    const { platform, tenant, own, bought } = await open();
    const { as, token } = await holding(platform, tenant, { kind: 'operate', scopes: [own.id] });
    expect(token).toMatchObject({ scopes: [own.id] });
    expect((await rowsOf(platform, own, as)).status).toBe(200);
    expect(await refusal(rowsOf(platform, bought, as))).toMatchObject({
      status: 404,
      reason: 'unknown_scope',
    });
    expect(await refusal(claim(platform, bought, as))).toMatchObject({
      status: 404,
      reason: 'unknown_scope',
    });
    const get = (slug: string) => platform.call('verticals.get', { params: { slug }, as });
    expect(await refusal(get('acme-app'))).toMatchObject({ status: 404, reason: 'unknown_vertical' });
    const provision = { slug: 'third', name: 'Third', vertical: 'acme-app' };
    expect(
      await refusal(platform.call('scopes.provision', { params: { tenant }, body: provision, as })),
    ).toMatchObject({ status: 404 });
  });

  test('to a vertical reaches its scopes, and may make no vertical of another name', async () => {
    const { platform, tenant, own, bought } = await open();
    const { as } = await holding(platform, tenant, { kind: 'operate', verticals: ['acme-app', 'acme-new'] });
    expect((await platform.call('verticals.get', { params: { slug: 'acme-app' }, as })).status).toBe(200);
    expect((await rowsOf(platform, own, as)).status).toBe(200);
    expect(await refusal(rowsOf(platform, bought, as))).toMatchObject({ status: 404 });
    const make = (slug: string) => platform.call('verticals.create', { body: { slug, name: slug }, as });
    expect((await make('acme-new')).status).toBe(201);
    expect(await refusal(make('acme-other'))).toMatchObject({ status: 409, reason: 'slug_taken' });
  });

  test('to a vertical and a scope reaches neither the vertical as a whole nor its other scopes', async () => {
    const { platform, tenant, own } = await open();
    const body = { slug: 'other', name: 'Other', vertical: 'acme-app' };
    const other = await platform.value<ScopeRecord>('scopes.provision', { params: { tenant }, body });
    const narrowed = { verticals: ['acme-app'], scopes: [own.id] };
    const { as } = await holding(platform, tenant, { kind: 'operate', ...narrowed });
    expect((await rowsOf(platform, own, as)).status).toBe(200);
    expect(await refusal(rowsOf(platform, other, as))).toMatchObject({
      status: 404,
      reason: 'unknown_scope',
    });
    const deploy = await holding(platform, tenant, { kind: 'deploy', ...narrowed });
    const params = { slug: 'acme-app' };
    const wholes = [
      () => platform.call('scopes.list', { params: { tenant }, query: { vertical: 'acme-app' }, as }),
      () => platform.call('verticals.get', { params, as }),
      () => platform.call('verticals.instances', { params, as }),
      () =>
        platform.call('channels.promote', {
          params: { ...params, channel: 'prod' },
          body: { version: '1.1.0' },
          as: deploy.as,
        }),
    ];
    for (const whole of wholes)
      expect(await refusal(whole())).toMatchObject({ status: 404, reason: 'unknown_vertical' });
  });

  test('must name a vertical or a scope in every call that could be about others', async () => {
    const { platform, tenant, own, bought } = await open();
    await platform.hostname(bought, 'bought.localhost');
    const { as } = await holding(platform, tenant, { kind: 'operate', scopes: [own.id] });
    for (const name of ['scopes.list', 'connections.list'] as const)
      expect(await refusal(platform.call(name, { params: { tenant }, as })), name).toMatchObject({
        status: 403,
        reason: 'target_required',
      });
    for (const name of ['hostnames.list', 'ops-failures.list', 'operations.list', 'verticals.list'] as const)
      expect(await refusal(platform.call(name, { as })), name).toMatchObject({ reason: 'target_required' });
    expect((await platform.call('hostnames.list', { query: { scope: own.id }, as })).status).toBe(200);
    const off = { hostname: 'bought.localhost', status: 'disabled' };
    expect(await refusal(platform.call('hostnames.set-status', { body: off, as }))).toMatchObject({
      status: 404,
      reason: 'unknown_hostname',
    });
    expect((await platform.call('tenants.get', { params: { tenant }, as })).status).toBe(200);
  });

  test('is made only for scopes of its tenant', async () => {
    const { platform, tenant } = await open();
    const foreign = await platform.scope((await platform.tenant('beta')).id);
    for (const scopes of [[foreign.id], ['scp_01jd0000000000000000000009']])
      expect(await refusal(holding(platform, tenant, { scopes }))).toMatchObject({
        status: 404,
        reason: 'unknown_scope',
      });
    expect(await refusal(holding(platform, tenant, { scopes: [] }))).toMatchObject({ status: 400 });
  });
});

describe('a token replaces and revokes only tokens that may do no more than itself', () => {
  test('and the successor may do what the replaced one could', async () => {
    const { platform, tenant, own } = await open();
    const weak = await holding(platform, tenant, { verticals: ['acme-app'] });
    const strong = await holding(platform, tenant, { kind: 'operate' });
    const narrow = await holding(platform, tenant, { kind: 'operate', scopes: [own.id] });
    const rotate = (target: Made, as: Actor) =>
      platform.value<Made>('push-tokens.rotate', { params: { token: target.token.id }, body: {}, as });
    for (const stronger of [strong, narrow]) {
      expect(await refusal(rotate(stronger, weak.as))).toMatchObject({ status: 403, reason: 'token_kind' });
      const revoke = platform.call('push-tokens.revoke', {
        params: { token: stronger.token.id },
        as: weak.as,
      });
      expect(await refusal(revoke)).toMatchObject({ status: 403, reason: 'token_kind' });
    }
    expect((await rotate(weak, weak.as)).token).toMatchObject({ kind: 'deploy', verticals: ['acme-app'] });
    expect((await rotate(narrow, strong.as)).token).toMatchObject({ kind: 'operate', scopes: [own.id] });
  });
});

describe('a token from before kinds', () => {
  /** As the directory of an earlier version holds it. */
  async function legacy() {
    const opened = await open();
    const made = await holding(opened.platform, opened.tenant, { kind: 'deploy' });
    await opened.platform.tamper((database) =>
      database.prepare('UPDATE tokens SET rights = NULL WHERE id = ?').run(made.token.id),
    );
    return { ...opened, made, as: (await opened.platform.admin.authenticate(made.secret)) as Actor };
  }

  test('keeps what it could do, and is listed and counted as legacy until it ends', async () => {
    const { platform, bought, made, as } = await legacy();
    expect((await rowsOf(platform, bought, as)).status).toBe(200);
    expect(
      (await platform.call('hostnames.bind', { body: { hostname: 'acme.localhost', scope: bought.id }, as }))
        .status,
    ).toBe(201);
    const { items } = await platform.value<{ items: PushTokenRecord[] }>('push-tokens.list', {
      query: { kind: 'legacy' },
    });
    expect(items).toMatchObject([{ id: made.token.id, kind: 'legacy' }]);
    expect(await platform.admin.legacyPushTokens()).toBe(1);
    await platform.call('push-tokens.revoke', { params: { token: made.token.id } });
    expect(await platform.admin.legacyPushTokens()).toBe(0);
  });

  test('ends at its expiry: no successor works longer, and only itself and staff make one', async () => {
    const { platform, tenant, made } = await legacy();
    const rotate = (as?: Actor) =>
      platform.value<Made>('push-tokens.rotate', {
        params: { token: made.token.id },
        body: { expiresInDays: 365 },
        ...(as ? { as } : {}),
      });
    const { as } = await holding(platform, tenant, { kind: 'operate' });
    expect(await refusal(rotate(as))).toMatchObject({ status: 403, reason: 'token_kind' });
    expect(await refusal(rotate(platform.builder(tenant)))).toMatchObject({
      status: 403,
      reason: 'token_kind',
    });
    expect((await rotate()).token).toMatchObject({ kind: 'legacy', expiresAt: made.token.expiresAt });
  });
});

test('the least kind of each operation, listed again by hand: the declarations must agree', () => {
  const least = (kind: string) =>
    (Object.values(adminOperations) as AdminOperation[])
      .filter(({ builder, pushToken }) => builder === 'own-tenant' && (pushToken ?? 'operate') === kind)
      .map(({ name }) => name)
      .sort();
  expect(least('deploy')).toEqual([
    ...[
      'channels.list',
      'channels.promote',
      'fleet-migrations.get',
      'install-blocks.delete',
      'install-blocks.get',
    ],
    ...['install-blocks.put', 'listings.get', 'listings.put', 'listings.request-publish', 'migrations.get'],
    ...['observability.tenant-lines', 'observability.tenant-logs', 'observability.tenant-metrics'],
    ...['observability.tenant-metrics-series'],
    ...[
      'operations.get',
      'operations.list',
      'previews.create',
      'previews.end',
      'previews.list',
      'previews.open',
    ],
    ...['push-tokens.list', 'push-tokens.revoke', 'push-tokens.rotate'],
    ...['scope-version.get', 'scope-version.set', 'scopes.get', 'scopes.list'],
    ...['secrets.list', 'secrets.remove', 'secrets.rotate', 'secrets.set', 'tenants.get', 'tenants.list'],
    ...[
      'vertical-versions.admit',
      'vertical-versions.discard',
      'vertical-versions.get',
      'vertical-versions.list',
      'vertical-versions.register',
    ],
    ...[
      'vertical-versions.reject',
      'verticals.create',
      'verticals.deploy',
      'verticals.get',
      'verticals.instances',
    ],
    ...['verticals.list', 'verticals.modules', 'verticals.move', 'verticals.update'],
  ]);
  expect(least('read')).toEqual([
    ...['bookmarks.list', 'cause.get', 'dead-letters.list', 'denials.list', 'denials.summary', 'effects.get'],
    ...['facets.get', 'health.get', 'history.get', 'invocation.get', 'owner-seat.get', 'scope-backups.list'],
    ...['snapshots.list', 'tables.list', 'tables.read'],
  ]);
});
