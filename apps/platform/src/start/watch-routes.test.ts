/** Spec C-19: after a restore of the directory, the registrations of this start are repeated. */

import { expect, test } from 'vitest';
import { makeMemoryBackups } from '../../../../packages/directory/test/memory-backups.ts';
import { openPlatform } from '../../../../packages/directory/test/platform.ts';
import { manifestOf } from '../../../../packages/directory/test/registry.ts';
import { registerVerticals } from '../applications/verticals.ts';
import { watchRoutes } from './issuer.ts';

/** A build of this platform, with one version of its vertical. */
const build = (version: string) =>
  new Map([
    [
      'fieldwork',
      { manifest: manifestOf('fieldwork', version), units: { scope: { migrations: [] } } as never },
    ],
  ]);

async function open() {
  const directory = await openPlatform({ backups: makeMemoryBackups() });
  const { admin } = directory;
  const serving = async () =>
    (
      await directory.value<{ items: { version: string }[] }>('channels.list', {
        params: { slug: 'fieldwork' },
      })
    ).items[0]?.version;
  await registerVerticals(admin, build('1.0.0'));
  const { result } = await directory.finish(directory.call('directory-backups.create', { body: {} }));
  const { id: backup } = result as { id: string };
  await registerVerticals(admin, build('2.0.0'));
  const incidents: unknown[] = [];
  const watch = (onReplaced: () => Promise<void>) =>
    watchRoutes({
      hostAdmin: admin,
      addresses: { apiOrigin: () => 'http://api.localhost', originOf: (name) => `http://${name}` },
      issuer: { registerOrigins: async () => undefined },
      onChanged: () => undefined,
      onReplaced,
      onIncident: (error) => incidents.push(error),
    });
  const restore = () => directory.finish(directory.call('directory.restore', { body: { backup } }));
  return { directory, admin, serving, watch, restore, incidents };
}

test('the build that runs serves again after a directory of an older build was restored', async () => {
  const { admin, serving, watch, restore, incidents } = await open();
  const registered = Promise.withResolvers<void>();
  const before: (string | undefined)[] = [];
  watch(async () => {
    before.push(await serving());
    await registerVerticals(admin, build('2.0.0')).then(registered.resolve, registered.reject);
  });
  expect(await serving()).toBe('2.0.0');
  expect(await restore()).toMatchObject({ state: 'done' });
  await registered.promise;
  expect(before).toEqual(['1.0.0']);
  expect(await serving()).toBe('2.0.0');
  expect(incidents).toEqual([]);
});

test('a change of a part of the directory registers nothing again', async () => {
  const { directory, watch } = await open();
  let replaced = 0;
  watch(async () => {
    replaced += 1;
  });
  const tenant = await directory.tenant('acme');
  const scope = await directory.scope(tenant.id);
  await directory.hostname(scope, 'acme.localhost');
  const params = { tenant: tenant.id };
  await directory.call('tenants.set-status', { params, body: { status: 'suspended' } });
  expect(replaced).toBe(0);
});

test('a registration that fails after a restore is an incident', async () => {
  const { watch, restore, incidents } = await open();
  watch(() => Promise.reject(new TypeError('our bug')));
  await restore();
  await new Promise(setImmediate);
  expect(incidents).toMatchObject([{ message: 'our bug' }]);
});
