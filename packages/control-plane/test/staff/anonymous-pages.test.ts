/** The pages for a person who opens an address of the API in a browser without a session. */
import { describe, expect, test } from 'vitest';
import { ORIGIN, openFixture, signedIn } from './fixture.ts';

const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

describe('a browser without a session', () => {
  test('is shown a page with a way in that leads back, and the challenge stays for software', async () => {
    const fixture = await openFixture();
    const response = await fixture.ask('/tenants?limit=5', { headers: browser });
    expect(response.status).toBe(401);
    expect(response.headers.get('content-type')).toContain('text/html');
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.get('www-authenticate')).toMatch(/^Bearer /);
    expect(await response.text()).toContain(
      'href="/api/auth/login?returnTo=&#37;2Ftenants&#37;3Flimit&#37;3D5"'.replaceAll('&#37;', '%'),
    );
  });

  test('is led to the start from an address that is too long to come back to', async () => {
    const fixture = await openFixture();
    const response = await fixture.ask(`/tenants?cursor=${'x'.repeat(600)}`, { headers: browser });
    expect(await response.text()).toContain('href="/api/auth/login?returnTo=%2F"');
  });

  test('sees nothing of it once signed in', async () => {
    const fixture = await openFixture();
    await signedIn(fixture, 'ada', 'operator');
    const response = await fixture.ask('/tenants', { headers: { ...browser, cookie: 'who=ada' } });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
  });
});

describe('software is answered with a problem document', () => {
  test.each([
    ['that says what it takes', '/tenants', { accept: 'application/json' }],
    ['that says nothing', '/tenants', {}],
    [
      'with a token that is refused, whatever it takes',
      '/tenants',
      { ...browser, authorization: 'Bearer x' },
    ],
    ['that asks who it is', '/auth/me', {}],
  ])('%s', async (_, path, headers) => {
    const fixture = await openFixture();
    const response = await fixture.ask(path, { headers: headers as Record<string, string> });
    expect([response.status, response.headers.get('content-type')]).toEqual([
      401,
      'application/problem+json',
    ]);
  });

  test('for a call that changes something, and where there is no sign-in', async () => {
    const fixture = await openFixture();
    const made = await fixture.ask('/tenants', { method: 'POST', headers: browser });
    expect(made.headers.get('content-type')).toBe('application/problem+json');
    const shut = await openFixture({ relyingParty: () => () => null });
    const response = await shut.ask('/tenants', { headers: browser });
    expect(response.headers.get('content-type')).toBe('application/problem+json');
  });

  test('and told where tokens come from (RFC 9728, section 5.1)', async () => {
    const fixture = await openFixture();
    const metadata = `${ORIGIN}/.well-known/oauth-protected-resource`;
    for (const path of ['/tenants', '/auth/me'])
      for (const headers of [{}, { authorization: 'Bearer fh_svc_wrong' }]) {
        const response = await fixture.ask(path, { headers: headers as Record<string, string> });
        expect(response.headers.get('www-authenticate')).toContain(`, resource_metadata="${metadata}"`);
      }
    expect((await fixture.ask(metadata)).status).toBe(200);
  });
});
