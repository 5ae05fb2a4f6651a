/**
 * Browsers that an account knows, because it has signed in there (OWASP, "Slow Down Online Guessing Attacks with
 * Device Cookies"): a stranger's guesses must not keep the holder out of the browser that they use every day.
 */
import { base64url } from 'jose';
import { z } from 'zod';
import type { KnownBrowser } from '../accounts/contract.ts';
import type { ProviderContext } from './lib/context.ts';
import { BROWSER_COOKIE, readShortCookie, setShortCookie } from './lib/cookies.ts';

const PURPOSE = ['browser'];
const ID_BYTES = 16;
const browserJson = z.object({ id: z.string(), userId: z.string(), sinceMs: z.number() });

/** The `Set-Cookie` value by which a browser is known from now on, until a new password or for half a year. */
export function rememberBrowser(
  { seals, random }: Pick<ProviderContext, 'seals' | 'random'>,
  origin: string,
  { userId, sinceMs }: Pick<KnownBrowser, 'userId' | 'sinceMs'>,
): string {
  const browser: KnownBrowser = { id: base64url.encode(random(ID_BYTES)), userId, sinceMs };
  return setShortCookie(BROWSER_COOKIE, origin, seals.seal(PURPOSE, JSON.stringify(browser)));
}

/** The browser that a request comes from, if an account knows it. */
export function findKnownBrowser(
  { seals, now }: Pick<ProviderContext, 'seals' | 'now'>,
  headers: Headers,
  origin: string,
): KnownBrowser | undefined {
  const value = seals.open(PURPOSE, readShortCookie(headers, BROWSER_COOKIE, origin));
  if (value === null) return undefined;
  const browser = browserJson.parse(JSON.parse(value));
  return now() < browser.sinceMs + BROWSER_COOKIE.maxAgeS * 1_000 ? browser : undefined;
}
