/**
 * The cost of measurements: a request to an application that is measured, and measured and exported, beside the same that is
 * not; and a page of lines out of a million. The request asks who one is, signed out.
 */
import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { makeApp } from '@freehold/app';
import { PLATFORM_SECRET_HEADER, type ScopeId, type TenantId } from '@freehold/contracts';
import { openNodeEngine } from '@freehold/engine-node';
import { makeUnitVault, makeVaultUnit } from '@freehold/kernel';
import rental from '@freehold/rental';
import { makeKeyring } from '@freehold/store';
import { openTelemetryFeed } from '../apps/platform/src/feeds/telemetry.ts';
import { ScopeActivity } from '../apps/platform/src/network/activity.ts';
import { type Listener, listen } from '../apps/platform/src/network/listener.ts';
import { makeRouter, type Router, type RouterOptions } from '../apps/platform/src/network/router.ts';
import { EmbeddedTelemetry, type OtlpSettings, parseOtlpSettings } from '../packages/telemetry/src/index.ts';
import { compareRounds, type Row } from './harness.ts';
import type { Calls } from './telemetry-thread.ts';

const SECRET = 's'.repeat(40);
const TENANT = 'tnt_00000000000000000000000001' as TenantId;
const SCOPE = 'scp_00000000000000000000000001' as ScopeId;
const HOST = 'shop.localhost';
const SETTINGS = { AUTH_PROVIDER: 'oidc', OIDC_ISSUER: 'https://issuer.example', OIDC_AUDIENCE: 'bench' };
const CONCURRENT = 8;
/** Several writes of what waits. */
const ROUND_MS = 2_000;
const ROUNDS = 9;

const LINES = 1_000_000;
const TENANTS = 100;
const DAY_MS = 86_400_000;
const PAGE = 100;
const PAGES = 50;
const PAGE_MS = 200;

export async function benchTelemetry(directory: string): Promise<Row[]> {
  return [...(await benchRequests(directory)), await benchPages(join(directory, 'lines'))];
}

async function benchRequests(directory: string): Promise<Row[]> {
  const onIncident = (error: unknown): void => {
    throw error;
  };
  const engine = openNodeEngine({ dataDirectory: join(directory, 'data'), onIncident });
  const vaultUnit = makeVaultUnit(makeKeyring(['k'.repeat(43)]));
  const { app, publicPaths } = makeApp(rental, {
    engine,
    vault: makeUnitVault((tenant) => engine.unit(vaultUnit, tenant, { create: true })),
    platformSecret: [SECRET],
    now: Date.now,
    random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
    fetch,
    onIncident,
  });
  const provisioned = await app.fetch(provisioning(), { ...SETTINGS, node: null });
  if (!provisioned.ok) throw new Error(`it was not provisioned: ${await provisioned.text()}`);
  const routerOf = (onServed: RouterOptions['onServed']): Router =>
    makeRouter({
      ...{ apiHostnames: [], homeHostnames: [], sharedDomains: [], gate: null, onServed, now: Date.now },
      controlPlane: () => new Response(null),
      home: () => new Response(null),
      application: () => ({
        fetch: (request, env) => app.fetch(request, env),
        bindings: SETTINGS,
        publicPaths,
      }),
      preview: () => null,
      route: async (hostname) => ({
        ...{ hostname, hostnames: [hostname], surface: 'app', tenant: TENANT, scope: SCOPE },
        ...{ vertical: 'rental', version: '0.1.0', serving: true },
      }),
      challenge: async () => null,
      originOf: (hostname) => `http://${hostname}`,
    });
  const measured = (name: string, otlp: OtlpSettings | null) => {
    const activity = new ScopeActivity();
    const feed = openTelemetryFeed({
      ...{ dataDirectory: join(directory, name), days: 1, otlp, programVersion: '0.1.0', activity },
      servingVersion: () => '0.1.0',
      versionOfBundle: () => null,
      now: Date.now,
      onIncident,
    });
    return { router: routerOf(activity.served), feed };
  };
  const other = new Worker(new URL('telemetry-thread.ts', import.meta.url));
  const [port] = (await once(other, 'message')) as [number];
  const otlp = parseOtlpSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` });
  const stored = measured('stored', null);
  const exported = measured('exported', otlp);
  const listeners: Listener[] = [];
  const listening = async ({ fetch }: Router): Promise<string> => {
    const options = { port: 0, host: '127.0.0.1', trustedProxies: [], plainHttp: null };
    const listener = await listen({ ...options, fetch, onIncident });
    listeners.push(listener);
    return `http://127.0.0.1:${listener.port}`;
  };
  const plain = await listening(routerOf(() => undefined));
  try {
    const rows: Row[] = [];
    for (const [name, { router }] of [
      ['a request that is measured', stored],
      ['a request that is measured and exported', exported],
    ] as const) {
      const ours = await listening(router);
      for (const origin of [ours, plain]) await perSecond(other, origin);
      rows.push(
        await compareRounds(
          {
            name: `telemetry: ${name}`,
            against: 'the same request, not measured',
            rounds: ROUNDS,
            ours: () => perSecond(other, ours),
            peer: () => perSecond(other, plain),
          },
          0.97,
        ),
      );
    }
    return rows;
  } finally {
    for (const listener of listeners) await listener.close();
    await stored.feed.close();
    await exported.feed.close();
    await other.terminate();
    await engine.close();
  }
}

