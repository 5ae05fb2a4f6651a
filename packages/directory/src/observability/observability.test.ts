/** Observability: access, windows, and platforms without a store of measurements. */
import { PlatformError, toTimestamp } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import { openPlatform, type Platform, refusal, SERVICE, STAFF } from '../../test/platform.ts';
import { chattyTelemetry } from '../../test/registry.ts';
import { adminOperations } from '../admin-operations.ts';
import { POINTS_MAX, type Telemetry } from './observability.ts';

const FLEET = ['observability.logs', 'observability.metrics', 'observability.metrics-series'] as const;
const OF_TENANT = [
  'observability.tenant-lines',
  'observability.tenant-logs',
  'observability.tenant-metrics',
  'observability.tenant-metrics-series',
] as const;

async function openFixture(telemetry?: Telemetry) {
  const platform = await openPlatform(telemetry ? { telemetry } : {});
  const [ours, theirs] = [await platform.tenant('ours'), await platform.tenant('theirs')];
  return { platform, ours, theirs, builder: platform.builder(ours.id) };
}

describe.each(FLEET)('spec C-24: %s', (name) => {
  test('is for staff only', async () => {
    const { platform, builder } = await openFixture(chattyTelemetry);
    expect(await refusal(platform.call(name, { as: builder }))).toMatchObject({
      status: 403,
      reason: 'staff_only',
    });
    for (const as of [STAFF, SERVICE]) {
      const { value } = await platform.call(name, { as, query: { script: 'fieldwork--1.0.0' } });
      expect(adminOperations[name].output.safeParse(value).error).toBeUndefined();
    }
  });

  test('is 501 without a store of measurements', async () => {
    const { platform } = await openFixture();
    expect(await refusal(platform.call(name))).toMatchObject({ status: 501, reason: 'no_telemetry' });
  });
});

describe.each(OF_TENANT)('spec C-24: %s', (name) => {
  test('staff must name an existing tenant', async () => {
    const { platform, theirs } = await openFixture(chattyTelemetry);
    for (const as of [STAFF, SERVICE])
      expect(await refusal(platform.call(name, { as }))).toMatchObject({
        status: 400,
        reason: 'tenant_required',
      });
    const unknown = { tenant: 'tnt_01jd0000000000000000000009' };
    expect(await refusal(platform.call(name, { query: unknown }))).toMatchObject({ status: 404 });
    const { value } = await platform.call(name, { query: { tenant: theirs.id } });
    expect(adminOperations[name].output.safeParse(value).error).toBeUndefined();
  });

  test('a builder looks at its own tenant, named or not, and at no other', async () => {
    const asked: unknown[] = [];
    const watched = Object.fromEntries(
      Object.entries(chattyTelemetry).map(([key, answer]) => [
        key,
        (query: { tenant: string }) => {
          asked.push(query.tenant);
          return answer(query as never);
        },
      ]),
    ) as unknown as Telemetry;
    const { platform, ours, theirs, builder } = await openFixture(watched);
    await platform.call(name, { as: builder });
    await platform.call(name, { as: builder, query: { tenant: ours.id } });
    const other = platform.call(name, { as: builder, query: { tenant: theirs.id } });
    expect(await refusal(other)).toMatchObject({ status: 404, reason: 'unknown_tenant' });
    expect(asked).toEqual([ours.id, ours.id]);
  });

  test('without a store, a caller without access is told that first, and so is one with a bad question', async () => {
    const { platform, ours, theirs, builder } = await openFixture();
    expect(await refusal(platform.call(name))).toMatchObject({ status: 400 });
    const other = platform.call(name, { as: builder, query: { tenant: theirs.id } });
    expect(await refusal(other)).toMatchObject({ status: 404 });
    const never = { tenant: ours.id, since: '2026-11-21T08:00:00.000Z', until: '2026-11-21T07:00:00.000Z' };
    expect(await refusal(platform.call(name, { query: never }))).toMatchObject({ status: 400 });
    expect(await refusal(platform.call(name, { as: builder }))).toMatchObject({
      status: 501,
      reason: 'no_telemetry',
    });
  });
});

test.each(OF_TENANT)('spec C-24: %s shows a builder nothing once its tenant is suspended', async (name) => {
  const { platform, ours, builder } = await openFixture(chattyTelemetry);
  await platform.call('tenants.set-status', { params: { tenant: ours.id }, body: { status: 'suspended' } });
  expect(await refusal(platform.call(name, { as: builder }))).toMatchObject({
    status: 403,
    reason: 'tenant_not_active',
  });
  expect((await platform.call(name, { query: { tenant: ours.id } })).status).toBe(200);
});

