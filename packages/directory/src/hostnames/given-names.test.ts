/** Names below a base domain: whose label it is, what is reserved, what looks alike, and how many (spec C-17). */
import { describe, expect, test } from 'vitest';
import { makeMemoryBackups } from '../../test/memory-backups.ts';
import { openPlatform, type Platform, refusal, STAFF } from '../../test/platform.ts';
import type { Actor } from '../access/actors.ts';
import type { BackupRecord, ScopeRecord } from '../admin-operations.ts';
import { BUILDER_NAMES_MAX, givenName, skeletonOf } from './given-names.ts';

const DOMAIN = 'apps.example.com';

async function open(...slugs: string[]) {
  const platform = await openPlatform({
    baseDomains: [DOMAIN],
    reservedHostnames: [`plane.${DOMAIN}`],
    backups: makeMemoryBackups(),
  });
  const scopes: ScopeRecord[] = [];
  for (const slug of slugs) scopes.push(await platform.scope((await platform.tenant(slug)).id));
  return { platform, scopes: scopes as [ScopeRecord, ScopeRecord] };
}

const bind = (platform: Platform, scope: ScopeRecord, name: string, as: Actor = STAFF) =>
  platform.call('hostnames.bind', {
    body: {
      hostname: name.includes('.localhost') ? name : `${name}.${DOMAIN}`,
      scope: scope.id,
      tenant: scope.tenant,
    },
    as,
  });
const statusOf = async (answer: Promise<unknown>) => (await answer) && 201;
const TAKEN = { status: 409, code: 'conflict', reason: 'hostname_taken' };

describe('a builder', () => {
  test('binds the label of its tenant and every name below it, active at once', async () => {
    const { platform, scopes } = await open('acme');
    const as = platform.builder(scopes[0].tenant);
    for (const name of ['acme', 'www.acme', 'a.b.acme', 'acme.localhost', 'shop.acme.localhost'])
      expect((await bind(platform, scopes[0], name, as)).value, name).toMatchObject({ status: 'active' });
  });

  test('binds below a label that staff gave to its tenant', async () => {
    const { platform, scopes } = await open('acme');
    const as = platform.builder(scopes[0].tenant);
    expect(await refusal(bind(platform, scopes[0], 'x.shop', as))).toMatchObject(TAKEN);
    await bind(platform, scopes[0], 'shop');
    expect(await statusOf(bind(platform, scopes[0], 'x.shop', as))).toBe(201);
  });

  test('gets one answer, word for word, for a name that is free, taken, hidden, reserved or of a look-alike', async () => {
    const { platform, scopes } = await open('acme', 'beta');
    await bind(platform, scopes[1], 'given');
    await bind(platform, scopes[1], 'deep.beta');
    const as = platform.builder(scopes[0].tenant);
    const names = [
      'free',
      'beta',
      'given',
      'below.given',
      'x.beta',
      'deep.beta',
      'admin',
      'plane',
      'p1ane',
      'x.plane',
    ];
    const answers = [];
    for (const name of [...names, 'xn--80ak6aa92e', 'other.localhost'])
      answers.push(await refusal(bind(platform, scopes[0], name, as)));
    expect(answers[0]).toMatchObject(TAKEN);
    for (const [index, answer] of answers.entries()) expect(answer, names[index]).toEqual(answers[0]);
    expect(answers[0]?.message).toContain('its own label');
  });

  test(`binds at most ${BUILDER_NAMES_MAX} names; staff may bind more`, async () => {
    const { platform, scopes } = await open('acme');
    const [scope] = scopes;
    await bind(platform, scope, 'acme');
    await platform.tamper((database) => {
      const copy =
        database.prepare(`INSERT INTO hostnames SELECT ? || claim, ? || hostname, tenant, scope, surface, status,
        method, token || ?, verified_at, checked_at, reason, missing_since, attempts, attempts_since, revision, created_at,
        updated_at, area || ? FROM hostnames WHERE hostname = 'acme.${DOMAIN}'`);
      for (let each = 1; each < BUILDER_NAMES_MAX; each++)
        copy.run(`n${each}.`, `n${each}.`, String(each), `n${each}.`);
    });
    const more = bind(platform, scope, 'more.acme', platform.builder(scope.tenant));
    expect(await refusal(more)).toMatchObject({ status: 409, reason: 'too_many_hostnames' });
    expect(await statusOf(bind(platform, scope, 'more.acme'))).toBe(201);
  });
});

