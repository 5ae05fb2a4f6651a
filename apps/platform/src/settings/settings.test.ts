import { expect, test } from 'vitest';
import { warningsOf } from '../start/checks.ts';
import { nameOfArchive } from './archive-settings.ts';
import { parseSettings, SettingsError } from './settings.ts';
import { showsFactor } from './staff-settings.ts';

const SECRET = 'x'.repeat(32);
const PUBLIC = { FREEHOLD_PUBLIC_URL: 'https://apps.example.org' };
const BUCKET = {
  FREEHOLD_ARCHIVE_S3_ENDPOINT: 'https://s3.example.org',
  FREEHOLD_ARCHIVE_S3_BUCKET: 'freehold',
  FREEHOLD_ARCHIVE_S3_ACCESS_KEY_ID: 'key',
  FREEHOLD_ARCHIVE_S3_SECRET_ACCESS_KEY: 'hush',
};
const ISSUER = { OIDC_ISSUER: 'https://id.example.test', OIDC_CLIENT_ID: 'freehold' };

test('an empty environment gives the documented defaults', () => {
  expect(parseSettings({})).toMatchObject({
    port: 8787,
    issuerPort: 8788,
    host: '127.0.0.1',
    issuer: null,
    production: false,
    signIn: 'hosted',
    mail: null,
    publicUrl: null,
    trustedProxies: [],
    dnsServers: null,
    sealKeys: undefined,
    historyMs: 7 * 24 * 3_600_000,
    archive: null,
    backupPolicy: null,
    dataDirectory: expect.stringMatching(/\.freehold$/),
  });
});

test('an empty variable counts as unset', () => {
  expect(parseSettings({ PORT: '', PLATFORM_SECRET: '' })).toMatchObject({
    port: 8787,
    platformSecrets: undefined,
  });
});

