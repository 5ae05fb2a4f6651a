/**
 * Connecting an account from end to end: a vertical asks with the helper it has, a browser goes through a certified OpenID
 * provider that runs beside this test, and the credential that comes of it opens, works, and shows nowhere.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { verticalSecret } from '@freehold/contracts/http';
import type { ConnectionProviders } from '@freehold/directory';
import { makeKeyring } from '@freehold/store';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startIssuer } from '../../../../apps/issuer/src/index.ts';
import {
  type ConnectUrlOrder,
  ConnectUrlRequestError,
  requestConnectUrl,
} from '../../../vertical-host/src/connect/request-connect-url.ts';
import { makeControlPlaneClient } from '../../src/client/index.ts';
import { openRealPlatform, PLATFORM_SECRET } from '../support/real-platform.ts';
import { makeBrowser } from './browser.ts';

const BASE_URL = 'http://api.localhost:8787';
const APP = 'acme.localhost:8787';
const CLIENT_SECRET = 'the client secret of the platform at the provider';

async function openFixture() {
  const issuer = await startIssuer({
    port: 0,
    env: {},
    onError: () => undefined,
    clients: [
      {
        clientId: 'freehold',
        clientSecret: CLIENT_SECRET,
        redirectUris: [`${BASE_URL}/connect/callback/calendar`],
        postLogoutRedirectUris: [],
      },
    ],
  });
  onTestFinished(() => issuer.close());
  const providers: ConnectionProviders = {
    calendar: {
      kind: 'oauth2',
      name: 'Calendar',
      authorizationEndpoint: `${issuer.url}/auth`,
      tokenEndpoint: `${issuer.url}/token`,
      revocationEndpoint: `${issuer.url}/token/revocation`,
      scopes: ['openid', 'email', 'offline_access'],
      clientId: 'freehold',
      clientSecret: CLIENT_SECRET,
      issuer: issuer.url,
      authorizationParams: { prompt: 'consent' },
      identity: { endpoint: `${issuer.url}/me`, accountName: 'email' },
    },
    ledger: { kind: 'api-key', name: 'Ledger', probe: { endpoint: 'https://ledger.example/me' } },
  };
  /** The answers of the provider, as the wiring's fetch saw them. */
  const tokens: string[] = [];
  const platform = await openRealPlatform({
    connections: {
      providers,
      keyring: makeKeyring(['a sealing key of the tests, 32 bytes and more']),
      baseUrl: () => BASE_URL,
      fetch: async (url, init) => {
        const response = await fetch(url, init);
        const json: unknown = await response
          .clone()
          .json()
          .catch(() => null);
        for (const name of ['access_token', 'refresh_token', 'id_token']) {
          const token = (json as Record<string, unknown> | null)?.[name];
          if (typeof token === 'string') tokens.push(token);
        }
        return response;
      },
    },
  });
  onTestFinished(() => platform[Symbol.asyncDispose]());
  const client = makeControlPlaneClient(platform.clientOptions());
  const tenant = await client.tenants.create({ body: { slug: 'acme', name: 'Acme' } });
  const scope = await client.scopes.provision({
    params: { tenant: tenant.id },
    body: { slug: 'main', name: 'Main', vertical: 'fieldwork' },
  });
  await client.hostnames.bind({ body: { hostname: 'acme.localhost', tenant: tenant.id, scope: scope.id } });

  const order: ConnectUrlOrder = {
    controlPlaneUrl: BASE_URL,
    platformSecret: await verticalSecret(PLATFORM_SECRET, 'fieldwork'),
    tenantId: tenant.id,
    scopeId: scope.id,
    provider: 'calendar',
    createdBy: 'prn_01jd0000000000000000000001',
    subjectRef: 'team calendar',
    returnUrl: `http://${APP}/settings?tab=connections`,
  };
  const ask = (more: Partial<ConnectUrlOrder> = {}) =>
    requestConnectUrl({ ...order, ...more }, { fetch: platform.send });
  const newBrowser = () => makeBrowser({ 'api.localhost:8787': platform.send }, [APP]);
  return { issuer, platform, client, tenant, scope, order, ask, newBrowser, tokens };
}

