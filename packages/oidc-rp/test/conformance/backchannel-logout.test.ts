/** oidcc-client-back-channel-logout-rp-basic, module by module. */
import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { type FakeBehaviour, withoutSignature } from '../../../testkit/src/oidc/fake-issuer.ts';
import { ALICE, APP } from '../../../testkit/src/oidc/fixture.ts';
import { BACKCHANNEL_LOGOUT_PATH, mountBackchannelLogout } from '../../src/backchannel-logout.ts';
import type { OidcError } from '../../src/lib/errors.ts';
import type { LogoutToken } from '../../src/logout-token.ts';
import { mountOidcRoutes } from '../../src/mount.ts';
import { makeClient, reasonOf, titled } from './client.ts';

const MODULE = 'oidcc-client-test-rp-backchannel-rpinitlogout';
const ISSUER_SESSION = 'session-at-the-issuer';

/** The outcome of the issuer's request, after a sign-in and a sign-out that this client began. */
interface LoggedOut {
  readonly status: number;
  readonly cacheControl: string | null;
  readonly body: string;
  /** The exact refusal, or null. */
  readonly because: string | null;
  /** The sessions that the application was asked to end. */
  readonly ended: readonly LogoutToken[];
  /** The session of ours that the sign-in began, if the ended ones lead to it. */
  readonly endedSession: string | undefined;
}

/**
 * Runs a whole module: sign-in, RP-initiated logout at the issuer, and the issuer's logout token on the back
 * channel.
 */
async function logOut(behaviour: FakeBehaviour = {}): Promise<LoggedOut & { session: string | undefined }> {
  const client = await makeClient();
  const { issuer, rp, browser } = client;
  // The client is registered with one algorithm, so that the issuer's other published key is a wrong one.
  issuer.behaviour.metadata = { id_token_signing_alg_values_supported: ['ES256'] };
  const failures: OidcError[] = [];
  const ended: LogoutToken[] = [];
  const sessionsByIssuerSid = new Map<string, string>();
  const app = new Hono();
  mountOidcRoutes(app, {
    resolve: () => rp,
    onSignedIn: ({ session, issuerSid }) =>
      void (issuerSid !== undefined && sessionsByIssuerSid.set(issuerSid, session.sid)),
  });
  mountBackchannelLogout(app, {
    resolve: () => rp,
    onLogout: (token) => void ended.push(token),
    onFailure: (error) => failures.push(error),
  });
  const visit = async (url: string): Promise<Response> => {
    const response = await app.request(browser.request(url));
    browser.store(url, response);
    return response;
  };
  const login = await visit(`${APP}/api/auth/login`);
  const user = { ...ALICE, claims: { ...ALICE.claims, sid: ISSUER_SESSION } };
  await visit(issuer.approve(login.headers.get('location') ?? '', user));
  const session = rp.verifiedSessionFromHeaders(browser.request(`${APP}/page`).headers)?.sid;
  const logout = await visit(`${APP}/api/auth/logout?federated`);
  expect(logout.headers.get('location')).toMatch(/^https:\/\/issuer\.example\/logout\?id_token_hint=/);

  Object.assign(issuer.behaviour, behaviour);
  const response = await app.request(`${APP}${BACKCHANNEL_LOGOUT_PATH}`, {
    method: 'POST',
    body: new URLSearchParams({
      logout_token: await issuer.logoutToken({ sub: ALICE.sub, sid: ISSUER_SESSION }),
    }),
  });
  return {
    status: response.status,
    cacheControl: response.headers.get('cache-control'),
    body: await response.text(),
    because: reasonOf(failures.at(-1)),
    ended,
    endedSession: sessionsByIssuerSid.get(ended[0]?.sid ?? ''),
    session,
  };
}

test(`${MODULE}: the issuer does nothing wrong`, async () => {
  const { session, ...outcome } = await logOut();
  expect(session).toEqual(expect.any(String));
  expect(outcome).toEqual({
    status: 200,
    cacheControl: 'no-store',
    body: '',
    because: null,
    ended: [
      {
        issuer: 'https://issuer.example',
        sub: ALICE.sub,
        sid: ISSUER_SESSION,
        jti: expect.any(String),
        issuedAtMs: Date.UTC(2026, 0, 1, 12),
        expiresAtMs: Date.UTC(2026, 0, 1, 12, 2),
      },
    ],
    endedSession: session,
  });
});

test.each(
  titled<{ module: string; fault: string; because: string; behaviour: FakeBehaviour }>([
    {
      module: `${MODULE}-alg-none`,
      fault: 'does not sign',
      because: 'ERR_JOSE_ALG_NOT_ALLOWED',
      behaviour: { logoutToken: withoutSignature },
    },
    {
      module: `${MODULE}-wrong-alg`,
      fault: 'announces ES256 and signs with RS256 and a published key',
      because: 'ERR_JOSE_ALG_NOT_ALLOWED',
      behaviour: { algorithm: 'RS256' },
    },
    {
      module: `${MODULE}-no-event`,
      fault: 'leaves the events out',
      because: 'ERR_JWT_CLAIM_VALIDATION_FAILED events',
      behaviour: changing({ events: undefined }),
    },
    {
      module: `${MODULE}-wrong-event`,
      fault: 'announces another event',
      because: 'The logout token announces no logout.',
      behaviour: changing({ events: { 'http://schemas.openid.net/event/backchannel-logout-wrong': {} } }),
    },
    {
      module: `${MODULE}-with-nonce`,
      fault: 'puts a nonce in the logout token',
      because: 'The logout token has a nonce.',
      behaviour: changing({ nonce: 'any' }),
    },
    {
      module: `${MODULE}-wrong-aud`,
      fault: 'issues the logout token to another client',
      because: 'ERR_JWT_CLAIM_VALIDATION_FAILED aud',
      behaviour: changing({ aud: 'client-2' }),
    },
    {
      module: `${MODULE}-wrong-iss`,
      fault: 'signs a logout token that names another issuer',
      because: 'ERR_JWT_CLAIM_VALIDATION_FAILED iss',
      behaviour: changing({ iss: 'https://other.example' }),
    },
  ]),
)('%s: the issuer %s', async (_module, _fault, { because, behaviour }) => {
  const { body, ...outcome } = await logOut(behaviour);
  expect(outcome).toMatchObject({
    status: 400,
    cacheControl: 'no-store',
    because,
    ended: [],
    endedSession: undefined,
  });
  expect(JSON.parse(body)).toEqual({
    error: 'invalid_request',
    error_description: expect.stringMatching(/^The logout token /),
  });
});

/** Returns an issuer that changes a logout token's claims before it signs; undefined omits one. */
function changing(change: Readonly<Record<string, unknown>>): FakeBehaviour {
  return { logoutClaims: (claims) => ({ ...claims, ...change }) };
}
