/** A house whose staff sign in at a certified OpenID provider that runs beside the test. */

import { onTestFinished } from 'vitest';
import { type Issuer, startIssuer } from '../../../../apps/issuer/src/index.ts';
import { makeStaffSignIn } from '../../../../apps/platform/src/applications/staff.ts';
import type { SecondFactorSettings } from '../../../../apps/platform/src/settings/staff-settings.ts';
import type { Browser } from '../connect/browser.ts';
import { openFixture } from './fixture.ts';

const CLIENT_SECRET = 'the client secret of the platform at the issuer';

export interface IssuerFixtureOptions {
  readonly isTold?: boolean;
  readonly secondFactor?: SecondFactorSettings | null;
}

/**
 * Opens both. They end with the test.
 * @param origin where browsers reach the house.
 * @param more `isTold`: the issuer reaches it too, and tells it who signed out. `secondFactor`: default none.
 */
export async function openFixtureWithIssuer(
  origin: string,
  { isTold = false, secondFactor = null }: IssuerFixtureOptions = {},
) {
  const issuer = await startIssuer({
    port: 0,
    env: {},
    onError: () => undefined,
    clients: [
      {
        clientId: 'freehold',
        clientSecret: CLIENT_SECRET,
        redirectUris: [`${origin}/api/auth/callback`],
        postLogoutRedirectUris: [`${origin}/`],
        ...(isTold ? { backchannelLogoutUri: `${origin}/api/auth/backchannel-logout` } : {}),
      },
    ],
  });
  onTestFinished(() => issuer.close());
  const client = { url: issuer.url, clientId: 'freehold', clientSecret: CLIENT_SECRET };
  const fixture = await openFixture({
    origin: () => origin,
    staffIssuer: issuer.url,
    relyingParty: () =>
      makeStaffSignIn({
        client: client,
        origin: () => origin,
        platformSecrets: ['the platform secret of these tests, long enough'],
        allowedIssuers: [],
        secondFactor,
        // The issuer lives in real time, and its tokens with it.
        now: Date.now,
      }),
  });
  fixture.clock.ms = Date.now();
  return { fixture, issuer };
}

/** Fills in the form of the issuer's page. */
export async function chooses(browser: Browser, issuer: Issuer, page: Response, login: string) {
  const action = /<form[^>]* action="([^"]+)"/.exec(await page.text())?.[1];
  if (action === undefined) throw new Error('the page has no form');
  const body = new URLSearchParams({ login });
  return browser.go(new URL(action, issuer.url), { method: 'POST', body });
}
