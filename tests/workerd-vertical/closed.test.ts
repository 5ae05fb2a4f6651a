/**
 * Access to a vertical on its own socket: people through the router, by its signature; the platform through the
 * management contract, by its secret; no other caller. Addresses that tenants choose reach no private network.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PLATFORM_SECRET_HEADER } from '@freehold/contracts';
import { makeVerticalClient } from '@freehold/vertical-host/client';
import { SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { NODE_ASSERTION_HEADER, type NodeClaims } from '../../packages/app/src/worker/node-assertion.ts';
import { type Answer, Caller } from '../support/http.ts';
import { startWorkerd, type WorkerdProcess } from '../support/workerd-process.ts';
import { nodeAt, PIPES, SPARKS } from './fixture.ts';
import { fieldworkInWorkerd, openInWorkerd, type PlaceInWorkerd } from './place-in-workerd.ts';
import { makeNodeSigner, type NodeSigner } from './router.ts';
import { openWorld, type World } from './world.ts';

let world: World<PlaceInWorkerd>;
let anonymousKey: NodeSigner;
const caller = new Caller();

beforeAll(async () => {
  anonymousKey = await makeNodeSigner();
  world = await openWorld(openInWorkerd);
  for (const { tenantId, scopeId, name } of [PIPES, SPARKS]) {
    await world.client.provisionScopeLocal({ tenantId, scopeId, name });
    await world.manage('configure', { ...PIPES, tenantId, scopeId }, { config: world.config });
  }
}, 120_000);
afterAll(async () => {
  caller[Symbol.dispose]();
  await world?.close();
});

function claims(over: Partial<NodeClaims> = {}): NodeClaims {
  const found = nodeAt(`${PIPES.hostname}:${world.place.port}`, null);
  if (!found) throw new Error('the house is not in town');
  return { ...found, ...over };
}

/** Calls the worker itself, past the router. */
function askWorker(
  token: string | null,
  path = '/api/me',
  headers: Record<string, string> = {},
): Promise<Answer> {
  const url = `http://${PIPES.hostname}:${world.place.workerPort}${path}`;
  return caller.ask(url, {
    headers: { ...headers, ...(token === null ? {} : { [NODE_ASSERTION_HEADER]: token }) },
  });
}

describe('a request that the router has signed', () => {
  test('is served for the instance that it names', async () => {
    const { sign } = world.place.signer;
    expect((await askWorker(await sign(claims()))).json()).toMatchObject({ business: PIPES.name });
    const theirs = claims({ tenant: SPARKS.tenantId, scope: SPARKS.scopeId });
    expect((await askWorker(await sign(theirs))).json()).toMatchObject({ business: SPARKS.name });
  });

  test('is refused for a scope of another tenant', async () => {
    const crossed = claims({ tenant: SPARKS.tenantId });
    const answer = await askWorker(await world.place.signer.sign(crossed));
    expect([answer.status, answer.text]).toEqual([404, expect.not.stringContaining(PIPES.name)]);
  });

  test('cannot reach the management contract either', async () => {
    const answer = await askWorker(await world.place.signer.sign(claims()), '/internal/owner-seat');
    expect([answer.status, answer.json()]).toMatchObject([403, { reason: 'platform_secret_mismatch' }]);
  });
});

describe('a request without a signature', () => {
  test("is served no tenant's data, under any host name", async () => {
    for (const path of ['/', '/api/me', '/api/orders', '/api/auth/login', '/openapi.json']) {
      const answer = await askWorker(null, path);
      expect([path, answer.status, answer.json()]).toMatchObject([path, 404, { reason: 'no_instance' }]);
    }
  });

  test('is not served for the platform’s secret either', async () => {
    const secret = { [PLATFORM_SECRET_HEADER]: 'the platform secret of these tests' };
    expect((await askWorker(null, '/api/me', secret)).status).toBe(404);
  });
});

const HOUR_MS = 3_600_000;