test.each([
  ['PORT', { PORT: 'eighty' }],
  ['PORT', { PORT: '70000' }],
  ['ISSUER_PORT', { ISSUER_PORT: '-1' }],
  ['PLATFORM_SECRET', { PLATFORM_SECRET: 'short' }],
  ['PLATFORM_SECRET', { PLATFORM_SECRET: `${SECRET},short` }],
  ['OIDC_ISSUER', { OIDC_ISSUER: 'not a url' }],
  ['OIDC_ISSUER', { OIDC_ISSUER: 'ftp://id.example.test', OIDC_CLIENT_ID: 'x' }],
  // No person could sign in there: tokens are fetched over TLS, or from this machine.
  ['OIDC_ISSUER', { OIDC_ISSUER: 'http://id.example.test', OIDC_CLIENT_ID: 'x' }],
  ['FREEHOLD_ANCHOR_FILE', { FREEHOLD_DATA: '/data', FREEHOLD_ANCHOR_FILE: '/data/anchor.json' }],
  ['ISSUER_PORT', { PORT: '9000', ISSUER_PORT: '9000' }],
  ['FREEHOLD_ALLOWED_ISSUERS', { FREEHOLD_ALLOWED_ISSUERS: '10.0.0.0/99' }],
  ['FREEHOLD_ALLOWED_ISSUERS', { FREEHOLD_ALLOWED_ISSUERS: 'https://id.example.test' }],
  ['OIDC_CLIENT_ID', { OIDC_ISSUER: 'https://id.example.test' }],
  ['FREEHOLD_ALLOWED_PROVIDERS', { FREEHOLD_ALLOWED_PROVIDERS: 'https://crm.example.test' }],
  ['FREEHOLD_USAGE_MARGIN', { FREEHOLD_USAGE_MARGIN: '20' }],
  ['FREEHOLD_USAGE_MARGIN', { FREEHOLD_USAGE_MARGIN: '-5%' }],
  ['FREEHOLD_USAGE_MARGIN', { FREEHOLD_USAGE_MARGIN: '1000.01%' }],
  ['FREEHOLD_LOG', { FREEHOLD_LOG: 'loud' }],
  ['FREEHOLD_SIGN_IN', { FREEHOLD_SIGN_IN: 'anybody' }],
  ['FREEHOLD_SMTP_URL', { FREEHOLD_SMTP_URL: 'mail.test', FREEHOLD_MAIL_FROM: 'a@b.test' }],
  ['FREEHOLD_SMTP_URL', { FREEHOLD_MAIL_FROM: 'a@b.test' }],
  ['FREEHOLD_MAIL_FROM', { FREEHOLD_SMTP_URL: 'smtp://mail.test' }],
  ['FREEHOLD_MAIL_FROM', { FREEHOLD_SMTP_URL: 'smtp://mail.test', FREEHOLD_MAIL_FROM: 'a@b.test, c@d.test' }],
  ['FREEHOLD_PUBLIC_URL', { FREEHOLD_PUBLIC_URL: 'apps.example' }],
  ['FREEHOLD_PUBLIC_URL', { FREEHOLD_PUBLIC_URL: 'https://apps.example/path' }],
  ['FREEHOLD_PUBLIC_URL', { FREEHOLD_PUBLIC_URL: 'https://user@apps.example' }],
  ['FREEHOLD_PUBLIC_URL', { FREEHOLD_PUBLIC_URL: 'https://192.0.2.1' }],
  ['FREEHOLD_PUBLIC_URL', { FREEHOLD_PUBLIC_URL: 'ftp://apps.example' }],
  ['FREEHOLD_TRUSTED_PROXIES', { FREEHOLD_TRUSTED_PROXIES: 'proxy.test' }],
  ['FREEHOLD_TRUSTED_PROXIES', { FREEHOLD_TRUSTED_PROXIES: '10.0.0.1,10.0.0.0/33' }],
  ['SEAL_KEY', { SEAL_KEY: 'short' }],
  ['SEAL_KEY', { SEAL_KEY: `${SECRET},short` }],
  ['FREEHOLD_BACKUPS_EVERY', { FREEHOLD_BACKUPS_EVERY: 'daily' }],
  ['FREEHOLD_BACKUPS_EVERY', { FREEHOLD_BACKUPS_EVERY: '0h' }],
  ['FREEHOLD_BACKUPS_EVERY', { FREEHOLD_BACKUPS_EVERY: '32d' }],
  ['FREEHOLD_BACKUPS_KEEP_DAILY', { FREEHOLD_BACKUPS_KEEP_DAILY: '0' }],
  ['FREEHOLD_BACKUPS_KEEP_WEEKLY', { FREEHOLD_BACKUPS_KEEP_WEEKLY: '4w' }],
  ['FREEHOLD_HISTORY', { FREEHOLD_HISTORY: '7' }],
  ['FREEHOLD_HISTORY', { FREEHOLD_HISTORY: '0d' }],
  ['FREEHOLD_HISTORY', { FREEHOLD_HISTORY: '400d' }],
  ['FREEHOLD_HISTORY', { FREEHOLD_HISTORY: 'for ever' }],
  ['FREEHOLD_ARCHIVE_DIRECTORY', { FREEHOLD_ARCHIVE_DIRECTORY: '/backup', ...BUCKET }],
  ['FREEHOLD_ARCHIVE_DIRECTORY', { FREEHOLD_DATA: '/data', FREEHOLD_ARCHIVE_DIRECTORY: '/data/archive' }],
  ['FREEHOLD_ARCHIVE_DIRECTORY', { FREEHOLD_DATA: '/data', FREEHOLD_ARCHIVE_DIRECTORY: '/data' }],
  ['FREEHOLD_ARCHIVE_DIRECTORY', { FREEHOLD_DATA: '/backup/data', FREEHOLD_ARCHIVE_DIRECTORY: '/backup' }],
  ['FREEHOLD_ARCHIVE_S3_ENDPOINT', { ...BUCKET, FREEHOLD_ARCHIVE_S3_ENDPOINT: 's3.example.org' }],
  ['FREEHOLD_ARCHIVE_S3_ENDPOINT', { FREEHOLD_ARCHIVE_S3_PREFIX: 'backups' }],
  ['FREEHOLD_ARCHIVE_S3_BUCKET', { ...BUCKET, FREEHOLD_ARCHIVE_S3_BUCKET: '' }],
  ['FREEHOLD_ARCHIVE_S3_BUCKET', { ...BUCKET, FREEHOLD_ARCHIVE_S3_BUCKET: 'a/b' }],
  ['FREEHOLD_ARCHIVE_S3_ACCESS_KEY_ID', { ...BUCKET, FREEHOLD_ARCHIVE_S3_ACCESS_KEY_ID: '' }],
  ['FREEHOLD_ARCHIVE_S3_SECRET_ACCESS_KEY', { ...BUCKET, FREEHOLD_ARCHIVE_S3_SECRET_ACCESS_KEY: '' }],
  ['FREEHOLD_ARCHIVE_S3_PREFIX', { ...BUCKET, FREEHOLD_ARCHIVE_S3_PREFIX: '/a//b' }],
  ['PLATFORM_SECRET', { NODE_ENV: 'production', ...ISSUER, ...PUBLIC }],
  ['FREEHOLD_PUBLIC_URL', { NODE_ENV: 'production', PLATFORM_SECRET: SECRET, ...ISSUER }],
  ['OIDC_ISSUER', { NODE_ENV: 'production', PLATFORM_SECRET: SECRET, ...PUBLIC }],
])('a fault in %s is one sentence that names it', (name, env) => {
  const error = (() => {
    try {
      return parseSettings(env);
    } catch (thrown) {
      return thrown;
    }
  })();
  expect(error).toBeInstanceOf(SettingsError);
  expect((error as Error).message).toMatch(new RegExp(`^${name} .+\\.$`));
  expect((error as Error).message).not.toContain('\n');
});