/** Signs in at the provider's page, or cancels there. */
function form(page: string, fields: Record<string, string>): [path: string, init: RequestInit] {
  const action = /<form[^>]* action="([^"]+)"/.exec(page)?.[1];
  if (action === undefined) throw new Error('the page has no form');
  return [action, { method: 'POST', body: new URLSearchParams(fields) }];
}

describe('spec 4.7: a consent round through a real provider', () => {
  test('D-15, D-17, C-18: ends with a connection whose credential works, and shows nowhere', async () => {
    const { issuer, platform, client, tenant, ask, newBrowser, tokens, order } = await openFixture();
    const asked = await ask();
    expect(asked.vertical).toBe('fieldwork');
    expect(asked.expiresAt).toBe('2026-11-21T08:15:00.000Z');

    const browser = newBrowser();
    const page = await browser.go(asked.url);
    expect(page.url.origin).toBe(issuer.url);
    const [action, init] = form(await page.response.text(), { login: 'ada' });
    const back = (await browser.go(new URL(action, issuer.url), init)).url;
    expect(back.origin + back.pathname).toBe(`http://${APP}/settings`);
    const { connection = '', ...rest } = Object.fromEntries(back.searchParams);
    expect(rest).toEqual({ tab: 'connections', subjectRef: 'team calendar' });

    const params = { tenant: tenant.id, connection };
    const record = await client.connections.get({ params });
    expect(record).toMatchObject({
      vertical: 'fieldwork',
      provider: 'calendar',
      subjectRef: 'team calendar',
      createdBy: order.createdBy,
      state: 'active',
    });
    expect(record.scopes).toEqual(expect.arrayContaining(['openid', 'email', 'offline_access']));
    expect(await client.connections.credential({ params })).toMatchObject({
      kind: 'oauth2',
      refreshable: true,
    });

    // It opens, and the provider takes it; also after a refresh.
    const used = await platform.hostAdmin.connections.use(params);
    const me = await fetch(`${issuer.url}/me`, { headers: { authorization: `Bearer ${used.secret}` } });
    expect(await me.json()).toMatchObject({ sub: record.account, email: record.accountName });
    expect((await client.connections.verify({ params })).state).toBe('active');

    const rows = await client.adminLog.list({ query: { tenant: tenant.id } });
    expect(rows.items.map(({ action: name }) => name)).toContain('connections.connect');
    expect(await client.adminLog.verify()).toMatchObject({ firstBad: null });

    expect(tokens.length).toBeGreaterThanOrEqual(3);
    const ticket = new URL(asked.url).pathname.split('/').at(-1) ?? '';
    const everything = JSON.stringify([
      browser.received,
      platform.lines,
      platform.incidents.map(String),
      rows,
      await client.accessLog.list(),
      await client.connections.activity({ params }),
    ]);
    for (const secret of [...tokens, CLIENT_SECRET, PLATFORM_SECRET, order.platformSecret]) {
      expect(everything).not.toContain(secret);
      for (const file of databaseFiles(platform.dataDirectory)) expect(file.includes(secret)).toBe(false);
    }
    // The ticket is in the address of one redirect, and in nothing that is logged or kept.
    expect(JSON.stringify([platform.lines, rows])).not.toContain(ticket);
    for (const file of databaseFiles(platform.dataDirectory)) expect(file.includes(ticket)).toBe(false);
    expect(platform.incidents).toEqual([]);
  });

  test('disconnecting revokes it at the provider', async () => {
    const { issuer, platform, client, tenant, ask, newBrowser } = await openFixture();
    const browser = newBrowser();
    const page = await browser.go((await ask()).url);
    const [action, init] = form(await page.response.text(), { login: 'ada' });
    const back = (await browser.go(new URL(action, issuer.url), init)).url;
    const params = { tenant: tenant.id, connection: back.searchParams.get('connection') ?? '' };
    const { secret } = await platform.hostAdmin.connections.use(params);
    expect(await client.connections.disconnect({ params })).toMatchObject({
      state: 'disconnected',
      reason: 'revoked',
    });
    const me = await fetch(`${issuer.url}/me`, { headers: { authorization: `Bearer ${secret}` } });
    expect(me.status).toBe(401);
  });

  test('a member who refuses is sent back with the reason, and nothing is connected', async () => {
    const { issuer, client, tenant, ask, newBrowser } = await openFixture();
    const browser = newBrowser();
    const page = await browser.go((await ask()).url);
    const [action, init] = form(await page.response.text(), { cancel: '1' });
    const back = (await browser.go(new URL(action, issuer.url), init)).url;
    expect(Object.fromEntries(back.searchParams)).toEqual({
      tab: 'connections',
      error: 'consent_denied',
      subjectRef: 'team calendar',
    });
    expect((await client.connections.list({ params: { tenant: tenant.id } })).items).toEqual([]);
  });

  test('the same URL again, and the same answer again, are refused with a page', async () => {
    const { issuer, ask, newBrowser, platform } = await openFixture();
    const { url } = await ask();
    const browser = newBrowser();
    const page = await browser.go(url);
    const again = await newBrowser().go(url);
    expect(again.url.href).toBe(url);
    expect(again.response.status).toBe(409);
    const [action, init] = form(await page.response.text(), { login: 'ada' });
    await browser.go(new URL(action, issuer.url), init);
    const callback = browser.received
      .map((line) => (JSON.parse(line) as [string])[0])
      .find((address) => address.includes('/connect/callback/'));
    const replayed = await browser.go(callback ?? '');
    // The cookie went with the first answer.
    expect(replayed.response.status).toBe(403);
    const anonymous = await platform.send(new Request(callback ?? ''));
    expect(await anonymous.json()).toMatchObject({ status: 403, reason: 'wrong_browser' });
  });
});

