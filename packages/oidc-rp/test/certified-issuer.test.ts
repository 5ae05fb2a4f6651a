/** Against a certified implementation over real sockets (oidc-provider): finds errors of our issuer in memory. */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Issuer, startIssuer } from '@freehold/issuer';
import { Hono } from 'hono';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SECRET } from '../../testkit/src/oidc/fixture.ts';
import { BACKCHANNEL_LOGOUT_PATH, mountBackchannelLogout } from '../src/backchannel-logout.ts';
import type { LogoutToken } from '../src/logout-token.ts';
import { mountOidcRoutes } from '../src/mount.ts';
import { makeRelyingParty, type RelyingParty } from '../src/relying-party.ts';
import type { SignedIn } from '../src/routes.ts';

const signedIn: SignedIn[] = [];
const ended: LogoutToken[] = [];
const failures: string[] = [];
const app = new Hono();
const server = createServer(async (request, response) => {
  const answer = await app.fetch(await toWebRequest(request));
  response.writeHead(answer.status, [...answer.headers].flat());
  response.end(await answer.text());
});
let origin: string;
let issuer: Issuer;
let rp: RelyingParty;

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  issuer = await startIssuer({
    port: 0,
    env: {},
    clients: [
      {
        clientId: 'app',
        clientSecret: 'a secret of the app',
        redirectUris: [`${origin}/api/auth/callback`],
        postLogoutRedirectUris: [`${origin}/bye`],
        backchannelLogoutUri: `${origin}${BACKCHANNEL_LOGOUT_PATH}`,
      },
    ],
    onError: (error) => failures.push(String(error)),
  });
  rp = makeRelyingParty({
    env: {
      issuer: issuer.url,
      clientId: 'app',
      clientSecret: 'a secret of the app',
      sessionSecrets: [SECRET],
      baseUrl: origin,
    },
    fetch,
    now: Date.now,
  });
  const onFailure = ({ detail }: { detail: string }): void => void failures.push(detail);
  mountOidcRoutes(app, {
    resolve: () => rp,
    onSuccess: '/home',
    onSignedIn: (event) => void signedIn.push(event),
    onFailure,
  });
  mountBackchannelLogout(app, { resolve: () => rp, onLogout: (token) => void ended.push(token), onFailure });
});

afterAll(async () => {
  await issuer.close();
  await new Promise((resolve) => server.close(resolve));
});

test('B-01, B-11, B-13: a sign-in, and a federated sign-out of which the back channel tells', async () => {
  const go = makeJar();
  const page = await followRedirects(go, await locationOf(go, `${origin}/api/auth/login`));
  const form = /<form[^>]* action="([^"]+)"/.exec(page)?.[1] ?? '';
  const callback = await followRedirects(go, new URL(form, issuer.url).href, { login: 'ada' });
  expect(callback).toMatch(`${origin}/api/auth/callback?`);
  expect(await locationOf(go, callback)).toBe(`${origin}/home`);
  expect(signedIn.map(({ session }) => session.user.id)).toEqual(['ada']);
  expect(signedIn[0]?.issuerSid).toEqual(expect.any(String));

  const atIssuer = await locationOf(go, `${origin}/api/auth/logout?federated&returnTo=%2Fbye`);
  expect(await followRedirects(go, atIssuer)).toBe(`${origin}/bye`);
  expect(failures).toEqual([]);
  expect(ended).toEqual([
    {
      issuer: issuer.url,
      sub: 'ada',
      sid: signedIn[0]?.issuerSid,
      jti: expect.any(String),
      issuedAtMs: expect.any(Number),
      expiresAtMs: expect.any(Number),
    },
  ]);
});

type Go = (url: string, form?: Readonly<Record<string, string>>) => Promise<Response>;

/** Returns a browser's cookies, stored by host and name, without following redirects. */
function makeJar(): Go {
  const cookies = new Map<string, Map<string, string>>();
  return async (url, form) => {
    const { host } = new URL(url);
    const held = cookies.get(host) ?? new Map<string, string>();
    cookies.set(host, held);
    const response = await fetch(url, {
      method: form === undefined ? 'GET' : 'POST',
      headers: { cookie: [...held].map(([name, value]) => `${name}=${value}`).join('; ') },
      body: form === undefined ? null : new URLSearchParams(form),
      redirect: 'manual',
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '') held.delete(name);
      else held.set(name, value);
    }
    return response;
  };
}

async function locationOf(go: Go, url: string): Promise<string> {
  const response = await go(url);
  return new URL(response.headers.get('location') ?? '', url).href;
}

/** Follows the issuer's redirects. Returns the page at their end, or the address of ours to which they lead. */
async function followRedirects(
  go: Go,
  url: string,
  form?: Readonly<Record<string, string>>,
): Promise<string> {
  const response = await go(url, form);
  const location = response.headers.get('location');
  if (location === null) return response.text();
  const next = new URL(location, url);
  return next.origin === origin ? next.href : followRedirects(go, next.href);
}

async function toWebRequest(request: IncomingMessage): Promise<Request> {
  let body = '';
  for await (const chunk of request) body += String(chunk);
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined) headers.set(name, String(value));
  }
  const method = request.method ?? 'GET';
  return new Request(`${origin}${request.url ?? '/'}`, {
    method,
    headers,
    body: method === 'POST' ? body : null,
  });
}
