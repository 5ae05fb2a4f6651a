import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { OPEN_REDIRECT_PAYLOADS, whereTo } from '../../testkit/src/oidc/open-redirects.ts';
import { failureResponse } from './failure-page.ts';
import { OIDC_ERROR_CODES, OidcError, type OidcErrorCode } from './lib/errors.ts';

const APP = 'https://app.example';

interface Page {
  readonly text: string;
  readonly policy: string;
  /** The address of each link, as a browser reads it, by its text. */
  readonly links: Readonly<Record<string, string>>;
}

async function pageOf(code: OidcErrorCode, returnTo?: unknown): Promise<Page> {
  const response = failureResponse(new OidcError(code, 'a detail for operators'), returnTo);
  const text = await response.text();
  const links = [...text.matchAll(/<a href="([^"]*)">([^<]*)<\/a>/g)].map(
    ([, address = '', words = '']): [string, string] => [words, address.replaceAll('&amp;', '&')],
  );
  return {
    text,
    policy: response.headers.get('content-security-policy') ?? '',
    links: Object.fromEntries(links),
  };
}

// spec B-11
describe.each(OIDC_ERROR_CODES)('the page of %s', (code) => {
  test('says what happened, under a heading, with a code to quote and a way on', async () => {
    const { text, links } = await pageOf(code);
    const { message } = new OidcError(code, '');
    expect(text).toContain(`<p>${message}</p>`);
    expect(message).toMatch(/^[A-Z][^<>&"]+\.$/);
    const [, title] = /<title>([^<]+)<\/title>/.exec(text) ?? [];
    expect(text).toContain(`<h1>${title}</h1>`);
    expect(text).toContain(`<code>${code}</code>`);
    expect(links['Go to the start page']).toBe('/');
    expect(text).not.toContain('operators');
  });

  test('is in English, fits a phone, runs nothing and cannot be framed', async () => {
    const { text, policy } = await pageOf(code);
    expect(text).toMatch(/^<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport"/);
    expect(text).not.toContain('<script');
    const style = /<style>(.*)<\/style>/s.exec(text)?.[1] ?? '';
    const hash = createHash('sha256').update(style).digest('base64');
    expect(policy).toBe(`default-src 'none'; style-src 'sha256-${hash}'; frame-ancestors 'none'`);
  });
});

test.each<OidcErrorCode>([
  'flow_expired',
  'state_mismatch',
  'access_denied',
  'login_required',
  'issuer_unavailable',
  'exchange_failed',
])('%s can be tried again, on the way to the same place', async (code) => {
  const { links } = await pageOf(code, '/orders?id=1&tab=notes#last');
  const again = new URL(links['Try again'] ?? '', APP);
  expect(again.pathname).toBe('/api/auth/login');
  expect([...again.searchParams]).toEqual([['returnTo', '/orders?id=1&tab=notes#last']]);
  expect((await pageOf(code)).links['Try again']).toBe('/api/auth/login');
});

test.each<OidcErrorCode>(['sign_in_refused', 'access_denied', 'login_required', 'cookie_too_large'])(
  '%s can be helped by another account, which the issuer then asks for',
  async (code) => {
    const { links } = await pageOf(code, '/orders');
    const other = new URL(links['Use another account'] ?? '', APP);
    expect(other.pathname).toBe('/api/auth/login');
    expect([...other.searchParams]).toEqual([
      ['switch', ''],
      ['returnTo', '/orders'],
    ]);
  },
);

test('a user whom the application refuses is not advised to try the same again', async () => {
  expect((await pageOf('sign_in_refused')).links).not.toHaveProperty('Try again');
});

test.each<OidcErrorCode>(['sign_out_incomplete', 'prefetch_refused', 'navigation_required'])(
  '%s, which a sign-out can end in, leads to no sign-in',
  async (code) => {
    expect(Object.keys((await pageOf(code, '/orders')).links)).toEqual(['Go to the start page']);
  },
);

test('a requested place neither leads elsewhere nor leaves its attribute', async () => {
  const payloads = [...OPEN_REDIRECT_PAYLOADS, '/"><script>alert(1)</script>', "/'onclick='x", null, 7];
  for (const payload of payloads) {
    const { text, links } = await pageOf('access_denied', payload);
    expect(text.match(/<a href="[^"<>]*">[A-Z][a-z ]+<\/a>/g)).toHaveLength(3);
    expect(text.match(/</g)).toHaveLength((await pageOf('access_denied')).text.match(/</g)?.length ?? 0);
    const place = new URL(links['Try again'] ?? '', APP).searchParams.get('returnTo');
    if (place !== null) expect(whereTo(place, APP)?.origin).toBe(APP);
  }
});
