import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OpsFailureInput } from '@freehold/directory';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { makeGuardedFetch, makeProviderFetch } from '../network/guarded-fetch.ts';
import { loadProviders, type ProvidersSource } from './providers.ts';
import { SettingsError } from './settings.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'freehold-providers-'));
});
afterEach(() => rmSync(home, { recursive: true }));

const CALENDAR = {
  kind: 'oauth2',
  name: 'Calendar',
  authorizationEndpoint: 'https://calendar.example/authorize',
  tokenEndpoint: 'https://calendar.example/token',
  scopes: ['read'],
  clientId: 'freehold',
};
const LEDGER = { kind: 'api-key', name: 'Ledger', probe: { endpoint: 'https://ledger.example/me' } };

function load(providers: unknown, more: Partial<ProvidersSource> = {}) {
  return loadText(JSON.stringify({ providers }), more);
}
function loadText(text: string, more: Partial<ProvidersSource> = {}) {
  const file = join(home, 'providers.json');
  writeFileSync(file, text);
  return loadProviders({ file, allowed: [], env: {}, ...more });
}
const faultOf = (work: () => unknown): string => {
  try {
    work();
    return 'nothing was thrown';
  } catch (error) {
    expect(error).toBeInstanceOf(SettingsError);
    return (error as Error).message;
  }
};

test('without a file there are no providers', () => {
  expect(loadProviders({ file: null, allowed: [], env: {} })).toEqual({});
});

test('secrets come from the environment or from a file beside it, without its line break', () => {
  writeFileSync(join(home, 'secret'), 'from a file\n');
  const providers = load(
    {
      calendar: { ...CALENDAR, clientSecret: { env: 'CALENDAR_SECRET' } },
      tasks: { ...CALENDAR, clientSecret: { file: 'secret' } },
      public: CALENDAR,
      ledger: LEDGER,
    },
    { env: { CALENDAR_SECRET: 'from the environment' } },
  );
  expect(providers).toEqual({
    calendar: { ...CALENDAR, clientSecret: 'from the environment' },
    tasks: { ...CALENDAR, clientSecret: 'from a file' },
    public: CALENDAR,
    ledger: LEDGER,
  });
});

describe('a fault ends the start with one sentence that names the field', () => {
  test.each<[string, unknown, RegExp]>([
    ['an unknown field', { calendar: { ...CALENDAR, scope: 'x' } }, /providers\.calendar: .*"scope"/],
    ['a field that is missing', { ledger: { kind: 'api-key', name: 'L' } }, /providers\.ledger\.probe: /],
    ['a kind that there is not', { x: { kind: 'saml' } }, /providers\.x\.kind: must be oauth2 or api-key/],
    ['a name that is none', { Calendar: CALENDAR }, /must be a name of lower-case letters/],
    [
      'plain http elsewhere',
      { calendar: { ...CALENDAR, tokenEndpoint: 'http://calendar.example/token' } },
      /providers\.calendar\.tokenEndpoint: must be an https URL/,
    ],
    [
      'credentials in an address',
      { ledger: { ...LEDGER, probe: { endpoint: 'https://user:hunter2@ledger.example/me' } } },
      /providers\.ledger\.probe\.endpoint: must be an https URL/,
    ],
    [
      'a parameter of the round itself',
      { calendar: { ...CALENDAR, authorizationParams: { state: 'hunter2' } } },
      /providers\.calendar\.authorizationParams: must not set/,
    ],
    [
      'a secret in clear',
      { calendar: { ...CALENDAR, clientSecret: 'hunter2' } },
      /providers\.calendar\.clientSecret: must be \{ "env": "NAME" \}/,
    ],
    [
      'a reference with more to it',
      { calendar: { ...CALENDAR, clientSecret: { env: 'A', value: 'hunter2' } } },
      /providers\.calendar\.clientSecret: unrecognized key: "value"/,
    ],
    [
      'a variable that is not set',
      { calendar: { ...CALENDAR, clientSecret: { env: 'CALENDAR_SECRET' } } },
      /providers\.calendar\.clientSecret: the environment variable CALENDAR_SECRET is not set/,
    ],
    [
      'a file that is not there',
      { calendar: { ...CALENDAR, clientSecret: { file: 'nowhere' } } },
      /providers\.calendar\.clientSecret: the file cannot be read: .*nowhere \(ENOENT\)/,
    ],
    [
      'an authentication without a secret',
      { calendar: { ...CALENDAR, clientAuth: 'client_secret_post' } },
      /providers\.calendar\.clientAuth: needs a clientSecret/,
    ],
  ])('%s', (_what, providers, words) => {
    const message = faultOf(() => load(providers));
    expect(message).toMatch(words);
    expect(message).toMatch(/^FREEHOLD_PROVIDERS_FILE cannot be used: .+\.$/);
    expect(message).not.toContain('hunter2');
    expect(message).not.toContain('\n');
  });

  test('a file that is no JSON, is empty, or has more than providers', () => {
    const message = faultOf(() => loadText('{ "providers": hunter2 }'));
    expect(message).toMatch(/is not JSON/);
    expect(message).not.toContain('hunter2');
    expect(faultOf(() => loadText('{}'))).toMatch(/providers: /);
    expect(faultOf(() => loadText('{"providers":{},"version":1}'))).toMatch(/"version"/);
  });

  test('a file that does not exist', () => {
    const file = join(home, 'nowhere.json');
    expect(faultOf(() => loadProviders({ file, allowed: [], env: {} }))).toMatch(/nowhere\.json \(ENOENT\)/);
  });
});