function provisioning(): Request {
  return new Request('http://vertical.internal/internal/provision', {
    method: 'POST',
    headers: { 'content-type': 'application/json', [PLATFORM_SECRET_HEADER]: SECRET },
    body: JSON.stringify({ tenantId: TENANT, scopeId: SCOPE, name: 'Shop' }),
  });
}

/**
 * Requests for each second of this thread's processor time: callers and collector are on another thread, and what the
 * measurements are written with is on this one. The time on the clock would be that of everything else on the machine too.
 */
async function perSecond(other: Worker, origin: string): Promise<number> {
  const before = process.threadCpuUsage();
  other.postMessage({
    origin,
    host: HOST,
    path: '/api/me',
    callers: CONCURRENT,
    ms: ROUND_MS,
  } satisfies Calls);
  const [done] = (await once(other, 'message')) as [number];
  const { user, system } = process.threadCpuUsage(before);
  return (done * 1_000_000) / (user + system);
}

/** The slowest page of lines of a tenant, from a window of an hour at any time of the day. */
async function benchPages(folder: string): Promise<Row> {
  const dayMs = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const store = new EmbeddedTelemetry({
    folder,
    limits: { waitingMax: LINES, linesPerMinute: LINES, bytesMax: 8 * 1_024 ** 3 },
    pull: () => ({ lines: [], dropped: 0 }),
    now: () => dayMs + DAY_MS - 1,
    onIncident: (error) => {
      throw error;
    },
  });
  const tenantOf = (index: number) => `tnt_${String(index % TENANTS).padStart(26, '0')}` as TenantId;
  for (let index = 0; index < LINES; index++) {
    store.log({
      atMs: dayMs + Math.floor((index * DAY_MS) / LINES),
      ...{ vertical: 'rental', version: '0.1.0', tenant: tenantOf(index), scope: SCOPE },
      ...{ kind: 'console', level: 'info', text: `the item ${index} was rented for three days`, stack: null },
    });
    if (index % 50_000 === 49_999) store.flush();
  }
  const times: number[] = [];
  for (let page = 0; page < PAGES; page++) {
    const sinceMs = dayMs + Math.floor((page * (DAY_MS - 3_600_000)) / PAGES);
    const begunMs = performance.now();
    const { items } = await store.tenantLines({
      tenant: tenantOf(page * 7),
      ...{ sinceMs, untilMs: sinceMs + 3_600_000, limit: PAGE },
    });
    times.push(performance.now() - begunMs);
    if (items.length !== PAGE) throw new Error(`a page of ${PAGE} lines had ${items.length}`);
  }
  store.close();
  if (store.dropped > 0) throw new Error(`${store.dropped} lines were dropped`);
  const slowestMs = Math.max(...times);
  return {
    name: `telemetry: a page of ${PAGE} lines out of a million, by tenant and time`,
    against: `${PAGE_MS} ms`,
    ours: slowestMs,
    peer: PAGE_MS,
    ratio: slowestMs / PAGE_MS,
    target: '≤ 1',
    met: slowestMs <= PAGE_MS,
    shown: [`${slowestMs.toFixed(1)} ms`, `${PAGE_MS} ms`],
  };
}
