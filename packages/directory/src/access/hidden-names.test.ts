/** A builder cannot tell a name that it must not see from one that does not exist (design: control-plane, "Changed since"). */
import { expect, test } from 'vitest';
import { openPlatform, refusal } from '../../test/platform.ts';
import { makeRuntimeDouble, manifestOf, openApp } from '../../test/registry.ts';
import type { AdminOperationName } from '../admin-operations.ts';

test('a hidden vertical is answered word for word as one that does not exist, also for a change', async () => {
  const platform = await openPlatform({ runtime: makeRuntimeDouble() });
  const { id: tenant } = await platform.tenant('acme');
  const { id: other } = await platform.tenant('beta');
  const { pending } = await openApp(platform, other, 'hidden');
  await openApp(platform, other, 'found');
  platform.ownVerticals.add('hidden');
  await platform.call('listings.put', {
    params: { slug: 'found' },
    body: { tier: 'published', title: 'Found', summary: 'A vertical that all may find', description: 'Ours' },
  });
  const as = platform.builder(tenant);
  type Asked = readonly [
    AdminOperationName,
    (Record<string, unknown> | undefined)?,
    Record<string, unknown>?,
  ];
  const asked: readonly Asked[] = [
    ...(
      [
        'verticals.get',
        'vertical-versions.list',
        'channels.list',
        'verticals.instances',
        'listings.get',
      ] as const
    ).map((name): Asked => [name]),
    ['verticals.update', { name: 'Mine' }],
    ['vertical-versions.register', { version: '9.0.0', digest: 'd'.repeat(64) }],
    [
      'verticals.deploy',
      { modules: [{ name: 'i.js', mediaType: 'application/javascript+module', base64: btoa('0') }] },
    ],
    ['vertical-versions.get', undefined, { id: pending }],
    ['vertical-versions.admit', {}, { id: pending }],
    ['channels.promote', { version: '1.1.0' }, { channel: 'prod' }],
    ['listings.put', { tier: 'private', title: 'Mine' }],
    ['listings.request-publish', {}],
    ['install-blocks.get'],
    ['install-blocks.put', { reason: 'No more.' }],
    ['install-blocks.delete'],
  ];
  for (const [name, body, params = {}] of asked) {
    const ask = (slug: string) => {
      const manifest = { manifest: manifestOf(slug, '9.0.0') };
      const needs = name === 'vertical-versions.register' || name === 'verticals.deploy';
      const full = body && { ...body, ...(needs ? manifest : {}) };
      return refusal(
        platform.call(name, { params: { ...params, slug }, ...(full ? { body: full } : {}), as }),
      );
    };
    expect(await ask('hidden'), name).toEqual(await ask('nowhere'));
  }
  const provision = (vertical: string) =>
    refusal(
      platform.call('scopes.provision', {
        params: { tenant },
        body: { slug: 'mine', name: 'Mine', vertical },
        as,
      }),
    );
  const { message, ...hidden } = await provision('hidden');
  expect({ ...hidden, message: message.replace('hidden', 'nowhere') }).toEqual(await provision('nowhere'));
});

test('making a vertical that is taken, hidden or reserved is one conflict', async () => {
  const platform = await openPlatform();
  const { id: tenant } = await platform.tenant('acme');
  await openApp(platform, (await platform.tenant('beta')).id, 'hidden');
  await platform.call('verticals.create', { body: { slug: 'staffed', name: 'Own' } });
  await platform.admin.registerBuiltIn({ manifest: manifestOf('built-in', '1.0.0'), migrations: [] });
  const as = platform.builder(tenant);
  const create = (slug: string) =>
    refusal(platform.call('verticals.create', { body: { slug, name: 'Own' }, as }));
  const taken = await create('hidden');
  expect(taken).toMatchObject({ status: 409, code: 'conflict', reason: 'slug_taken' });
  for (const slug of ['staffed', 'built-in', 'fieldwork']) expect(await create(slug), slug).toEqual(taken);
});