describe('the window', () => {
  const seen = async (platform: Platform, query: object) =>
    platform.value<{ since: string; until: string }>('observability.logs', { query: { ...query } });

  test('is the last hour unless told otherwise, and the answer says which it was', async () => {
    const { platform } = await openFixture(chattyTelemetry);
    expect(await seen(platform, {})).toMatchObject({
      since: '2026-11-21T07:00:00.000Z',
      until: '2026-11-21T08:00:00.000Z',
    });
    expect(await seen(platform, { until: '2026-11-20T08:00:00.000Z' })).toMatchObject({
      since: '2026-11-20T07:00:00.000Z',
    });
  });

  test.each([
    [{ since: '2026-11-21T08:00:00.000Z' }],
    [{ since: '2026-11-21T09:00:00.000Z' }],
    [{ since: '2026-10-21T07:59:59.999Z' }],
  ])('is refused when it is empty, or longer than a month: %o', async (query) => {
    const { platform } = await openFixture(chattyTelemetry);
    expect(await refusal(seen(platform, query))).toMatchObject({ status: 400, code: 'validation_failed' });
  });

  test('may be a month to the millisecond, and a series as long as it may be', async () => {
    const { platform } = await openFixture(chattyTelemetry);
    expect(await seen(platform, { since: '2026-10-21T08:00:00.000Z' })).toMatchObject({
      since: '2026-10-21T08:00:00.000Z',
    });
    const series = (points: number) =>
      platform.call('observability.metrics-series', {
        query: {
          since: toTimestamp(Date.parse('2026-11-21T08:00:00.000Z') - points * 60_000),
          stepSeconds: 60,
        },
      });
    expect((await series(POINTS_MAX)).status).toBe(200);
    expect(await refusal(series(POINTS_MAX + 1))).toMatchObject({ status: 400 });
  });

  test('a series of more points than a person can read is refused', async () => {
    const { platform } = await openFixture(chattyTelemetry);
    const query = { since: '2026-11-01T08:00:00.000Z', stepSeconds: 60 };
    expect(await refusal(platform.call('observability.metrics-series', { query }))).toMatchObject({
      status: 400,
    });
    const wider = { ...query, stepSeconds: 3600 };
    expect((await platform.call('observability.metrics-series', { query: wider })).status).toBe(200);
  });
});

describe('a store that fails', () => {
  test('is a 502 and an incident', async () => {
    const { platform } = await openFixture({
      ...chattyTelemetry,
      scriptLogs: () => Promise.reject(new TypeError('disk full')),
    });
    expect(await refusal(platform.call('observability.logs'))).toMatchObject({ status: 502 });
    expect(platform.incidents).toMatchObject([{ message: 'disk full' }]);
  });

  test('its own refusal of a question is passed on', async () => {
    const { platform } = await openFixture({
      ...chattyTelemetry,
      scriptLogs: () => Promise.reject(new PlatformError('validation_failed', 'The cursor is not mine.')),
    });
    expect(await refusal(platform.call('observability.logs'))).toMatchObject({
      status: 400,
      code: 'validation_failed',
    });
    expect(platform.incidents).toEqual([]);
  });

  test.each(['tenant-logs', 'tenant-metrics'] as const)(
    'spec C-24: one line of another tenant among %s is one too many',
    async (name) => {
      const others: string[] = [];
      const mixed =
        <Q extends { tenant: string }, L>(ask: (query: Q) => Promise<{ items: readonly L[] }>) =>
        async (query: Q) => {
          const [own, other] = await Promise.all([ask(query), ask({ ...query, tenant: others[0] })]);
          return { items: [...own.items, ...other.items], nextCursor: null };
        };
      const { platform, theirs, builder } = await openFixture({
        ...chattyTelemetry,
        tenantLogs: mixed(chattyTelemetry.tenantLogs) as Telemetry['tenantLogs'],
        tenantMetrics: mixed(chattyTelemetry.tenantMetrics) as Telemetry['tenantMetrics'],
      });
      others.push(theirs.id);
      const told = await refusal(platform.call(`observability.${name}`, { as: builder }));
      expect(told).toMatchObject({ status: 502 });
      expect(told.message).not.toContain(theirs.id);
    },
  );

  test('is not believed when it answers about another tenant', async () => {
    const { platform, ours, theirs, builder } = await openFixture({
      ...chattyTelemetry,
      tenantLogs: async (query) => chattyTelemetry.tenantLogs({ ...query, tenant: theirs.id }),
    });
    const told = await refusal(platform.call('observability.tenant-logs', { as: builder }));
    expect(told).toMatchObject({ status: 502 });
    expect(told.message).not.toContain(theirs.id);
    expect(ours.id).not.toBe(theirs.id);
  });
});
