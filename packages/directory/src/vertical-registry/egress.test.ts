/** What a vertical called beside what it said it would. */
import { describe, expect, test } from 'vitest';
import { openPlatform, refusal } from '../../test/platform.ts';
import { admitted, promote, quietEgress, register } from '../../test/registry.ts';
import type { EgressReport } from '../declarations/index.ts';
import type { EgressObserver } from './runtime.ts';

type Query = Parameters<EgressObserver['observed']>[0];

async function openApp(egress?: EgressObserver) {
  const platform = await openPlatform(egress ? { egress } : {});
  await platform.call('verticals.create', { body: { slug: 'app', name: 'App' } });
  return platform;
}

const params = { slug: 'app' };

describe('spec C-16', () => {
  test('without a seam it is 501, also for a question that is a good one; an unknown vertical is 404 first', async () => {
    const platform = await openApp();
    expect(await refusal(platform.call('verticals.egress', { params }))).toMatchObject({
      status: 501,
      reason: 'no_egress_seam',
    });
    expect(await refusal(platform.call('verticals.egress', { params: { slug: 'nobody' } }))).toMatchObject({
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

  test('it looks at 24 hours and 500 hosts unless told otherwise, at 1 to 72 and 1 to 1000', async () => {
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

  test('per deployed version it shows what was observed beside what was declared', async () => {
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
    // 2.0.0 is not deployed. 0.1.0 is not known, and was seen all the same.
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

  test('what is declared and was never called is shown too', async () => {
    const platform = await openApp(quietEgress);
    await admitted(platform, 'app', '1.0.0', { egress: ['api.example.com'] });
    await promote(platform, 'app', { version: '1.0.0' });
    expect(await platform.value('verticals.egress', { params })).toMatchObject({
      sampled: false,
      versions: [{ version: '1.0.0', declared: ['api.example.com'], observed: [] }],
    });
  });

  test('an answer that is longer than what was asked for is cut, and said to be', async () => {
    const host = (name: string) => ({ version: '1.0.0', host: name, calls: 1, lastSeenAtMs: 0 });
    const platform = await openApp({
      observed: async () => ({ hosts: [host('a.test'), host('b.test')], sampled: false, truncated: false }),
    });
    const report = await platform.value<EgressReport>('verticals.egress', { params, query: { limit: 1 } });
    expect(report).toMatchObject({ truncated: true, versions: [{ observed: [{ host: 'a.test' }] }] });
    expect(report.versions[0]?.observed).toHaveLength(1);
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
