/** The provider's mails. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { de } from '../texts/de.ts';
import { en } from '../texts/en.ts';
import { accountExistsMail, emailChangeMail, noticeMail, resetMail, signUpMail } from './mails.ts';

const sender = { appName: 'Fieldwork', origin: 'https://app.example', t: en, tag: 'en' };
const languages = [sender, { ...sender, t: de, tag: 'de' }];
const url = 'https://app.example/api/auth/reset/finish?token=abc&x=1';

test('the text and the HTML say the same, and both have the link', () => {
  for (const [make, from] of [signUpMail, resetMail, emailChangeMail].flatMap((each) =>
    languages.map((language) => [each, language] as const),
  )) {
    const mail = make(from, { to: 'ada@example.com', url, lifetimeMs: 3_600_000 });
    expect(mail.to).toBe('ada@example.com');
    expect(mail.text).toContain(url);
    expect(mail.html).toContain(`href="${url.replace('&', '&amp;')}"`);
    const words = (mail.html ?? '')
      .replace(/<title>.*<\/title>/, '')
      .replaceAll(/<[^>]+>/g, ' ')
      .replaceAll('&amp;', '&');
    for (const paragraph of mail.text.trim().split('\n\n'))
      for (const line of paragraph.split(/:?\n/)) expect(words).toContain(line);
  }
});

test.each([
  [30 * 60_000, '30 minutes'],
  [60_000, 'one minute'],
  [3_600_000, 'one hour'],
  [90 * 60_000, '90 minutes'],
  [24 * 3_600_000, '24 hours'],
  [7 * 24 * 3_600_000, '7 days'],
  [24 * 3_600_000 - 1, '24 hours'],
  [24 * 3_600_000 - 29_000, '24 hours'],
  [24 * 3_600_000 - 61_000, '23 hours'],
  [3_600_000 - 1, 'one hour'],
  [61 * 60_000, '61 minutes'],
  [48 * 3_600_000 - 1, '2 days'],
  [1, 'one minute'],
])('%i ms is written as %s', (lifetimeMs, words) => {
  expect(resetMail(sender, { to: 'a@example.com', url, lifetimeMs }).text).toContain(
    `works once, for ${words}.`,
  );
});

test('no name of an application makes markup, or a second line of a subject', () => {
  fc.assert(
    fc.property(
      fc.string().map((text) => `<b>"${text.replaceAll(/\p{Cc}/gu, '')}`),
      (appName) => {
        const mails = [
          accountExistsMail({ ...sender, appName }, 'a@example.com'),
          noticeMail({ ...sender, appName }, 'a@example.com', 'totp_disabled'),
        ];
        for (const mail of mails) {
          expect(mail.html).not.toContain('<b>');
          expect(mail.subject).not.toMatch(/[\r\n]/);
          expect(mail.subject).toContain(appName);
        }
      },
    ),
  );
});
