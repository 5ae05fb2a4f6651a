/** Records about the work of a scope name the version that the registry serves. */
import { expect, test } from 'vitest';
import { openPlatform } from '../../test/platform.ts';
import { admitted, promote } from '../../test/registry.ts';

test('a usage line carries the version of its scope when it is collected: its own, or the one on prod', async () => {
  const platform = await openPlatform({ versionOf: () => '0.0.0' });
  const { id: tenant } = await platform.tenant('acme');
  const { id: scope } = await platform.scope(tenant);
  platform.reach = 'local';
  const request = (index: number) => ({
    id: `prq_01jd000000000000000000000${index}`,
    kind: 'model-usage',
    payload: {
      spec: 'openai:gpt-5-mini',
      outcome: 'completed',
      inputTokens: 1,
      cachedInputTokens: 0,
      cacheWriteTokens: 0,
      outputTokens: 1,
      reasoningTokens: 0,
      reported: true,
      listUsd: 0.1,
      pricesAsOf: '2026-10-16',
      attribution: { tenant, scope, vertical: 'fieldwork', version: '9.9.9', operation: 'order/describe' },
    },
    status: 'pending',
    revision: 1,
    requestedBy: 'prn_01jd0000000000000000000001',
    invocation: 'inv_01jd0000000000000000000001',
    cause: null,
    at: '2026-11-21T07:59:00.000Z',
    settledAt: null,
    result: null,
  });
  let raised = [request(1)];
  Object.assign(platform.fieldwork.local, {
    listPlatformRequests: async () => ({ items: raised, nextCursor: null }),
    settlePlatformRequest: async () => ({ ...raised[0], status: 'done', revision: 2 }),
  });
  await platform.admin.collectModelUsage({ tenant, scope });
  await platform.call('verticals.create', { body: { slug: 'fieldwork', name: 'Fieldwork' } });
  await admitted(platform, 'fieldwork', '1.0.0');
  await promote(platform, 'fieldwork', { version: '1.0.0' });
  raised = [request(2)];
  await platform.admin.collectModelUsage({ tenant, scope });
  const { version } = await admitted(platform, 'fieldwork', '2.0.0');
  await platform.call('scope-version.set', { params: { tenant, scope }, body: { version } });
  raised = [request(3)];
  await platform.admin.collectModelUsage({ tenant, scope });
  let rows: unknown[] = [];
  await platform.tamper((database) => {
    rows = database.prepare('SELECT version FROM model_usage_lines ORDER BY request').all();
  });
  expect(rows).toMatchObject([{ version: '0.0.0' }, { version: '1.0.0' }, { version: '2.0.0' }]);
});

test('the fleet is counted at the version that prod serves now', async () => {
  const platform = await openPlatform({ versionOf: () => '0.0.0' });
  const { id: tenant } = await platform.tenant('acme');
  await platform.scope(tenant);
  const counted = () => platform.value('fleet-migrations.get');
  expect(await counted()).toMatchObject({ items: [{ version: '0.0.0', applied: 1 }] });
  await platform.call('verticals.create', { body: { slug: 'fieldwork', name: 'Fieldwork' } });
  await admitted(platform, 'fieldwork', '1.0.0');
  await promote(platform, 'fieldwork', { version: '1.0.0' });
  expect(await counted()).toMatchObject({ items: [{ version: '1.0.0', pending: 1 }] });
});
