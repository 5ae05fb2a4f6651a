/** Calls of a vertical beside the hosts that it declared. */
import { PlatformError } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import { openPlatform, refusal } from '../../test/platform.ts';
import {
  admitted,
  makeRuntimeDouble,
  manifestOf,
  promote,
  quietEgress,
  register,
} from '../../test/registry.ts';
import type { EgressReport } from '../admin-operations.ts';
import type { EgressObserver } from './egress.ts';

type Query = Parameters<EgressObserver['observed']>[0];

async function openApp(egress?: EgressObserver) {
  const platform = await openPlatform(egress ? { egress } : {});
  await platform.call('verticals.create', { body: { slug: 'app', name: 'App' } });
  return platform;
}

const params = { slug: 'app' };

describe('spec C-16', () => {
  test('without an observer it is 501, also for a valid question; an unknown vertical is 404 first', async () => {
    const platform = await openApp();
    expect(await refusal(platform.call('verticals.egress', { params }))).toMatchObject({
      status: 501,
      reason: 'no_egress_seam',
    });
    expect(await refusal(platform.call('verticals.egress', { params: { slug: 'unknown' } }))).toMatchObject({
      status: 404,
    });
  });

  test.each([
    ['hours', 0],
    ['hours', 73],
    ['hours', 1.5],
    ['limit', 0],
    ['limit', 1001],
  ])('%s %d is out of range: 400', async (field, value) => {
    const platform = await openApp(quietEgress);
    const call = platform.call('verticals.egress', { params, query: { [field]: value } });
    expect(await refusal(call)).toMatchObject({ status: 400, code: 'validation_failed' });
  });

  test('it covers 24 hours and 500 hosts unless told otherwise, from 1 to 72 and from 1 to 1000', async () => {
    const asked: Query[] = [];
    const platform = await openApp({
      observed: async (query) => {
        asked.push(query);
        return { hosts: [], sampled: false, truncated: false };
      },
    });
    for (const query of [{}, { hours: 1, limit: 1 }, { hours: 72, limit: 1000 }])
      await platform.call('verticals.egress', { params, query });
    const hoursBack = asked.map(({ sinceMs }) => (platform.clock.ms - sinceMs) / 3_600_000);
    expect(hoursBack).toEqual([24, 1, 72]);
    expect(asked.map(({ limit }) => limit)).toEqual([500, 1, 1000]);
  });

  test('per deployed version it shows observed calls beside declared hosts', async () => {
    const platform = await openApp({
      observed: async ({ sinceMs }) => ({
        hosts: [
          { version: '1.0.0', host: 'api.example.com', calls: 7, lastSeenAtMs: sinceMs },
          { version: '1.0.0', host: 'mail.example.org', calls: 1, lastSeenAtMs: sinceMs },
          { version: '1.0.0', host: 'example.org', calls: 1, lastSeenAtMs: sinceMs },
          { version: '1.0.0', host: 'evil.test', calls: 2, lastSeenAtMs: sinceMs },
          { version: '0.1.0', host: 'api.example.com', calls: 1, lastSeenAtMs: sinceMs },
        ],
        sampled: true,
        truncated: false,
      }),
    });
    await admitted(platform, 'app', '1.0.0', { egress: ['api.example.com', '*.example.org'] });
    await promote(platform, 'app', { version: '1.0.0' });
    await register(platform, 'app', '2.0.0', { egress: ['never.example.com'] });
    const report = await platform.value<EgressReport>('verticals.egress', { params });
    expect(report).toMatchObject({ hours: 24, limit: 500, sampled: true, truncated: false });
    const shown = report.versions.map(({ version, declared, observed }) => ({
      version,
      declared,
      observed: observed.map((each) => `${each.host} ${each.calls} ${each.declared}`),
    }));
    // 2.0.0 is not deployed. 0.1.0 is not registered, and was seen all the same.
    expect(shown).toEqual([
      {
        version: '1.0.0',
        declared: ['api.example.com', '*.example.org'],
        observed: [
          'api.example.com 7 true',
          'mail.example.org 1 true',
          'example.org 1 false',
          'evil.test 2 false',
        ],
      },
      { version: '0.1.0', declared: [], observed: ['api.example.com 1 false'] },
    ]);
  });

  test('a declared host without calls is shown too', async () => {
    const platform = await openApp(quietEgress);
    await admitted(platform, 'app', '1.0.0', { egress: ['api.example.com'] });
    await promote(platform, 'app', { version: '1.0.0' });
    expect(await platform.value('verticals.egress', { params })).toMatchObject({
      sampled: false,
      versions: [{ version: '1.0.0', declared: ['api.example.com'], observed: [] }],
    });
  });

  test('an answer that is longer than the limit is cut, and marked', async () => {
    const host = (name: string) => ({ version: '1.0.0', host: name, calls: 1, lastSeenAtMs: 0 });
    const platform = await openApp({
      observed: async () => ({ hosts: [host('a.test'), host('b.test')], sampled: false, truncated: false }),
    });
    const report = await platform.value<EgressReport>('verticals.egress', { params, query: { limit: 1 } });
    expect(report).toMatchObject({ truncated: true, versions: [{ observed: [{ host: 'a.test' }] }] });
    expect(report.versions[0]?.observed).toHaveLength(1);
  });

  test.each([
    [2, false, false],
    [2, true, true],
    [1, true, true],
  ])('%i hosts of at most 2, of which the observer says truncated %s: %s', async (count, said, shown) => {
    const hosts = ['a.test', 'b.test'].slice(0, count);
    const platform = await openApp({
      observed: async () => ({
        hosts: hosts.map((host) => ({ version: '1.0.0', host, calls: 1, lastSeenAtMs: 0 })),
        sampled: false,
        truncated: said,
      }),
    });
    const report = await platform.value<EgressReport>('verticals.egress', { params, query: { limit: 2 } });
    expect(report).toMatchObject({ sampled: false, truncated: shown });
    expect(report.versions.flatMap(({ observed }) => observed)).toHaveLength(count);
  });

  test('deployed is the version on prod, of a bound scope and of an upload, of this vertical alone', async () => {
    const asked: string[] = [];
    const platform = await openPlatform({
      runtime: makeRuntimeDouble(),
      egress: {
        observed: async ({ vertical }) => {
          asked.push(vertical);
          return { hosts: [], sampled: false, truncated: false };
        },
      },
    });
    const slug = 'fieldwork';
    for (const each of [slug, 'other'])
      await platform.call('verticals.create', { body: { slug: each, name: each } });
    for (const version of ['1.0.0', '2.0.0', '3.0.0']) await admitted(platform, slug, version);
    await promote(platform, slug, { version: '1.0.0' });
    const { id: scope, tenant } = await platform.scope((await platform.tenant('acme')).id);
    await platform.call('scope-version.set', { params: { tenant, scope }, body: { version: '2.0.0' } });
    const modules = [{ name: 'index.js', mediaType: 'application/javascript+module', base64: btoa('0') }];
    for (const [vertical, version] of [
      [slug, '4.0.0'],
      ['other', '9.0.0'],
    ] as const)
      await platform.call('verticals.deploy', {
        params: { slug: vertical },
        body: { manifest: manifestOf(vertical, version), modules, egress: ['api.example.com'] },
      });
    const report = await platform.value<EgressReport>('verticals.egress', { params: { slug } });
    expect(asked).toEqual([slug]);
    // 3.0.0 is admitted and runs nowhere.
    expect(report.versions).toEqual([
      { version: '4.0.0', declared: ['api.example.com'], observed: [] },
      { version: '2.0.0', declared: [], observed: [] },
      { version: '1.0.0', declared: [], observed: [] },
    ]);
  });

  test('a host is the same in capitals, and comes with when it was called last', async () => {
    const lastSeenAtMs = Date.parse('2026-11-20T07:00:00.123Z');
    const seen = { version: '1.0.0', calls: 1, lastSeenAtMs };
    const hosts = [
      { ...seen, host: 'API.Example.com' },
      { ...seen, host: 'Mail.EXAMPLE.org' },
    ];
    const platform = await openApp({ observed: async () => ({ hosts, sampled: false, truncated: false }) });
    await admitted(platform, 'app', '1.0.0', { egress: ['api.example.com', '*.example.org'] });
    await promote(platform, 'app', { version: '1.0.0' });
    const { versions } = await platform.value<EgressReport>('verticals.egress', { params });
    expect(versions[0]?.observed).toMatchObject([
      { host: 'API.Example.com', declared: true, lastSeenAt: '2026-11-20T07:00:00.123Z' },
      { host: 'Mail.EXAMPLE.org', declared: true, lastSeenAt: '2026-11-20T07:00:00.123Z' },
    ]);
  });

  test('a builder is refused before anything is looked up, of its own vertical too', async () => {
    const platform = await openPlatform({ egress: quietEgress });
    const { id: ownerTenant } = await platform.tenant('acme');
    await platform.call('verticals.create', { body: { slug: 'app', name: 'App', ownerTenant } });
    const as = platform.builder(ownerTenant);
    for (const slug of ['app', 'unknown'])
      expect(await refusal(platform.call('verticals.egress', { params: { slug }, as }))).toMatchObject({
        status: 403,
        reason: 'staff_only',
      });
  });

  test('a refusal of the observer is passed on', async () => {
    const busy = new PlatformError('unavailable', 'Counting.', { reason: 'busy' });
    const platform = await openApp({ observed: () => Promise.reject(busy) });
    expect(await refusal(platform.call('verticals.egress', { params }))).toMatchObject({
      status: 503,
      reason: 'busy',
    });
    expect(platform.incidents).toEqual([]);
  });

  test('an observer that fails is a 502, and an incident', async () => {
    const platform = await openApp({ observed: () => Promise.reject(new TypeError('gone')) });
    expect(await refusal(platform.call('verticals.egress', { params }))).toMatchObject({
      status: 502,
      code: 'runtime_fault',
    });
    expect(platform.incidents).toMatchObject([{ message: 'gone' }]);
  });
});