describe('staff', () => {
  test.each([
    ['the label of another tenant', 'beta'],
    ['a look-alike of the slug of another tenant', 'c1aim'],
    ['a name below one of another tenant', 'x.given'],
    ['a name below a look-alike of one', 'x.g1ven0'.replace('g1ven0', 'g1oba1')],
    ['a look-alike of one', 'g10bal'],
    ['a name above one of another tenant', 'over'],
    ['a name below a label that has names of another tenant', 'other.over'],
    ['a reserved word', 'www'],
    ['a look-alike of a reserved word', 'adrnin'],
    ['a name below a reserved word', 'x.login'],
    ['a label that is not ASCII', 'xn--bcher-kva'],
  ])('bind no name that is %s', async (_what, name) => {
    const { platform, scopes } = await open('acme', 'beta');
    await platform.tenant('claim');
    for (const theirs of ['given', 'global', 'deep.over']) await bind(platform, scopes[1], theirs);
    expect(await refusal(bind(platform, scopes[0], name))).toMatchObject(TAKEN);
    expect(await statusOf(bind(platform, scopes[0], 'free'))).toBe(201);
  });
});

describe('staff bind the own name of a tenant again', () => {
  test.each([
    ['its slug, which is a reserved word', 'docs', 'docs'],
    ['its slug, which looks like that of an older tenant', 'paypa1', 'paypa1'],
    ['a reserved word that it held before', 'status', 'acme'],
    ['a name below a reserved word that it held before', 'x.login', 'acme'],
  ])('%s', async (_what, name, slug) => {
    const { platform, scopes } = await open('paypal', slug);
    const [older, own] = scopes;
    if (name !== slug)
      await platform.tamper((database) =>
        database
          .prepare('INSERT INTO hostname_holders VALUES (?, ?, 1)')
          .run(`${name}.${DOMAIN}`, own.tenant),
      );
    expect(await refusal(bind(platform, own, name, platform.builder(own.tenant)))).toMatchObject(TAKEN);
    expect(await statusOf(bind(platform, own, name))).toBe(201);
    await platform.call('hostnames.delete', {
      params: { hostname: `${name}.${DOMAIN}` },
      query: { tenant: own.tenant },
    });
    expect(await statusOf(bind(platform, own, name))).toBe(201);
    expect(await refusal(bind(platform, older, name))).toMatchObject(TAKEN);
  });

  test('but not the slug of another tenant, also where it held that name before', async () => {
    const { platform, scopes } = await open('acme', 'beta');
    await platform.tamper((database) =>
      database
        .prepare('INSERT INTO hostname_holders VALUES (?, ?, 1)')
        .run(`beta.${DOMAIN}`, scopes[0].tenant),
    );
    expect(await refusal(bind(platform, scopes[0], 'beta'))).toMatchObject(TAKEN);
  });
});

test('of two tenants whose slugs look alike the older one has the label', async () => {
  const { platform, scopes } = await open('paypal', 'paypa1');
  const of = (index: 0 | 1) =>
    bind(platform, scopes[index], index === 0 ? 'paypal' : 'paypa1', platform.builder(scopes[index].tenant));
  expect(await refusal(of(1))).toMatchObject(TAKEN);
  expect(await statusOf(of(0))).toBe(201);
});

test('a name that the rules no longer allow stays, and is answered when it is bound again', async () => {
  const { platform, scopes } = await open('acme', 'beta');
  await bind(platform, scopes[0], 'old');
  await platform.tamper((database) =>
    database.exec(`UPDATE hostnames SET hostname = 'admin.${DOMAIN}', claim = 'admin.${DOMAIN} ' || tenant`),
  );
  expect((await bind(platform, scopes[0], 'admin')).status).toBe(200);
});

test('areas are filled in for older directories, and for what a backup brings back', async () => {
  const { platform, scopes } = await open('acme', 'beta');
  await bind(platform, scopes[1], 'given');
  const backup = (await platform.finish(platform.call('directory-backups.create', { body: {} })))
    .result as BackupRecord;
  await platform.tamper((database) =>
    database.exec(`DROP INDEX hostnames_area; DROP INDEX tenants_skeleton; ALTER TABLE hostnames DROP COLUMN area;
      DELETE FROM _spine_migrations WHERE "set" = 'hostnames' AND version = 3`),
  );
  expect(await refusal(bind(platform, scopes[0], 'x.given'))).toMatchObject(TAKEN);
  await platform.finish(platform.call('directory.restore', { body: { backup: backup.id } }));
  expect(await refusal(bind(platform, scopes[0], 'x.given'))).toMatchObject(TAKEN);
});

test('skeletons are those of confusables.txt for every character that a label can have', () => {
  expect(skeletonOf('abcdefghijklmnopqrstuvwxyz0123456789-')).toBe('abcdefghijklrnnopqrstuvwxyzol23456789-');
});

test.each([
  ['localhost', null],
  ['acme.localhost', 'acme.localhost'],
  ['a.acme.example.com', 'acme.example.com'],
  ['a.acme.eu.example.com', 'acme.eu.example.com'],
  ['example.com', null],
  ['notexample.com', null],
  ['acme.example.com.evil.org', null],
])('under the base domains example.com and eu.example.com, the label of %s is %s', (name, labelled) => {
  expect(givenName(name, ['Example.com', 'eu.example.com'])?.labelled ?? null).toBe(labelled);
});