test.each([
  ['http://127.0.0.1:9/me', '127.0.0.0/8'],
  ['http://ledger.localhost:9/me', 'ledger.localhost'],
  ['http://localhost:9/me', '127.0.0.1'],
  ['https://10.1.2.3/me', '10.1.0.0/16'],
  ['https://[fd00::1]/me', 'fd00::/8'],
])('a provider at %s is refused at the start, unless %s is allowed', (endpoint, allowed) => {
  const providers = { ledger: { ...LEDGER, probe: { endpoint } } };
  expect(faultOf(() => load(providers))).toMatch(/probe\.endpoint: .+ FREEHOLD_ALLOWED_PROVIDERS\.$/);
  expect(faultOf(() => load(providers, { allowed: ['192.0.2.0/24', 'elsewhere'] }))).toMatch(/not public/);
  expect(load(providers, { allowed: [allowed] })).toEqual(providers);
});

test('a provider whose name leads inside is not reached, and the operator learns which one and why', async () => {
  const failures: OpsFailureInput[] = [];
  const guarded = makeGuardedFetch({
    ownIssuer: null,
    allowed: [],
    setting: 'FREEHOLD_ALLOWED_PROVIDERS',
    lookup: async () => [{ address: '10.0.0.7', family: 4 }],
  });
  const fetch = makeProviderFetch(guarded, (failure) => void failures.push(failure));
  await expect(fetch('http://ledger.example/me?key=hunter2', {})).rejects.toThrow();
  expect(failures).toEqual([
    {
      operation: 'connections.fetch',
      subject: 'ledger.example',
      reason: 'address_refused',
      detail: 'This address is not public. An operator can allow it with FREEHOLD_ALLOWED_PROVIDERS.',
    },
  ]);
});

test('a platform starts with the file of docs/connections.md', () => {
  const text = readFileSync(new URL('../../../../docs/connections.md', import.meta.url), 'utf8');
  const example = /```json\n(.*?)```/s.exec(text)?.[1] ?? '';
  const providers = loadText(example, { env: { CALENDAR_CLIENT_SECRET: 'a secret' } });
  expect(Object.keys(providers)).toEqual(['calendar', 'ledger']);
  expect(providers.calendar).toMatchObject({ clientSecret: 'a secret' });
});
