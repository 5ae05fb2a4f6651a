/** Limits of a plan through the whole platform: a tenant that uses up its own waits, and its public form does not. */
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeControlPlaneClient } from '@freehold/control-plane/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Caller, throughCaller } from '../support/http.ts';
import { type EmbeddedPlatform, openEmbeddedPlatform } from './embedded-platform.ts';

let platform: EmbeddedPlatform;
const caller = new Caller();
const limits = join(tmpdir(), `freehold-limits-${process.pid}.json`);

beforeAll(async () => {
  const plans = { small: { requests: { scope: 30 }, bytes: { scope: 1 } } };
  writeFileSync(limits, JSON.stringify({ default: {}, plans }));
  platform = await openEmbeddedPlatform({ FREEHOLD_LIMITS_FILE: limits });
}, 60_000);
afterAll(async () => {
  caller[Symbol.dispose]();
  await platform?.[Symbol.asyncDispose]();
  rmSync(limits, { force: true });
});

test('a scope beyond the limit of its plan is asked to wait; its public form, the control plane and health are not', async () => {
  const { app, place, scope, token } = platform;
  const client = makeControlPlaneClient({ baseUrl: place.url('api.localhost'), token, fetch: throughCaller });
  await client.entitlements.put({
    params: { tenant: scope.tenantId, key: 'platform' },
    body: { plan: 'small' },
  });
  const write = () => caller.ask(`${app}/api/customers`, { json: {} });
  // The plan and the size are read after the first request, and looked for a second later.
  await expect
    .poll(async () => (await write()).json<{ reason?: string }>().reason, { timeout: 10_000, interval: 250 })
    .toBe('too_many_bytes');
  // People are still let in and sent away: these reached the application, which knows no such person.
  for (const path of [
    '/api/auth/backchannel-logout',
    '/api/members/prn_none/remove',
    '/api/sessions/end-all',
  ])
    expect((await caller.ask(`${app}${path}`, { json: {} })).status, path).not.toBe(429);
  // Reading goes on, until there are too many requests.
  expect((await caller.ask(`${app}/api/me`)).status).toBe(200);
  for (let i = 0; i < 30; i += 1) await caller.ask(`${app}/api/me`);
  const refused = await caller.ask(`${app}/api/me`);
  expect(refused.json()).toMatchObject({ code: 'rate_limited', reason: 'too_many_requests' });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  const asked = () =>
    caller.ask(`${app}/public/appointments`, { json: {}, headers: { origin: 'https://shop.example' } });
  // 403: the page of the shop is not on the list. It was answered by the surface, and not by a limit.
  for (let i = 0; i < 40; i += 1) expect((await asked()).status).toBe(403);
  expect((await caller.ask(`${place.url('localhost')}/readyz`)).status).toBe(200);
  for (let i = 0; i < 120; i += 1) await caller.ask(`${app}/api/me`);
  await expect
    .poll(async () => (await client.opsFailures.list({ query: {} })).items.map(({ operation }) => operation))
    .toContain('limits.refuse');
  // The one incident is the notice: plan and size could be read.
  expect(platform.incidents).toEqual([[expect.objectContaining({ key: 'limits' }), expect.any(Error)]]);
  const issues = await client.issues.list({ query: {} });
  expect(JSON.stringify(issues)).toContain('were refused within a minute by the limit of requests');
});
