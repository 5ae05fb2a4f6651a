import { expect, test } from 'vitest';
import { APP, makeFixture } from '../../../testkit/src/oidc/fixture.ts';
import type { FetchPurpose } from './peer-fetch.ts';

// spec B-01, B-03
test('every request names the issuer on whose behalf it is made, whatever address its metadata names', async () => {
  const asked: [origin: string, path: string, purpose: FetchPurpose][] = [];
  const { issuer, other, browser, rp } = await makeFixture();
  const elsewhere = 'https://console.internal.example';
  issuer.behaviour.metadata = {
    require_pushed_authorization_requests: true,
    token_endpoint: `${elsewhere}/token`,
    jwks_uri: `${elsewhere}/jwks`,
    userinfo_endpoint: `${elsewhere}/userinfo`,
  };
  const watched = other({
    fetch: (url, init, purpose) => {
      const { origin, pathname } = new URL(url);
      asked.push([origin, pathname, purpose]);
      return issuer.fetch(url, init);
    },
  });
  const login = await watched.handle(browser.request(`${APP}/api/auth/login`));
  browser.store(APP, login);
  const callback = issuer.approve(login.headers.get('location') ?? '', { sub: 'bob-1' });
  browser.store(APP, await watched.handle(browser.request(callback)));
  expect(rp.sessionFromHeaders(browser.request(`${APP}/page`).headers)?.id).toBe('bob-1');
  const purpose = { issuer: 'https://issuer.example' };
  expect(asked).toEqual([
    ['https://issuer.example', '/.well-known/openid-configuration', purpose],
    ['https://issuer.example', '/par', purpose],
    [elsewhere, '/token', purpose],
    [elsewhere, '/jwks', purpose],
    [elsewhere, '/userinfo', purpose],
  ]);
});