test('production starts with a secret and an issuer of its own', () => {
  expect(
    parseSettings({ NODE_ENV: 'production', PLATFORM_SECRET: SECRET, ...ISSUER, ...PUBLIC }),
  ).toMatchObject({
    production: true,
    issuer: { url: 'https://id.example.test', clientId: 'freehold', clientSecret: undefined },
  });
});

test('private issuers are allowed by name, address and range', () => {
  expect(
    parseSettings({ FREEHOLD_ALLOWED_ISSUERS: 'id.corp.test, 10.1.0.0/16,fd00::/8' }).allowedIssuers,
  ).toEqual(['id.corp.test', '10.1.0.0/16', 'fd00::/8']);
});

test('mail needs a server and a sender', () => {
  const env = { FREEHOLD_SMTP_URL: 'smtp://u:p@mail.test', FREEHOLD_MAIL_FROM: 'Acme <robot@acme.test>' };
  expect(parseSettings(env).mail).toEqual({ url: 'smtp://u:p@mail.test', from: 'Acme <robot@acme.test>' });
});

test('a fault in the address of the mail server does not repeat its password', () => {
  const env = { FREEHOLD_SMTP_URL: 'smtp://robot:pa%ss-word@mail.test', FREEHOLD_MAIL_FROM: 'a@b.test' };
  expect(() => parseSettings(env)).toThrow(
    /^FREEHOLD_SMTP_URL cannot be used: the address of the mail server/,
  );
  expect(() => parseSettings(env)).not.toThrow(/ss-word/);
});

test('accounts of its own need no issuer in production, and tokens no client', () => {
  const production = { NODE_ENV: 'production', PLATFORM_SECRET: SECRET, ...PUBLIC };
  expect(parseSettings({ ...production, FREEHOLD_SIGN_IN: 'directory' })).toMatchObject({
    signIn: 'directory',
    issuer: null,
  });
  const tokens = { ...production, FREEHOLD_SIGN_IN: 'tokens', OIDC_ISSUER: 'https://id.example.test' };
  expect(parseSettings(tokens)).toMatchObject({ signIn: 'tokens', issuer: { clientId: undefined } });
});

test('proxies and the public address are read', () => {
  const settings = parseSettings({
    FREEHOLD_PUBLIC_URL: 'https://Apps.Example.org/',
    FREEHOLD_TRUSTED_PROXIES: '127.0.0.1, fd00::/8',
  });
  expect(settings.publicUrl?.href).toBe('https://apps.example.org/');
  expect(settings.trustedProxies).toEqual(['127.0.0.1', 'fd00::/8']);
});

test.each([
  ['36h', 36 * 3_600_000],
  ['30d', 30 * 24 * 3_600_000],
  ['off', 0],
])('a history of %s is kept', (text, ms) => {
  expect(parseSettings({ FREEHOLD_HISTORY: text }).historyMs).toBe(ms);
});

test('several sealing keys are kept in their order: the first seals', () => {
  expect(parseSettings({ SEAL_KEY: `${'a'.repeat(32)}, ${'b'.repeat(32)}` }).sealKeys).toEqual([
    'a'.repeat(32),
    'b'.repeat(32),
  ]);
});

