/** The language of the sign-in pages and their mails. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PlatformError } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import { openProvider, signUp } from '../../../test/directory-provider.ts';
import { Html } from '../markup/html.ts';
import { de } from './de.ts';
import { en } from './en.ts';

const GERMAN = { 'accept-language': 'de-CH, en;q=0.5' };

describe('the language of the reader', () => {
  test('is that of pages, of their faults and of mails', async () => {
    const fixture = await openProvider();
    await signUp(fixture);
    const browser = fixture.browser();
    const page = await browser.get('/api/auth/login', GERMAN);
    expect(page.headers.get('content-language')).toBe('de');
    expect(await page.text()).toMatch(
      /<html lang="de">[\s\S]*<h1>Bei Fieldwork anmelden<[\s\S]*Passwort anzeigen/,
    );
    const wrong = { email: 'ada@example.com', password: 'wrong' };
    const refused = await browser.post('/api/auth/login', wrong, GERMAN);
    expect(await refused.text()).toMatch(/<title>Fehler: [\s\S]*gehören nicht zusammen/);
    const invalid = await browser.post('/api/auth/reset', { email: 'no address' }, GERMAN);
    expect(await invalid.text()).toContain('Das ist keine E-Mail-Adresse.');
    await browser.post('/api/auth/reset', { email: 'ada@example.com' }, GERMAN);
    await fixture.settled();
    expect(fixture.outbox.at(-1)).toMatchObject({
      subject: 'Wählen Sie ein neues Passwort für Fieldwork',
      text: expect.stringContaining('funktioniert einmal und eine Stunde lang'),
      html: expect.stringContaining('<html lang="de">'),
    });
  });

  test('is that of a refusal, as a page and for the script', async () => {
    const browser = (await openProvider()).browser();
    const page = await browser.post('/api/auth/login', { unknown: 'x' }, GERMAN);
    expect([page.status, await page.text()]).toEqual([400, expect.stringContaining('nicht dazugehört')]);
    const answer = await browser.ask('/api/auth/passkeys/options', {}, GERMAN);
    expect(answer.body).toMatchObject({ code: 'unauthenticated', detail: 'Melden Sie sich zuerst an.' });
  });

  test('is less than that of the application', async () => {
    const browser = (await openProvider({ theme: { appName: 'Gasthof', language: 'de-AT' } })).browser();
    const page = await (await browser.get('/api/auth/login', { 'accept-language': 'en' })).text();
    expect(page).toMatch(/<html lang="de-AT">[\s\S]*Bei Gasthof anmelden/);
    const english = (await openProvider({ theme: { language: 'en' } })).browser();
    expect(await (await english.get('/api/auth/login', GERMAN)).text()).toContain('<html lang="en">');
  });

  test('is English where there are no texts in it', async () => {
    const fixture = await openProvider({ theme: { language: 'fr' } });
    const browser = await signUp(fixture, 'ada@example.com');
    const page = await browser.get('/api/auth/security', { 'accept-language': 'fr' });
    expect(await page.text()).toMatch(/<html lang="en">[\s\S]*Sign-in and security/);
  });
});

test('no German text is missing, empty or that of English', () => {
  const [english, german] = [leaves(en), leaves(de)];
  expect([...german.keys()]).toEqual([...english.keys()]);
  const same = [...german].filter(([path, text]) => text.trim() === '' || text === english.get(path));
  expect(same.map(([path]) => path)).toEqual(['frame.code', 'security.name', 'security.passkeys']);
});

test('every refusal of an account has a German sentence', () => {
  const root = join(import.meta.dirname, '../..');
  const reasons = globSync('{accounts,directory-provider}/**/*.ts', { cwd: root })
    .filter((path) => !path.includes('.test.'))
    .flatMap((path) => [
      ...readFileSync(join(root, path), 'utf8').matchAll(/\brefusal\(\s*'\w+',\s*'(\w+)'/g),
    ])
    .map(([, reason = '']) => reason);
  expect(reasons.length).toBeGreaterThan(10);
  const untranslated = reasons.filter((reason) => {
    const refusal = new PlatformError('conflict', 'In English.', { reason });
    return de.frame.sentenceOf(refusal) === refusal.message;
  });
  expect(untranslated).toEqual([]);
});

/** The texts by path; functions are left out. */
function leaves(value: unknown, path = ''): Map<string, string> {
  if (typeof value === 'string') return new Map([[path, value]]);
  if (value instanceof Html) return new Map([[path, value.text]]);
  if (typeof value !== 'object' || value === null) return new Map();
  return new Map(
    Object.entries(value).flatMap(([key, each]) => [...leaves(each, path === '' ? key : `${path}.${key}`)]),
  );
}
