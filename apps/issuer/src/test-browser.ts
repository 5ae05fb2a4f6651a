/** A browser and a relying party for tests: fetch with a cookie jar that honours paths, and the code flow. */
import { createHash, randomBytes } from 'node:crypto';
import type { IssuerClient } from './clients.ts';
import type { Issuer } from './start-issuer.ts';

interface Cookie {
  readonly value: string;
  readonly path: string;
}

/** One browser profile. Redirects are followed within the issuer, and stop at an application. */
export interface TestBrowser {
  get(url: string): Promise<Response>;
  /** Sends a form of the issuer, and follows its redirects. */
  post(url: string, form: Record<string, string>): Promise<Response>;
}

/** The address of a redirect out of the issuer. */
export function destinationOf(response: Response): URL {
  const location = response.headers.get('location');
  if (location === null) throw new Error(`expected a redirect to an application, got ${response.status}`);
  return new URL(location);
}

export function makeBrowser(issuer: Issuer): TestBrowser {
  const jar = new Map<string, Cookie>();

  async function go(url: URL, init: RequestInit): Promise<Response> {
    const headers = new Headers(init.headers);
    const cookies = [...jar].filter(([, cookie]) => covers(cookie.path, url.pathname));
    if (cookies.length > 0) {
      headers.set('cookie', cookies.map(([key, { value }]) => `${nameOf(key)}=${value}`).join('; '));
    }
    const response = await fetch(url, { ...init, headers, redirect: 'manual' });
    for (const line of response.headers.getSetCookie()) keep(jar, line);
    const location = response.headers.get('location');
    if (location === null) return response;
    const next = new URL(location, url);
    return next.origin === url.origin ? go(next, { method: 'GET' }) : response;
  }

  return {
    get: (url) => go(new URL(url, issuer.url), { method: 'GET' }),
    post: (url, form) => go(new URL(url, issuer.url), { method: 'POST', body: new URLSearchParams(form) }),
  };
}

/** A relying party's authorization request, with the values that it must remember. */
export function authorizationRequest(
  issuer: Issuer,
  client: IssuerClient,
  extra: Readonly<Record<string, string>> = {},
): { readonly url: string; readonly verifier: string } {
  const verifier = randomBytes(32).toString('base64url');
  const url = new URL('/auth', issuer.url);
  const params = {
    client_id: client.clientId,
    redirect_uri: client.redirectUris[0] ?? '',
    response_type: 'code',
    scope: 'openid profile email',
    state: 'state-of-the-flow',
    nonce: 'nonce-of-the-flow',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    ...extra,
  };
  for (const [name, value] of Object.entries(params)) if (value !== '') url.searchParams.set(name, value);
  return { url: url.href, verifier };
}

/** The path of the page's form. */
export function formAction(page: string): string {
  const action = /<form[^>]* action="([^"]+)"/.exec(page)?.[1];
  if (action === undefined) throw new Error('the page has no form');
  return action;
}

export interface TokenResponse {
  readonly access_token: string;
  readonly id_token: string;
  readonly refresh_token?: string;
  readonly expires_in: number;
}

export async function redeemCode(
  issuer: Issuer,
  client: IssuerClient,
  request: { readonly code: string; readonly verifier: string },
): Promise<Response> {
  return askForTokens(issuer, client, {
    grant_type: 'authorization_code',
    code: request.code,
    redirect_uri: client.redirectUris[0] ?? '',
    code_verifier: request.verifier,
  });
}

/** A request to the token endpoint, with the client's secret or, for a public client, its name alone. */
export function askForTokens(
  issuer: Issuer,
  { clientId, clientSecret }: IssuerClient,
  params: Readonly<Record<string, string>>,
): Promise<Response> {
  return fetch(`${issuer.url}/token`, {
    method: 'POST',
    ...(clientSecret === undefined
      ? { body: new URLSearchParams({ ...params, client_id: clientId }) }
      : {
          headers: { authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}` },
          body: new URLSearchParams(params),
        }),
  });
}

/** Signs a person in, from a fresh request to the tokens. */
export async function signIn(
  issuer: Issuer,
  client: IssuerClient,
  {
    browser,
    login,
    extra = {},
  }: {
    readonly browser: TestBrowser;
    readonly login: string;
    readonly extra?: Readonly<Record<string, string>>;
  },
): Promise<TokenResponse> {
  const { url, verifier } = authorizationRequest(issuer, client, extra);
  const page = await browser.get(url);
  const done = await browser.post(formAction(await page.text()), { login });
  const code = destinationOf(done).searchParams.get('code') ?? '';
  const response = await redeemCode(issuer, client, { code, verifier });
  return (await response.json()) as TokenResponse;
}

function keep(jar: Map<string, Cookie>, line: string): void {
  const [pair = '', ...attributes] = line.split(';').map((part) => part.trim());
  const [name = '', value = ''] = pair.split(/=(.*)/s);
  const path = attributes.find((attribute) => /^path=/i.test(attribute))?.slice(5) ?? '/';
  const expires = attributes.find((attribute) => /^expires=/i.test(attribute))?.slice(8);
  const key = `${name} ${path}`;
  if (expires !== undefined && new Date(expires).getTime() === 0) jar.delete(key);
  else jar.set(key, { value, path });
}

function nameOf(key: string): string {
  return key.split(' ')[0] ?? '';
}

/** RFC 6265, section 5.1.4. */
function covers(cookiePath: string, path: string): boolean {
  return cookiePath === path || path.startsWith(cookiePath.endsWith('/') ? cookiePath : `${cookiePath}/`);
}