test('several platform secrets are kept in their order: the first is the platform’s', () => {
  expect(parseSettings({ PLATFORM_SECRET: `${'a'.repeat(32)}, ${'b'.repeat(32)}` }).platformSecrets).toEqual([
    'a'.repeat(32),
    'b'.repeat(32),
  ]);
});

test('an archive is a directory or a bucket, and is named without its credentials', () => {
  const { archive } = parseSettings({ FREEHOLD_ARCHIVE_DIRECTORY: '/backup/freehold' });
  expect(archive).toEqual({ kind: 'directory', path: '/backup/freehold' });
  const bucket = parseSettings({ ...BUCKET, FREEHOLD_ARCHIVE_S3_PREFIX: 'backups/production' }).archive;
  expect(bucket).toEqual({
    kind: 's3',
    options: {
      endpoint: 'https://s3.example.org',
      bucket: 'freehold',
      accessKeyId: 'key',
      secretAccessKey: 'hush',
      prefix: 'backups/production/',
    },
  });
  expect(bucket && nameOfArchive(bucket)).toBe('s3.example.org/freehold/backups/production/');
});

test('a public address without proxies is probably a mistake, and causes a warning', () => {
  expect(warningsOf(parseSettings(PUBLIC))).toEqual([
    expect.stringMatching(/^FREEHOLD_PUBLIC_URL is set and FREEHOLD_TRUSTED_PROXIES is not: .+\.$/),
  ]);
  expect(warningsOf(parseSettings({ ...PUBLIC, FREEHOLD_TRUSTED_PROXIES: '10.0.0.1' }))).toEqual([]);
  expect(warningsOf(parseSettings({}))).toEqual([]);
});

test('a name that is no setting causes a warning, and names of other programs do not', () => {
  const env = {
    FREEHOLD_BACKUP: '/b',
    FREEHOLD_URL: 'https://api.example.org',
    FREEHOLD_TOKEN: 'x',
    OTEL_EXPORTER_OTLP_CERTIFICATE: '/ca.pem',
    OTHER: 'y',
  };
  expect(warningsOf(parseSettings(env))).toEqual([
    'FREEHOLD_BACKUP is no setting of the platform: docs/settings.md lists them.',
    'OTEL_EXPORTER_OTLP_CERTIFICATE is no setting of the platform: docs/settings.md lists them.',
  ]);
});

test('an outbox that no person can read causes a warning', () => {
  const behind = { ...PUBLIC, FREEHOLD_TRUSTED_PROXIES: '127.0.0.0/8' };
  expect(warningsOf(parseSettings(behind))).toEqual([
    expect.stringMatching(/^FREEHOLD_TRUSTED_PROXIES names this machine, .+ the outbox is closed: .+\.$/),
  ]);
  const mail = { FREEHOLD_SMTP_URL: 'smtp://mail.test', FREEHOLD_MAIL_FROM: 'a@b.test' };
  expect(warningsOf(parseSettings({ ...behind, ...mail }))).toEqual([]);
});

test('spec C-17: name servers are addresses, with or without a port', () => {
  const servers = ['192.0.2.53', '192.0.2.53:5353', '2001:db8::53', '[2001:db8::53]:5353'];
  expect(parseSettings({ FREEHOLD_DNS_SERVERS: servers.join(', ') }).dnsServers).toEqual(servers);
  for (const text of ['dns.example', '192.0.2', '192.0.2.53:x'])
    expect(() => parseSettings({ FREEHOLD_DNS_SERVERS: text })).toThrow(/FREEHOLD_DNS_SERVERS/);
});

test.each([
  ['20%', 2000],
  ['12.5%', 1250],
  ['0.25%', 25],
  ['1000%', 100_000],
])('a margin of %s is %i basis points', (text, basisPoints) => {
  expect(parseSettings({ FREEHOLD_USAGE_MARGIN: text }).modelMarginBasisPoints).toBe(basisPoints);
});

test('the file of providers is found in any working directory, and is not read yet', () => {
  const { providers } = parseSettings({ FREEHOLD_PROVIDERS_FILE: 'nowhere/providers.json', SECRET: 'x' });
  expect(providers.file).toMatch(/^\/.*nowhere\/providers\.json$/);
  expect(providers.env.SECRET).toBe('x');
});

