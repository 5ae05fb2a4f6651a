/** Versions: registered once and for all, and judged by the reviewers. */
import { describe, expect, test } from 'vitest';
import { openPlatform, type Platform, refusal, STAFF } from '../../test/platform.ts';
import { admitted, DIGEST, manifestOf, migrationOf, promote, register } from '../../test/registry.ts';
import type { VersionDetail, VersionRecord, VersionStatus, VersionVerdict } from '../admin-operations.ts';

/** A tenant with a vertical of its own. */
async function openApp() {
  const platform = await openPlatform();
  const tenant = await platform.tenant('acme');
  await platform.call('verticals.create', { body: { slug: 'app', name: 'App', ownerTenant: tenant.id } });
  return { platform, tenant, owner: platform.builder(tenant.id) };
}

const decide = (platform: Platform, id: string, verdict: 'admit' | 'reject', as = STAFF, ifMatch?: string) =>
  platform.call(`vertical-versions.${verdict}`, {
    params: { slug: 'app', id },
    body: {},
    as,
    ...(ifMatch === undefined ? {} : { ifMatch }),
  });

describe('spec C-13: a version never changes', () => {
  const body = { version: '1.0.0', digest: DIGEST, manifest: manifestOf('app', '1.0.0') };
  const post = (platform: Platform, parts: object = {}) =>
    platform.call('vertical-versions.register', { params: { slug: 'app' }, body: { ...body, ...parts } });

  test('the same digest answers the version that is there, and writes nothing', async () => {
    const { platform } = await openApp();
    const [first, second] = [await post(platform), await post(platform)];
    expect([first.status, second.status]).toEqual([201, 200]);
    expect(second.value).toEqual(first.value);
    expect(first.value).toMatchObject({ status: 'pending', script: 'app--1.0.0', serving: false });
    expect(await platform.adminLog({ action: 'vertical-versions.register' })).toHaveLength(1);
  });

  test.each([
    ['another digest', { digest: 'f'.repeat(64) }],
    ['another manifest', { manifest: manifestOf('app', '1.0.0', { name: 'Other' }) }],
    ['another migration', { migrations: [migrationOf(1)] }],
    ['another host', { egress: ['api.example.com'] }],
  ])('the same version with %s is refused', async (_, parts) => {
    const { platform } = await openApp();
    await post(platform);
    const before = await platform.adminLog();
    expect(await refusal(post(platform, parts))).toMatchObject({ status: 409, code: 'immutable' });
    expect(await platform.adminLog()).toEqual(before);
  });

  test('not even the database lets one be changed', async () => {
    const { platform } = await openApp();
    await post(platform);
    await platform.tamper((database) => {
      for (const column of ['digest', 'manifest', 'migrations', 'egress', 'version'])
        expect(() => database.exec(`UPDATE vertical_versions SET ${column} = 'x'`)).toThrow(/never changes/);
    });
  });

  test('a manifest of another vertical or version, or whose parts do not fit, is refused', async () => {
    const { platform } = await openApp();
    for (const manifest of [
      manifestOf('other', '1.0.0'),
      manifestOf('app', '1.0.1'),
      manifestOf('app', '1.0.0', { ownerRole: 'unknown' }),
    ])
      expect(await refusal(post(platform, { manifest }))).toMatchObject({ status: 400 });
  });

  test.each(['1.0', '1.0.0/..', '1.0.0-ä', '1.0.0 x', 'v1.0.0'])(
    'a version that could be no part of a script name is refused: %s',
    async (version) => {
      const { platform } = await openApp();
      const manifest = { ...manifestOf('app', '1.0.0'), version };
      expect(await refusal(post(platform, { version, manifest }))).toMatchObject({ status: 400 });
    },
  );
});

