/** An authenticator app, and a user who sets it up on the account page. */
import { Secret, TOTP } from 'otpauth';
import { expect } from 'vitest';
import type { ProviderFixture } from './directory-provider.ts';
import type { FormBrowser } from './directory-provider-browser.ts';

/** The code that an app shows at a time. */
export function totpOf(secret: string, atMs: number): string {
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: atMs });
}

/** The secret that the set-up page shows. */
export function secretOn(page: string): string {
  const secret = /<code class="secret">([A-Z2-7 ]+)</.exec(page)?.[1];
  if (secret === undefined) throw new Error('the page shows no secret');
  return secret.replaceAll(' ', '');
}

/** The hidden field that the set-up form sends with the code. */
export function sealedOn(page: string): string {
  return /name="sealed" value="([^"]+)"/.exec(page)?.[1] ?? '';
}

/** The recovery codes that the page shows. */
export function codesOn(page: string): string[] {
  return [...page.matchAll(/<li><code>([^<]+)<\/code>/g)].map((match) => match[1] ?? '');
}

/** Turns two-step verification on, and answers the secret. The browser gets another session. */
export async function turnOnTotp(fixture: ProviderFixture, browser: FormBrowser): Promise<string> {
  const setUp = await browser.post('/api/auth/security/totp');
  expect(setUp.status).toBe(200);
  const page = await setUp.text();
  const secret = secretOn(page);
  const code = totpOf(secret, fixture.clock.nowMs);
  const done = await browser.post('/api/auth/security/totp/enable', { sealed: sealedOn(page), code });
  expect(done.status).toBe(200);
  return secret;
}
