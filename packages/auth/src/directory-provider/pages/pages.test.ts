/** Every page, with hostile words in every value: escaped, labelled, and with one heading. */
import { anyCharacter } from '@freehold/testkit';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AccountSecurity } from '../../accounts/contract.ts';
import { html } from '../markup/html.ts';
import { de } from '../texts/de.ts';
import { en, type Texts } from '../texts/en.ts';
import { messagePage, type PageContent, renderPage } from './layout.ts';
import {
  deadLinkPage,
  emailFinishPage,
  emailRevertPage,
  mailSentPage,
  resetFinishPage,
  resetPage,
  signUpFinishPage,
  signUpPage,
} from './mail-pages.ts';
import { securityPage } from './security-page.ts';
import { confirmPage, loginPage, secondFactorPage } from './sign-in-pages.ts';
import { completeTheme } from './theme.ts';
import { otpauthUri, recoveryCodesPage, totpSetupPage } from './totp-pages.ts';

/** Every page, in every state that shows more than another, with one text in the place of every user's own words. */
function pagesWith(t: Texts, text: string): PageContent[] {
  const account: AccountSecurity = {
    userId: 'usr_1',
    email: text,
    name: text,
    emailVerified: true,
    createdMs: 0,
    passwordChangedMs: 0,
    totp: false,
    recoveryCodes: 0,
    passkeys: [{ id: 'AbC-_1', name: text, backedUp: true, createdMs: 0, usedMs: 0 }],
    passkeyHandle: 'handle',
  };
  const sessions = [
    { sid: text, scopeId: 's', client: text, startedMs: 0, expiresMs: 1 },
    { sid: 'other', scopeId: 's', client: null, startedMs: 0, expiresMs: 1 },
  ];
  const shared = { account, sessions, currentSid: 'other' };
  const bare = { ...account, passwordChangedMs: null, passkeys: [], totp: true, emailVerified: false };
  const all = { appName: text, email: text, name: text, token: text };
  return [
    loginPage(t, { appName: text, returnTo: null, signUpOpen: false }),
    loginPage(t, { appName: text, returnTo: text, signUpOpen: true, email: text, alert: text, notice: text }),
    secondFactorPage(t, { returnTo: text }),
    secondFactorPage(t, { returnTo: null, fault: text }),
    confirmPage(t, { email: text, returnTo: text, hasPassword: true, hasPasskeys: true, fault: text }),
    confirmPage(t, { email: text, returnTo: text, hasPassword: false, hasPasskeys: true }),
    signUpPage(t, {
      appName: text,
      returnTo: text,
      email: text,
      name: text,
      emailFault: text,
      nameFault: text,
      alert: text,
    }),
    signUpPage(t, { appName: text, returnTo: null }),
    signUpFinishPage(t, { ...all, fault: text, nameFault: text }),
    signUpFinishPage(t, { ...all, name: null }),
    resetPage(t, { returnTo: text, email: text, emailFault: text, alert: text }),
    resetFinishPage(t, { token: text, email: text, passkeys: [], fault: text }),
    resetFinishPage(t, { token: text, email: text, passkeys: account.passkeys, removing: true }),
    emailFinishPage(t, { token: text, email: text, former: text }),
    emailRevertPage(t, { token: text, email: text }),
    mailSentPage(t, { email: text, returnTo: text, back: 'reset' }),
    deadLinkPage(t, { askAgain: 'reset' }),
    messagePage(t, { heading: text, sentences: [text, text], next: { label: text, url: '/' } }),
    totpSetupPage(t, { appName: text, email: text, secret: 'ABCDEFGH234567', sealed: text, fault: text }),
    recoveryCodesPage(t, { codes: [text, text] }),
    securityPage(t, { ...shared, fresh: true, notice: text, alert: text }),
    securityPage(t, { ...shared, fresh: false }),
    securityPage(t, { ...shared, account: bare, fresh: true }),
    ...(['name', 'email', 'password', 'delete'] as const).map((section) =>
      securityPage(t, { ...shared, fresh: true, fault: { section, message: text, typed: text } }),
    ),
  ];
}

function rendered(text: string): string[] {
  const theme = completeTheme({ logoUrl: '/logo.svg', supportUrl: 'mailto:help@example.com' });
  return [
    ...pagesWith(en, text).map((page) => renderPage({ theme, appName: text, t: en, tag: 'en' }, page)),
    ...pagesWith(de, text).map((page) => renderPage({ theme, appName: text, t: de, tag: 'de-AT' }, page)),
  ];
}