describe('spec C-13: every state and every verdict', () => {
  /** The verdicts that lead to each state from nothing. */
  const PATHS: Readonly<Record<VersionStatus, readonly ('admit' | 'reject')[]>> = {
    pending: [],
    admitted: ['admit'],
    rejected: ['reject'],
  };
  const TABLE: readonly [VersionStatus, 'admit' | 'reject', VersionStatus, rows: number][] = [
    ['pending', 'admit', 'admitted', 1],
    ['pending', 'reject', 'rejected', 1],
    ['admitted', 'admit', 'admitted', 0],
    ['admitted', 'reject', 'rejected', 1],
    ['rejected', 'admit', 'admitted', 1],
    ['rejected', 'reject', 'rejected', 0],
  ];

  test.each(TABLE)('%s, %s → %s, %i rows', async (from, verdict, to, rows) => {
    const { platform } = await openApp();
    const { id } = await register(platform, 'app', '1.0.0');
    for (const step of PATHS[from]) await decide(platform, id, step);
    const before = await platform.adminLog();
    const { value } = await decide(platform, id, verdict);
    expect(value).toMatchObject({ version: { id, status: to, reviewedBy: 'platform' } });
    const written = (await platform.adminLog()).slice(before.length);
    expect(written).toHaveLength(rows);
    if (rows === 1)
      expect(written[0]).toMatchObject({
        action: `vertical-versions.${verdict}`,
        target: { vertical: 'app', other: id },
        before: { version: '1.0.0', status: from },
        after: { status: to, reviewedBy: 'platform' },
      });
  });

  test('a version that serves, or that a scope is bound to, is not rejected', async () => {
    const platform = await openPlatform();
    const tenant = await platform.tenant('acme');
    await platform.call('verticals.create', { body: { slug: 'fieldwork', name: 'Fieldwork' } });
    const serving = await admitted(platform, 'fieldwork', '1.0.0');
    const bound = await admitted(platform, 'fieldwork', '2.0.0');
    await promote(platform, 'fieldwork', { id: serving.id });
    const scope = await platform.scope(tenant.id);
    const params = { tenant: tenant.id, scope: scope.id };
    await platform.call('scope-version.set', { params, body: { id: bound.id } });
    for (const { id } of [serving, bound]) {
      const reject = platform.call('vertical-versions.reject', {
        params: { slug: 'fieldwork', id },
        body: {},
      });
      expect(await refusal(reject)).toMatchObject({ status: 409, reason: 'version_in_use' });
    }
    await platform.call('scope-version.set', { params, body: { channel: 'prod' } });
    const rejected = await platform.value<VersionVerdict>('vertical-versions.reject', {
      params: { slug: 'fieldwork', id: bound.id },
      body: { note: 'Too old.' },
    });
    expect(rejected.version).toMatchObject({ status: 'rejected', note: 'Too old.' });
  });

  test('a version of another vertical is not there', async () => {
    const { platform } = await openApp();
    await platform.call('verticals.create', { body: { slug: 'other', name: 'Other' } });
    const { id } = await register(platform, 'other', '1.0.0');
    expect(await refusal(decide(platform, id, 'admit'))).toMatchObject({ status: 404 });
  });

  test('the note of a verdict stands with the version and in the log, and goes with the next verdict', async () => {
    const { platform } = await openApp();
    const { id } = await register(platform, 'app', '1.0.0');
    const params = { slug: 'app', id };
    const note = 'It writes to a host that it does not declare.';
    await platform.call('vertical-versions.reject', { params, body: { note } });
    expect(await platform.value('vertical-versions.get', { params })).toMatchObject({
      status: 'rejected',
      note,
    });
    await platform.call('vertical-versions.admit', { params, body: {} });
    expect(await platform.value('vertical-versions.get', { params })).toMatchObject({ note: null });
    const rows = await platform.adminLog();
    expect(rows.slice(-2)).toMatchObject([
      { before: { status: 'pending', note: null }, after: { status: 'rejected', note } },
      { before: { status: 'rejected', note }, after: { status: 'admitted', note: null } },
    ]);
  });

  test('lists are of one state, newest first', async () => {
    const { platform } = await openApp();
    await platform.call('verticals.create', { body: { slug: 'another', name: 'Another' } });
    await admitted(platform, 'another', '7.0.0');
    await admitted(platform, 'app', '1.0.0');
    await register(platform, 'app', '2.0.0');
    await admitted(platform, 'app', '3.0.0');
    const versions = async (query: object) =>
      (
        await platform.value<{ items: VersionRecord[] }>('vertical-versions.list', {
          params: { slug: 'app' },
          query: { ...query },
        })
      ).items.map(({ version }) => version);
    expect(await versions({})).toEqual(['3.0.0', '2.0.0', '1.0.0']);
    expect(await versions({ status: 'admitted' })).toEqual(['3.0.0', '1.0.0']);
  });
});