describe('spec 7.6, D-16: what the helper is refused', () => {
  test.each<[string, Partial<ConnectUrlOrder>, number, string, string | undefined]>([
    ['more than 900 seconds', { ttlSeconds: 901 }, 400, 'validation_failed', undefined],
    ['an unknown provider', { provider: 'nowhere' }, 400, 'validation_failed', 'unknown_provider'],
    [
      'a provider without a consent round',
      { provider: 'ledger' },
      400,
      'validation_failed',
      'no_consent_round',
    ],
    [
      'plain http',
      { returnUrl: 'http://acme.example.com/' },
      400,
      'validation_failed',
      'return_url_not_https',
    ],
    [
      'an unbound host',
      { returnUrl: 'https://evil.example.com/' },
      400,
      'validation_failed',
      'return_url_unbound',
    ],
    [
      'another port',
      { returnUrl: 'http://acme.localhost:1/' },
      400,
      'validation_failed',
      'return_url_unbound',
    ],
    ['another secret', { platformSecret: 'x' }, 403, 'forbidden', 'platform_secret_mismatch'],
    [
      'the platform’s own secret',
      { platformSecret: PLATFORM_SECRET },
      403,
      'forbidden',
      'platform_secret_mismatch',
    ],
    ['an unknown scope', { scopeId: 'scp_01jd0000000000000000000009' }, 404, 'not_found', 'unknown_scope'],
    ['a field of its own', { vertical: 'x' } as object, 400, 'validation_failed', undefined],
  ])('%s', async (_, more, status, code, reason) => {
    const { ask } = await openFixture();
    const error = await ask(more).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConnectUrlRequestError);
    expect(error).toMatchObject({ status, code, reason });
    expect((error as ConnectUrlRequestError).detail).not.toContain(PLATFORM_SECRET);
  });
});

/** Every file of the directory's database, its log and its history included. */
function databaseFiles(dataDirectory: string): Buffer[] {
  return readdirSync(dataDirectory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name)));
}