const DAILY = { everyMs: 24 * 3_600_000, keepDaily: 7, keepWeekly: 4 };
test.each([
  ['nowhere in particular', {}, null],
  ['a directory', { FREEHOLD_BACKUPS: '/backup' }, DAILY],
  ['a bucket', BUCKET, DAILY],
  ['an archive that is no place for backups', { FREEHOLD_ARCHIVE_DIRECTORY: '/backup/archive' }, null],
  ['a directory, and off', { FREEHOLD_BACKUPS: '/backup', FREEHOLD_BACKUPS_EVERY: 'off' }, null],
  ['nowhere in particular, and asked for', { FREEHOLD_BACKUPS_EVERY: '1d' }, DAILY],
  [
    'a directory, and other numbers',
    {
      FREEHOLD_BACKUPS: '/backup',
      FREEHOLD_BACKUPS_EVERY: '12h',
      FREEHOLD_BACKUPS_KEEP_DAILY: '30',
      FREEHOLD_BACKUPS_KEEP_WEEKLY: '0',
    },
    { everyMs: 12 * 3_600_000, keepDaily: 30, keepWeekly: 0 },
  ],
])('spec C-19: backups by themselves, with %s', (_, env, policy) => {
  expect(parseSettings(env).backupPolicy).toEqual(policy);
});

const PRODUCTION = {
  NODE_ENV: 'production',
  PLATFORM_SECRET: 'x'.repeat(32),
  FREEHOLD_PUBLIC_URL: 'https://apps.example.org',
  FREEHOLD_SIGN_IN: 'directory',
};
const factors = (...texts: readonly string[]) =>
  texts.map((text) => ({ claim: text.slice(0, 3), value: text.slice(4) }));
test.each([
  ['nothing, while developing', {}, null],
  [
    'nothing, in production',
    PRODUCTION,
    { demand: 'new', accepted: factors('amr:mfa', 'amr:otp', 'amr:hwk') },
  ],
  ['off', { ...PRODUCTION, FREEHOLD_STAFF_SECOND_FACTOR: 'off' }, null],
  [
    'on',
    { FREEHOLD_STAFF_SECOND_FACTOR: 'on' },
    { demand: 'all', accepted: factors('amr:mfa', 'amr:otp', 'amr:hwk') },
  ],
  [
    'claims',
    { FREEHOLD_STAFF_SECOND_FACTOR: 'acr:urn:x:2, amr:fido' },
    { demand: 'all', accepted: factors('acr:urn:x:2', 'amr:fido') },
  ],
])('a second factor of staff, with %s', (_, env, secondFactor) => {
  expect(parseSettings(env).staff.secondFactor).toEqual(secondFactor);
});

test('a second factor is shown by a value of acr, or by one of amr', () => {
  const accepted = [
    { claim: 'amr', value: 'mfa' },
    { claim: 'acr', value: '2' },
  ] as const;
  for (const claims of [{ amr: ['pwd', 'mfa'] }, { acr: '2' }, { amr: 'mfa' }])
    expect(showsFactor(claims, accepted)).toBe(true);
  for (const claims of [
    {},
    { amr: ['pwd'] },
    { acr: '1' },
    { acr: 'mfa' },
    { amr: ['mfa2'] },
    { acr: ['3'] },
  ])
    expect(showsFactor(claims, accepted)).toBe(false);
});

test.each([
  ['12h', undefined],
  ['30m', 1_800_000],
  ['off', null],
])('staff who are inactive for %s', (text, idleMs = 12 * 3_600_000) => {
  const env = text === '12h' ? {} : { FREEHOLD_STAFF_IDLE: text };
  expect(parseSettings(env).staff.idleMs).toBe(idleMs);
});

test.each([
  { FREEHOLD_STAFF_SECOND_FACTOR: 'mfa' },
  { FREEHOLD_STAFF_SECOND_FACTOR: 'amr:mfa,' },
  { FREEHOLD_STAFF_IDLE: '0h' },
  { FREEHOLD_STAFF_IDLE: '8d' },
])('%j is refused with its name', (env) => {
  expect(() => parseSettings(env)).toThrow(new RegExp(`^${Object.keys(env)[0]} cannot be used: must be`));
});
