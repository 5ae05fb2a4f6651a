/** A name with a former holder may still lead here: only DNS tells whose it is now (requirement C-17). */
import { describe, expect, test } from 'vitest';
import { makeHostnameWorld } from '../../test/hostname-probes.ts';
import { makeMemoryBackups } from '../../test/memory-backups.ts';
import { openPlatform } from '../../test/platform.ts';
import type { BackupRecord, HostnameRecord, ScopeRecord } from '../admin-operations.ts';
import { historyMigration } from './feature.ts';

const NAME = 'shop.acme.example';

async function open() {
  const world = makeHostnameWorld();
  const platform = await openPlatform({ hostnames: world.probes, backups: makeMemoryBackups() });
  const ours = await platform.scope((await platform.tenant('acme')).id);
  const theirs = await platform.scope((await platform.tenant('beta')).id);
  const verify = ({ tenant }: ScopeRecord, method?: 'dns' | 'http') =>
    platform.value<{ verified: boolean; reason: string | null; advice: string | null }>('hostnames.verify', {
      body: { hostname: NAME, tenant, ...(method ? { method } : {}) },
    });
  const unbind = ({ tenant }: ScopeRecord) =>
    platform.call('hostnames.delete', { params: { hostname: NAME }, query: { tenant } });
  /** The name leads here, so that the platform answers the document of every claim. */
  const claim = async (scope: ScopeRecord) => {
    const bound = await platform.hostname(scope, NAME);
    const { challenge } = bound.verification;
    if (!challenge) return expect.fail('there is no challenge');
    world.pages.set(challenge.http.url, new Response(challenge.http.body));
    return challenge;
  };
  const publish = ({ dns }: NonNullable<HostnameRecord['verification']['challenge']>) =>
    world.txt.set(dns.name, [dns.value]);
  return { platform, world, ours, theirs, verify, unbind, claim, publish };
}

type Fixture = Awaited<ReturnType<typeof open>>;

describe('spec C-17: a name whose former holder', () => {
  const leaving: [string, (fixture: Fixture) => Promise<unknown>][] = [
    ['unbound it', ({ unbind, ours }) => unbind(ours)],
    [
      'has no scope any more',
      async ({ platform, ours }) => {
        const params = { tenant: ours.tenant, scope: ours.id };
        await platform.call('scopes.set-status', { params, body: { status: 'archived' } });
        await platform.finish(platform.call('scopes.reap', { params, body: { backup: false } }));
      },
    ],
    [
      'was reaped',
      async ({ platform, ours }) => {
        const params = { tenant: ours.tenant };
        await platform.call('tenants.set-status', { params, body: { status: 'deleting' } });
        await platform.finish(platform.call('tenants.reap', { params, body: {} }));
      },
    ],
    [
      'was forgotten by a restore of the directory',
      async ({ platform, unbind, ours }) => {
        await unbind(ours);
        const taken = await platform.finish(platform.call('directory-backups.create', { body: {} }));
        const { id: backup } = taken.result as BackupRecord;
        await platform.finish(platform.call('directory.restore', { body: { backup } }));
      },
    ],
  ];
  test.each(leaving)('%s is not proven by the document, and is by DNS', async (_, leave) => {
    const fixture = await open();
    const { ours, theirs, claim, verify, publish } = fixture;
    await claim(ours);
    expect(await verify(ours, 'http')).toMatchObject({ verified: true, advice: null });
    await leave(fixture);
    const challenge = await claim(theirs);
    const answered = await verify(theirs);
    expect(answered).toMatchObject({ verified: false, reason: 'dns_required' });
    expect(answered.advice).toContain(challenge.dns.name);
    expect(answered.advice).toContain(challenge.dns.value);
    expect(answered.advice).not.toContain(ours.tenant);
    publish(challenge);
    expect(await verify(theirs)).toMatchObject({ verified: true, advice: null });
  });

  test('is the one who comes back is proven by the document', async () => {
    const { ours, claim, verify, unbind } = await open();
    await claim(ours);
    await verify(ours);
    await unbind(ours);
    await claim(ours);
    expect(await verify(ours)).toMatchObject({ verified: true });
  });
});

test('spec C-17: a name that was claimed and never held stays open to the document', async () => {
  const { ours, theirs, claim, verify, unbind } = await open();
  await claim(ours);
  await unbind(ours);
  await claim(theirs);
  expect(await verify(theirs)).toMatchObject({ verified: true });
});

test('a directory from before holders were remembered learns them from its log', async () => {
  const { platform, ours, theirs, claim, verify, unbind } = await open();
  await claim(ours);
  await verify(ours);
  await unbind(ours);
  await platform.tamper((database) => {
    database.exec('DROP TABLE hostname_holders; DROP TABLE hostname_attempts');
    database.exec(historyMigration.sql);
  });
  await claim(theirs);
  expect(await verify(theirs)).toMatchObject({ verified: false, reason: 'dns_required' });
});

test('binding anew does not begin the count of verifications anew', async () => {
  const { platform, ours, theirs, claim, verify, unbind } = await open();
  for (let i = 0; i < 10; i++) {
    await platform.hostname(ours, NAME);
    await verify(ours, 'dns');
    await unbind(ours);
  }
  await claim(ours);
  platform.clock.ms += 60_000;
  const limited = await verify(ours).catch((error) => error);
  expect(limited).toMatchObject({
    status: 429,
    reason: 'verified_too_often',
    headers: { 'retry-after': '540' },
  });
  // Another tenant is counted by itself.
  await claim(theirs);
  expect((await verify(theirs)).reason).toBe('dns_required');
  platform.clock.ms += 9 * 60_000;
  expect((await verify(ours)).reason).toBe('dns_required');
});

test('a tenant verifies no more than 60 times in ten minutes, whatever the names', async () => {
  const { platform, ours } = await open();
  const look = async (hostname: string) => {
    await platform.hostname(ours, hostname);
    return platform.call('hostnames.verify', { body: { hostname, tenant: ours.tenant } });
  };
  for (let i = 0; i < 60; i++) {
    await look(`n${i}.example`);
    if (i === 0) platform.clock.ms += 120_000;
  }
  const limited = await look('more.example').catch((error) => error);
  expect(limited).toMatchObject({ status: 429, headers: { 'retry-after': '480' } });
  platform.clock.ms += 480_000;
  expect((await look('other.example')).status).toBe(200);
});

test('a name that got another holder during the look-ups stays with it: its record was not looked for', async () => {
  const { platform, world, ours, theirs, verify, claim, publish, unbind } = await open();
  const gamma = await platform.scope((await platform.tenant('gamma')).id);
  // Ours is proven, its record goes, and is known to be gone: then others may claim the name.
  publish(await claim(ours));
  await verify(ours, 'dns');
  world.txt.clear();
  await platform.admin.recordSweep(platform.admin.hostnames.recheck());
  const challenge = await claim(theirs);
  const last = await claim(gamma);
  world.txt.set(challenge.dns.name, [challenge.dns.value, last.dns.value]);
  let meanwhile: Promise<unknown> | null = null;
  world.meanwhile = async () => {
    if (meanwhile) return;
    meanwhile = unbind(ours).then(() => verify(gamma, 'dns'));
    expect(await meanwhile).toMatchObject({ verified: true });
  };
  expect(await verify(theirs, 'dns')).toMatchObject({ verified: false, reason: 'hostname_taken' });
  expect((await platform.admin.routes()).map(({ tenant }) => tenant)).toEqual([gamma.tenant]);
});