describe('the reviewers', () => {
  test('the owner of a private vertical decides alone', async () => {
    const { platform, owner } = await openApp();
    const { id } = await register(platform, 'app', '1.0.0', { as: owner });
    const { value } = await decide(platform, id, 'admit', owner);
    expect(value).toMatchObject({ version: { status: 'admitted', reviewedBy: 'owner' } });
    expect((await promote(platform, 'app', { id }, owner)).value).toMatchObject({ version: '1.0.0' });
  });

  test('once others are shown it, staff decide, and a version that the owner admitted alone needs another review', async () => {
    const { platform, owner } = await openApp();
    const [first, second] = [
      await register(platform, 'app', '1.0.0', { as: owner }),
      await register(platform, 'app', '1.1.0', { as: owner }),
    ];
    await decide(platform, first.id, 'admit', owner);
    await decide(platform, second.id, 'admit', owner);
    await promote(platform, 'app', { id: first.id }, owner);
    const body = { tier: 'unlisted', title: 'App' };
    await platform.call('listings.put', { params: { slug: 'app' }, body });
    const { id } = await register(platform, 'app', '2.0.0', { as: owner });
    const review = { status: 403, reason: 'staff_review_required' };
    expect(await refusal(decide(platform, id, 'admit', owner))).toMatchObject(review);
    expect(await refusal(promote(platform, 'app', { id: second.id }, owner))).toMatchObject(review);
    // The same verdict again, from staff, is another verdict.
    await decide(platform, second.id, 'admit');
    expect((await promote(platform, 'app', { id: second.id }, owner)).status).toBe(200);
  });

  test('making it private again gives the decision back only when no other tenant has an instance', async () => {
    const platform = await openPlatform();
    const [a, b] = [await platform.tenant('a'), await platform.tenant('b')];
    const owner = platform.builder(a.id);
    const slug = 'fieldwork';
    await platform.call('verticals.create', { body: { slug, name: 'Fieldwork', ownerTenant: a.id } });
    await admitted(platform, slug, '1.0.0');
    await promote(platform, slug, { version: '1.0.0' });
    const list = (tier: string, as = STAFF) =>
      platform.call('listings.put', { params: { slug }, body: { tier, title: 'F' }, as });
    await list('published');
    await platform.scope(b.id);
    await list('private', owner);
    const { id } = await register(platform, slug, '2.0.0', { as: owner });
    const admit = () =>
      platform.call('vertical-versions.admit', { params: { slug, id }, body: {}, as: owner });
    expect(await refusal(admit())).toMatchObject({ reason: 'staff_review_required' });
    await platform.tamper((database) => database.exec("UPDATE scopes SET status = 'reaped'"));
    expect((await admit()).status).toBe(200);
  });

  test('a verdict of staff stands until staff change it', async () => {
    const { platform, owner } = await openApp();
    const { id } = await register(platform, 'app', '1.0.0');
    await decide(platform, id, 'reject');
    expect(await refusal(decide(platform, id, 'admit', owner))).toMatchObject({
      reason: 'staff_review_required',
    });
  });
});

describe('the changes of a version are part of the answer', () => {
  test('none while no version serves', async () => {
    const { platform } = await openApp();
    const { id } = await register(platform, 'app', '1.0.0');
    expect((await decide(platform, id, 'admit')).value).toMatchObject({ changes: null });
  });

  test('permissions, migrations, hosts and settings against what serves, before the verdict and with it', async () => {
    const { platform } = await openApp();
    const before = {
      migrations: [migrationOf(1), migrationOf(2)],
      egress: ['api.example.com'],
      manifest: { env: { COLOUR: { summary: 'A colour' } } },
    };
    await admitted(platform, 'app', '1.0.0', before);
    await promote(platform, 'app', { version: '1.0.0' });
    const { id } = await register(platform, 'app', '2.0.0', {
      migrations: [migrationOf(1, 'other'), migrationOf(3)],
      egress: ['*.example.org'],
      manifest: {
        roles: {
          owner: { name: 'Owner', permissions: ['order.complete'] },
          clerk: { name: 'Clerk', permissions: ['order.read'] },
        },
        entities: { order: {}, line: { parent: 'order' } },
        env: { SIZE: { summary: 'A size' } },
      },
    });
    const changes = {
      serving: '1.0.0',
      permissions: {
        permissions: { gained: [], lost: [] },
        roles: { gained: ['clerk'], lost: [] },
        byRole: {
          owner: { gained: ['order.complete'], lost: ['order.read'] },
          clerk: { gained: ['order.read'], lost: [] },
        },
        parents: [{ entity: 'line', before: null, after: 'order' }],
        widens: true,
      },
      migrations: {
        added: [migrationOf(3)],
        removed: [migrationOf(2)],
        changed: [{ before: migrationOf(1), after: migrationOf(1, 'other') }],
        differs: true,
      },
      egress: { gained: ['*.example.org'], lost: ['api.example.com'] },
      settings: { gained: ['SIZE'], lost: ['COLOUR'] },
    };
    const detail = await platform.value<VersionDetail>('vertical-versions.get', {
      params: { slug: 'app', id },
    });
    expect(detail).toMatchObject({ changes, manifest: { version: '2.0.0' } });
    expect((await decide(platform, id, 'admit')).value).toMatchObject({ changes });
  });

  test('a version that takes something away widens nothing', async () => {
    const { platform } = await openApp();
    await admitted(platform, 'app', '1.0.0');
    await promote(platform, 'app', { version: '1.0.0' });
    const { id } = await register(platform, 'app', '2.0.0', {
      manifest: { roles: { owner: { name: 'Owner', permissions: [] } } },
    });
    const { changes } = await platform.value<VersionDetail>('vertical-versions.get', {
      params: { slug: 'app', id },
    });
    expect(changes?.permissions).toMatchObject({ widens: false });
    expect(changes?.migrations.differs).toBe(false);
  });

  test('a verdict on a comparison that is outdated is refused', async () => {
    const { platform } = await openApp();
    await admitted(platform, 'app', '1.0.0');
    const { id, etag } = await register(platform, 'app', '2.0.0');
    await promote(platform, 'app', { version: '1.0.0' });
    expect(await refusal(decide(platform, id, 'admit', STAFF, etag))).toMatchObject({ status: 412 });
  });
});