/** The tags of a page without the values of their attributes. */
function skeleton(page: string): string[] {
  return (page.match(/<[^>]*>/g) ?? []).map((tag) => tag.replaceAll(/"[^"]*"/g, '""'));
}

describe('hostile words', () => {
  const plain = rendered('x').map(skeleton);
  const hostile = fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.constantFrom(
      '<script>alert(1)</script>',
      `" autofocus onfocus="alert(1)`,
      `' onmouseover='alert(1)`,
      '</textarea></title></style><img src=x onerror=alert(1)>',
      '&quot;&lt;script&gt;',
      '{{alert(1)}}',
      '\0<b>',
    ),
    fc.string().map((text) => `<${text}>"'&${text}`),
  );

  test('change no page’s tags and no tag’s attributes', () => {
    fc.assert(
      fc.property(
        hostile.filter((text) => text !== ''),
        (text) => {
          for (const [index, page] of rendered(text).entries()) expect(skeleton(page)).toEqual(plain[index]);
        },
      ),
      { numRuns: 150 },
    );
  });

  test('are shown as text', () => {
    const { text } = html`<i title="${'"<&>\''}">${'"<&>\''}</i>`;
    expect(text).toBe('<i title="&quot;&lt;&amp;&gt;&#39;">&quot;&lt;&amp;&gt;&#39;</i>');
  });
});

describe('every page', () => {
  test.each(rendered('Ada').map((page, index) => [index, page] as const))('%i', (_, page) => {
    expect(page.match(/<h1>/g)).toHaveLength(1);
    expect(page).toMatch(/^<!doctype html>\n<html lang="(?:en|de-AT)">/);
    expect(page.match(/<title>[^<]+<\/title>/g)).toHaveLength(1);
    expect(page.match(/<main /g)).toHaveLength(1);
    // Every id is unique, and every reference points at an id.
    const ids = [...page.matchAll(/ id="([^"]+)"/g)].map((match) => match[1] ?? '');
    expect(new Set(ids).size).toBe(ids.length);
    for (const [, described = ''] of page.matchAll(/aria-describedby="([^"]+)"/g))
      for (const id of described.split(' ')) expect(ids).toContain(id);
    const labelled = [...page.matchAll(/<label for="([^"]+)"/g)].map((match) => match[1] ?? '');
    for (const id of labelled) expect(ids).toContain(id);
    for (const [input] of page.matchAll(/<input [^>]*>/g)) {
      if (input.includes('type="hidden"')) continue;
      expect(labelled).toContain(/ id="([^"]+)"/.exec(input)?.[1]);
      expect(input).toMatch(/ autocomplete="[a-z -]+"/);
      // No secret is filled in again.
      if (input.includes('type="password"')) expect(input).toContain('value=""');
      // A browser silently cuts off a pasted text that is too long.
      if (input.includes('type="password"')) expect(input).not.toContain('maxlength');
    }
    for (const [image] of page.matchAll(/<img [^>]*>/g)) expect(image).toMatch(/ alt="/);
    // Headings go down by one level at a time, and one element at most has the focus.
    expect(page).not.toMatch(/<h[3-6]/);
    expect((page.match(/ autofocus/g) ?? []).length).toBeLessThanOrEqual(1);
    // The policy allows no script and no style inside a page.
    expect(page).not.toMatch(/ style="| on[a-z]+="|<style|javascript:/);
    expect(page.match(/<script/g)).toHaveLength(1);
    for (const [, action = ''] of page.matchAll(/<form method="post" action="([^"]+)"/g))
      expect(action).toMatch(/^\/api\/auth\/[a-z-]+/);
    expect(page.match(/<form /g)?.length ?? 0).toBe(
      page.match(/<form method="post" action="\/api/g)?.length ?? 0,
    );
  });

  test('a fault is an alert that describes its field, with the focus there', () => {
    const page = renderPage(
      { theme: completeTheme(), appName: 'Fieldwork', t: en, tag: 'en' },
      resetPage(en, { returnTo: null, email: 'x', emailFault: 'Not an address.' }),
    );
    expect(page).toContain('<p class="fault" id="email-fault" role="alert">Not an address.</p>');
    expect(page).toMatch(
      /<input id="email"[^>]* aria-invalid="true" aria-describedby="email-fault" autofocus>/,
    );
    expect(page).toContain('<title>Error: ');
  });

  test('an application’s own style sheet comes after ours', () => {
    const theme = completeTheme({ stylesheetUrl: 'https://cdn.example/a.css?x="' });
    const page = renderPage(
      { theme, appName: 'x', t: en, tag: 'en' },
      deadLinkPage(en, { askAgain: 'reset' }),
    );
    expect(page.indexOf('/api/auth/style.css')).toBeLessThan(
      page.indexOf('https://cdn.example/a.css?x=&quot;'),
    );
  });
});

test('the address for authenticator apps survives any name', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (appName, email) => {
      const uri = new URL(otpauthUri({ appName, email, secret: 'ABCD2345' }));
      expect([uri.protocol, uri.host, uri.searchParams.get('secret')]).toEqual([
        'otpauth:',
        'totp',
        'ABCD2345',
      ]);
      expect(uri.searchParams.get('issuer')).toBe(appName.replaceAll(':', ' '));
      const [issuer, account] = uri.pathname.slice(1).split(':').map(decodeURIComponent);
      expect([issuer, account]).toEqual([appName.replaceAll(':', ' '), email.replaceAll(':', ' ')]);
    }),
  );
});
