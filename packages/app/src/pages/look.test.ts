/** The look of the pages: languages, the colour, and what a declaration may say of them. */
import { contrast } from '@freehold/auth/page-kit';
import { expect, test } from 'vitest';
import { declaration, openSmallApp } from '../../test/small-app.ts';
import { defineApp } from '../index.ts';
import { pager } from './parts.ts';
import { makeLook } from './style.ts';
import { chooseTexts, TEXTS } from './texts/tables.ts';

/** Every text with its place. Functions are given words, which they must use. */
function textsOf(value: unknown, place: string): [string, string][] {
  if (typeof value === 'string') return [[place, value]];
  if (typeof value !== 'function')
    return Object.entries(value as object).flatMap(([key, each]) => textsOf(each, `${place}.${key}`));
  const parts = Array.from({ length: value.length }, (_, index) => `part${index}`);
  const text: unknown = value(...parts);
  // The sentence for a reason: it is told no words.
  if (typeof text !== 'string') return [];
  for (const part of parts) expect(text, place).toContain(part);
  return [[place, text]];
}

test('both languages have every text, and none is empty', () => {
  const places: string[][] = [];
  for (const [language, texts] of Object.entries(TEXTS)) {
    const all = textsOf(texts, '').filter(([place]) => place !== '.front.seats.claimed');
    for (const [place, text] of all) expect(text.trim(), `${language}${place}`).not.toBe('');
    places.push(all.map(([place]) => place));
  }
  expect(places[1]).toEqual(places[0]);
  expect(places[0]?.length).toBeGreaterThan(200);
});

test.each([
  [undefined, undefined, 'en'],
  [undefined, 'de-CH, de;q=0.9, en;q=0.8', 'de'],
  [undefined, 'fr, en;q=0.5, de;q=0.7', 'de'],
  [undefined, 'de;q=0, en', 'en'],
  [undefined, 'fr, *', 'en'],
  ['de-AT', 'en', 'de-AT'],
  ['en', 'de', 'en'],
  ['fr', 'de', 'de'],
  [undefined, '__proto__, constructor', 'en'],
])('a declared language %s and a reader of %s: the page is in %s', (declared, header, tag) => {
  expect(chooseTexts(declared, header).tag).toBe(tag);
});

test('a page says its language, and is wholly in it', async () => {
  await using fixture = await openSmallApp({ app: { look: { language: 'de' } }, business: 'Gasthof' });
  const page = await fixture.reader().open('/');
  expect(page.text).toContain('<html lang="de">');
  expect(page.text).toContain('Willkommen bei Gasthof');
  const refused = await fixture.reader().open('/?invite=none');
  expect(refused.text).toContain('Dieser Einladungslink ist nicht gültig.');
  const problem = await fixture.reader().open('/account');
  expect(problem.text).toContain('Melden Sie sich zuerst an');
});

const WHITE = '#ffffff';
test.each(['#0f5132', '#ffff00', '#fff', '#000', '#7f7f7f', '#ff0000', '#00e5ff'])(
  'the colour %s is readable, light and dark',
  (color) => {
    const six = color.length === 4 ? `#${[...color.slice(1)].map((digit) => digit + digit).join('')}` : color;
    const [, light = '', dark = ''] =
      /--auth-accent: light-dark\((#\w+), (#\w+)\)/.exec(makeLook(six).css) ?? [];
    const [, lightInk = '', darkInk = ''] =
      /--auth-accent-ink: light-dark\((#\w+), (#\w+)\)/.exec(makeLook(six).css) ?? [];
    expect(contrast(light, WHITE)).toBeGreaterThanOrEqual(4.5);
    expect(contrast(dark, '#1d2026')).toBeGreaterThanOrEqual(4.5);
    expect(contrast(light, lightInk)).toBeGreaterThanOrEqual(4.5);
    expect(contrast(dark, darkInk)).toBeGreaterThanOrEqual(4.5);
  },
);

test.each([
  [{ color: 'red' }, /^app\.look\.color: /],
  [{ color: '#12345' }, /^app\.look\.color: /],
  [{ color: '#123456;}</style><script>' }, /^app\.look\.color: /],
  [{ language: '"><script>' }, /^app\.look\.language: /],
])('the look %j is refused', (look, message) => {
  expect(() => defineApp({ ...declaration, look })).toThrow(message);
});

test('the pages of sign-in have the same colour and language', async () => {
  await using fixture = await openSmallApp({
    app: { look: { color: '#a03', language: 'de' } },
    config: { AUTH_PROVIDER: 'directory' },
    services: { mailer: { send: async () => undefined } },
  });
  const [own, theirs] = await Promise.all([
    fixture.reader().open('/'),
    fixture.reader().open('/api/auth/style.css'),
  ]);
  const accent = /--auth-accent: [^;]+;/.exec(theirs.text)?.[0];
  expect(accent).toBeDefined();
  expect(own.text).toContain(accent);
  const signIn = await fixture.reader().open('/api/auth/login', { 'accept-language': 'en' });
  expect(signIn.text).toContain('<html lang="de">');
});

test('an instance for programs alone offers no sign-in with a browser', async () => {
  await using fixture = await openSmallApp({
    config: {},
    bindings: { AUTH_PROVIDER: 'oidc', OIDC_ISSUER: 'https://issuer.example' },
  });
  const page = await fixture.reader().open('/');
  expect(page.text).toContain('There is nowhere to sign in with a browser.');
  expect(page.text).not.toContain('/api/auth/login');
  expect((await fixture.reader().open('/account')).text).not.toContain('/api/auth/login');
  const claim = await fixture.reader().open('/?claim=token');
  expect(claim.text).toContain('POST /api/claim');
});

test('a list leads to its next page and back to its first, and keeps the rest of the query', () => {
  const t = TEXTS.en;
  const first = pager({ t, query: new URLSearchParams('kind=team&done=role') }, '/log', 'abc').text;
  expect(first).toContain('href="/log?kind=team&amp;cursor=abc"');
  expect(first).not.toContain(t.frame.first);
  const last = pager({ t, query: new URLSearchParams('kind=team&cursor=abc') }, '/log', null).text;
  expect(last).toContain('href="/log?kind=team"');
  expect(last).not.toContain(t.frame.more);
  expect(pager({ t, query: new URLSearchParams() }, '/log', null).text).toBe('');
});
