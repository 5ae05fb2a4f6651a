/** A relying party, its issuer and a browser, on one clock that only the test moves. */
import type { OidcContextOptions } from '../../../oidc-rp/src/context.ts';
import { makeRelyingParty, type RelyingParty } from '../../../oidc-rp/src/relying-party.ts';
import type { AuthRoutesOptions } from '../../../oidc-rp/src/routes.ts';
import { type Browser, makeBrowser } from './browser.ts';
import { type FakeIssuer, type FakeUser, makeFakeIssuer } from './fake-issuer.ts';

export const SECRET = 'a session secret of more than 32 bytes';
export const APP = 'https://app.example';
export const ALICE: FakeUser = {
  sub: 'alice-1',
  claims: { email: 'alice@example.org', name: 'Alice Example', email_verified: true },
};

export interface FixtureOptions {
  readonly issuerUrl?: string;
  /** `null` for a public client. */
  readonly clientSecret?: string | null;
  readonly baseUrl?: string;
  readonly sessionSecrets?: readonly string[];
  readonly allowInsecureIssuer?: boolean;
  readonly relyingParty?: Partial<OidcContextOptions>;
  readonly routes?: AuthRoutesOptions;
}

export interface Fixture {
  readonly rp: RelyingParty;
  readonly issuer: FakeIssuer;
  readonly browser: Browser;
  readonly clock: { nowMs: number };
  /** Sends a request of the browser, whose cookies are stored. A path, or a URL of the app. */
  visit(pathOrUrl: string, options?: Parameters<Browser['request']>[1]): Promise<Response>;
  /** Starts a sign-in and approves it. Returns the callback URL, not visited yet. */
  approve(options?: { user?: FakeUser; returnTo?: string }): Promise<string>;
  /** Signs in. Returns the callback's response. */
  signIn(options?: { user?: FakeUser; returnTo?: string }): Promise<Response>;
  /** Another relying party of the same issuer and clock. */
  other(options: Partial<OidcContextOptions>): RelyingParty;
}

export async function makeFixture(options: FixtureOptions = {}): Promise<Fixture> {
  const clock = { nowMs: Date.UTC(2026, 0, 1, 12) };
  const now = (): number => clock.nowMs;
  const clientId = 'client-1';
  const clientSecret = options.clientSecret === undefined ? 's3cret of the client+/' : options.clientSecret;
  const issuer = await makeFakeIssuer({
    ...(options.issuerUrl === undefined ? {} : { url: options.issuerUrl }),
    ...(clientSecret === null ? {} : { clientSecret }),
    clientId,
    now,
  });
  const base: OidcContextOptions = {
    env: {
      issuer: issuer.url,
      clientId,
      sessionSecrets: options.sessionSecrets ?? [SECRET],
      ...(clientSecret === null ? {} : { clientSecret }),
      ...(options.baseUrl === undefined ? {} : { baseUrl: options.baseUrl }),
      ...(options.allowInsecureIssuer === undefined
        ? {}
        : { allowInsecureIssuer: options.allowInsecureIssuer }),
    },
    fetch: issuer.fetch,
    now,
    // No test waits: a deadline passes only where a test makes it pass.
    deadline: () => new AbortController().signal,
    ...options.relyingParty,
  };
  const rp = makeRelyingParty(base);
  const browser = makeBrowser(now);

  async function visit(
    pathOrUrl: string,
    request: Parameters<Browser['request']>[1] = {},
  ): Promise<Response> {
    const url = new URL(pathOrUrl, APP).href;
    const response = await rp.handle(browser.request(url, request), options.routes);
    browser.store(url, response);
    return response;
  }

  async function approve({
    user = ALICE,
    returnTo,
  }: {
    user?: FakeUser;
    returnTo?: string;
  } = {}): Promise<string> {
    const query = returnTo === undefined ? '' : `?${new URLSearchParams({ returnTo })}`;
    const response = await visit(`/api/auth/login${query}`);
    return issuer.approve(response.headers.get('location') ?? '', user);
  }

  return {
    rp,
    issuer,
    browser,
    clock,
    visit,
    approve,
    signIn: async (login) => visit(await approve(login)),
    other: (changes) => makeRelyingParty({ ...base, ...changes }),
  };
}
