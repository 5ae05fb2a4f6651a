/** The platform's secret is replaced while it works: the new one in front of the old, and no session is lost. */
import { readFileSync } from 'node:fs';
import { PLATFORM_SECRET_HEADER } from '@freehold/contracts';
import { verticalSecret } from '@freehold/contracts/http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Caller } from '../../../tests/support/http.ts';
import { newPlace, type PlatformPlace } from '../../../tests/support/platform.ts';
import { type Platform, startPlatform } from './platform.ts';
import { parseSettings } from './settings/settings.ts';

const OLD = 'the former secret of this platform and long enough';
const NEW = 'the secret of this platform from now on and long enough';

let place: PlatformPlace;
let platform: Platform | undefined;
let incidents: unknown[];
const ada = new Caller();

/** Starts the platform in the one place, instead of the one before. */
async function startWith(secret: string): Promise<Platform> {
  await platform?.close();
  incidents = [];
  const settings = parseSettings({
    PORT: String(place.port),
    ISSUER_PORT: String(place.issuerPort),
    FREEHOLD_DATA: place.dataDirectory,
    PLATFORM_SECRET: secret,
  });
  platform = await startPlatform(settings, (error, where) => incidents.push([where, error]));
  return platform;
}

beforeAll(async () => {
  place = await newPlace();
  const { apiOrigin } = await startWith(OLD);
  const { url, answer } = await ada.navigate(`${apiOrigin}/auth/login`);
  const action = /<form[^>]* action="([^"]+)"/.exec(answer.text)?.[1] ?? '';
  await ada.navigate(new URL(action, url).href, { form: { login: 'ada' } });
}, 60_000);
afterAll(async () => {
  ada[Symbol.dispose]();
  await platform?.close();
  place?.remove();
});

/** The member of the staff that the control plane sees behind an earlier session. */
const whoIsAda = async (): Promise<unknown> => {
  const { status, json } = await ada.ask(`${platform?.apiOrigin}/auth/me`);
  return status === 200 ? json<{ kind: string }>().kind : status;
};

/** The reason why the API for requests of tenants refuses a secret that is derived from this one. */
async function refusalOf(master: string): Promise<string> {
  using anonymous = new Caller();
  const { json } = await anonymous.ask(`${platform?.apiOrigin}/tenants`, {
    json: { slug: 'made-by-library', name: 'Made by Library' },
    headers: { [PLATFORM_SECRET_HEADER]: await verticalSecret(master, 'library') },
  });
  return json<{ reason: string }>().reason;
}

test('spec 5.6: with the new one in front of the old, applications and staff are let in by either', async () => {
  expect([await whoIsAda(), await refusalOf(OLD)]).toEqual(['staff', 'not_granted']);
  expect(await refusalOf(NEW)).toBe('platform_secret_mismatch');

  const { gateway, demo, tokenFile, apiOrigin } = await startWith(`${NEW}, ${OLD}`);
  expect([await whoIsAda(), await refusalOf(OLD), await refusalOf(NEW)]).toEqual([
    'staff',
    'not_granted',
    'not_granted',
  ]);
  // The vertical of this process gets the secret derived from the new one, is called with it, and accepts it.
  const bound = gateway.bound('fieldwork');
  expect(bound?.platformSecret).toBe(await verticalSecret(NEW, 'fieldwork'));
  const { status, text } = await ada.ask(
    `${apiOrigin}/tenants/${demo?.tenant}/scopes/${demo?.scope}/health`,
    {
      headers: { authorization: `Bearer ${readFileSync(tokenFile, 'utf8').trim()}` },
    },
  );
  expect(status, text).toBe(200);
  expect(incidents).toEqual([]);
});

test('spec 5.6: once the old one is removed, it opens nothing', async () => {
  await startWith(NEW);
  expect([await whoIsAda(), await refusalOf(OLD), await refusalOf(NEW)]).toEqual([
    401,
    'platform_secret_mismatch',
    'not_granted',
  ]);
});
