/** The feed of measurements: where lines of requests and of deployed verticals go. */

import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ScopeId, TenantId } from '@freehold/contracts';
import { parseOtlpSettings } from '@freehold/telemetry';
import { expect, onTestFinished, test } from 'vitest';
import { ScopeActivity } from '../network/activity.ts';
import { openTelemetryFeed } from './telemetry.ts';

const request = {
  tenant: 'tnt_a' as TenantId,
  scope: 'scp_a' as ScopeId,
  ...{ vertical: 'rental', version: '1.0.0', surface: 'app', method: 'GET', place: 'GET/api/items' },
  ...{ status: 200, durationMs: 5, atMs: Date.UTC(2026, 5, 1) },
  ...{ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), parentSpanId: null },
};

async function open({ days, exports }: { readonly days: number; readonly exports: boolean }) {
  const incidents: string[] = [];
  const bodies = new Map<string, string>();
  const collector = createServer(async (asked, answer) => {
    let body = '';
    for await (const piece of asked) body += piece;
    bodies.set(asked.url ?? '', body);
    answer.end('{}');
  });
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  const folder = mkdtempSync(join(tmpdir(), 'freehold-feed-'));
  onTestFinished(() => {
    collector.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const { port } = collector.address() as AddressInfo;
  const activity = new ScopeActivity();
  const feed = openTelemetryFeed({
    dataDirectory: folder,
    days,
    otlp: parseOtlpSettings(
      exports
        ? {
            OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
            OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
          }
        : {},
    ),
    programVersion: '0.1.0',
    activity,
    servingVersion: () => '1.0.0',
    versionOfBundle: (_, digest) => (digest === 'd1' ? '0.9.0' : null),
    now: () => request.atMs,
    onIncident: (error) => void incidents.push((error as Error).message),
  });
  return { activity, feed, bodies, incidents };
}

test('nothing waits where nothing is kept and nothing exported', async () => {
  const { activity, feed } = await open({ days: 0, exports: false });
  activity.served(request);
  expect([feed.store, activity.takeServed().lines]).toEqual([null, []]);
  await feed.close();
});

test('what is not kept is exported all the same: requests as spans, lines of a vertical with its version', async () => {
  const { activity, feed, bodies } = await open({ days: 0, exports: true });
  activity.served(request);
  feed.onLines('rental', [{ kind: 'console', digest: 'd1', atMs: request.atMs, level: 'warn', text: 'low' }]);
  await feed.close();
  expect([...bodies.keys()].sort()).toEqual(['/v1/logs', '/v1/metrics', '/v1/traces']);
  expect(bodies.get('/v1/traces')).toContain(`"traceId":"${request.traceId}","spanId":"${request.spanId}"`);
  expect(bodies.get('/v1/logs')).toMatch(/"stringValue":"low".*"stringValue":"0\.9\.0"/);
  expect(bodies.get('/v1/metrics')).toContain('"count":"1"');
});

test('lines that were lost on the way are an issue of their vertical, and lines that were cut are of their instance', async () => {
  const { feed, incidents } = await open({ days: 1, exports: false });
  const { tenant, scope } = request;
  feed.onLines('rental', [
    { kind: 'dropped', lines: 7 },
    { kind: 'cut', digest: 'd1', tenant, scope, lines: 9 },
  ]);
  expect(incidents).toEqual([expect.stringMatching(/^7 lines of the vertical rental were dropped/)]);
  const window = { sinceMs: 0, untilMs: request.atMs + 1, limit: 10 };
  expect((await feed.store?.tenantLines({ tenant, ...window }))?.items).toMatchObject([
    { version: '0.9.0', level: 'warn', text: '9 more lines of this request were dropped.' },
  ]);
  await feed.close();
});