describe('a request with an invalid claim is refused:', () => {
  test.each<readonly [why: string, token: () => string | Promise<string>]>([
    ['signed by another key', () => anonymousKey.sign(claims())],
    ['not signed at all', () => new UnsecuredJWT({ ...claims() }).setExpirationTime('1m').encode()],
    [
      'signed with what everybody knows, the public key',
      () =>
        new SignJWT({ ...claims() })
          .setProtectedHeader({ alg: 'HS256', kid: 'router-1', typ: 'freehold-node+jwt' })
          .setIssuer('freehold-router')
          .setAudience('fieldwork')
          .setIssuedAt()
          .setExpirationTime('1m')
          .sign(new TextEncoder().encode(JSON.stringify(world.place.signer.keys))),
    ],
    ['for another vertical', () => world.place.signer.sign(claims(), { audience: 'library' })],
    [
      'about another vertical',
      () => world.place.signer.sign(claims({ vertical: 'library' }), { audience: 'fieldwork' }),
    ],
    ['another kind of token', () => world.place.signer.sign(claims(), { type: 'JWT' })],
    ['of another issuer', () => world.place.signer.sign(claims(), { issuer: 'mallory' })],
    ['expired', () => world.place.signer.sign(claims(), { issuedAtMs: Date.now() - HOUR_MS })],
    [
      'old, although it says that it lasts',
      () => world.place.signer.sign(claims(), { issuedAtMs: Date.now() - HOUR_MS, lifetimeS: 86_400 }),
    ],
    ['from the future', () => world.place.signer.sign(claims(), { issuedAtMs: Date.now() + HOUR_MS })],
    ['without a scope', () => world.place.signer.sign(claims({ scope: undefined as never }))],
    ['with a tenant that is none', () => world.place.signer.sign(claims({ tenant: '../x' as never }))],
    ['not a token', () => JSON.stringify(claims())],
    ['empty', () => ''],
  ])('%s', async (_why, token) => {
    const answer = await askWorker(await token());
    expect([answer.status, answer.json()]).toMatchObject([403, { reason: 'node_assertion_refused' }]);
  });

  test('a visitor’s own claim is dropped by the router', async () => {
    const forged = await world.place.signer.sign(claims({ tenant: SPARKS.tenantId, scope: SPARKS.scopeId }));
    const headers = { [NODE_ASSERTION_HEADER]: forged };
    const answer = await world.visitor(PIPES).ask('/api/me', { headers });
    expect(answer.json()).toMatchObject({ business: PIPES.name });
  });
});

describe('a worker that lacks a secret', () => {
  const PLATFORM_SECRET = 'the only secret that is given';
  const { tenantId, scopeId, name } = PIPES;

  async function start(env: Readonly<Record<string, string>>): Promise<WorkerdProcess> {
    const workerd = await startWorkerd({ ...fieldworkInWorkerd, env });
    onTestFinished(() => workerd.close());
    return workerd;
  }

  test('D-04 of the platform refuses all management', async () => {
    const { origin } = await start({});
    const headers = { [PLATFORM_SECRET_HEADER]: '' };
    const answer = await caller.ask(`${origin}/internal/migrations`, { headers });
    expect([answer.status, answer.json()]).toMatchObject([403, { reason: 'platform_secret_unset' }]);
  });

  test('of the router, or of sealing, serves no tenant, and stores nothing in clear', async () => {
    const { origin } = await start({ PLATFORM_SECRET });
    const token = await world.place.signer.sign(claims());
    const unknown = await caller.ask(`${origin}/api/me`, { headers: { [NODE_ASSERTION_HEADER]: token } });
    expect([unknown.status, unknown.json()]).toMatchObject([403, { reason: 'node_assertion_refused' }]);
    const client = makeVerticalClient({ baseUrl: origin, platformSecret: PLATFORM_SECRET });
    await client.provisionScopeLocal({ tenantId, scopeId, name });
    const configured = await caller.ask(`${origin}/internal/configure`, {
      headers: { [PLATFORM_SECRET_HEADER]: PLATFORM_SECRET },
      json: { tenantId, scopeId, config: world.config },
    });
    expect([configured.status, configured.json()]).toMatchObject([503, { reason: 'no_seal_key' }]);
  });
});

describe('the network', () => {
  test('for addresses of tenants is the public one: no private address is reached', async () => {
    let asked = 0;
    const inside = createServer((_request, response) => {
      asked += 1;
      response.end('{}');
    }).listen(0, '127.0.0.1');
    await once(inside, 'listening');
    try {
      const issuer = `http://localhost:${(inside.address() as AddressInfo).port}`;
      const choice = JSON.stringify({ mode: 'oidc', issuer, clientId: 'fieldwork' });
      const config = { 'platform:auth': choice };
      expect((await world.manage('configure', SPARKS, { config })).status).toBe(200);
      const answer = await world.visitor(SPARKS).ask('/api/auth/login');
      expect(answer.headers.get('location')).toBe('/?error=issuer_unavailable');
      expect(asked).toBe(0);
      // The operator's own issuer is on loopback, and is reached.
      const login = await world.visitor(PIPES).ask('/api/auth/login');
      expect(login.headers.get('location')).toMatch(/^http:\/\/localhost:\d+\/auth\?/);
    } finally {
      await once(inside.close(), 'close');
    }
  });
});
