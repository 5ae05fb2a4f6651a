/** One damaged file takes nothing else along: the fleet is served, `/readyz` says degraded, and a command brings it back. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startPlatform } from '../../apps/platform/src/platform.ts';
import { parseSettings } from '../../apps/platform/src/settings/settings.ts';
import { recover } from '../../apps/platform/src/storage/recover.ts';
import { Caller } from '../support/http.ts';
import { openEmbeddedPlatform } from './embedded-platform.ts';

test('a damaged identity database of one tenant and a damaged `rest` database', async () => {
  const first = await openEmbeddedPlatform();
  const { place, token, scope: demo } = first;
  using caller = new Caller();
  const ask = (path: string, json?: object) =>
    caller.ask(`${place.url('api.localhost')}${path}`, {
      method: json ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${token}` },
      ...(json ? { json } : {}),
    });
  const other = (await ask('/tenants', { slug: 'beta', name: 'Beta' })).json<{ id: string }>().id;
  const vertical = { slug: 'fieldwork', name: 'Beta', vertical: 'fieldwork' };
  const made = await ask(`/tenants/${other}/scopes`, vertical);
  expect(made.status, made.text).toBe(201);
  const scope = made.json<{ id: string }>().id;
  const demoSeat = `/tenants/${demo.tenantId}/scopes/${demo.scopeId}/owner-seat`;
  expect((await ask(demoSeat)).status).toBe(200);
  await first.platform.close();

  const identity = join(place.dataDirectory, 'identity', `${demo.tenantId}.sqlite`);
  const rest = join(place.dataDirectory, 'rest', 'main.sqlite');
  for (const path of [identity, rest]) writeFileSync(path, readFileSync(path).fill(0x5a, 0, 8_192));

  const incidents: string[] = [];
  const settings = parseSettings({
    PORT: String(place.port),
    ISSUER_PORT: String(place.issuerPort),
    FREEHOLD_DATA: place.dataDirectory,
  });
  const start = () => startPlatform(settings, (error) => incidents.push(String(error)));
  const damaged = await start();
  expect(damaged.demo).toBeNull();
  expect(damaged.warnings).toContainEqual(expect.stringContaining('The demo is not served'));
  expect(incidents).toContainEqual(
    expect.stringMatching(
      `The database ${identity} cannot be read: .* tenant ${demo.tenantId}\\. .*npm start -- recover identity/${demo.tenantId}`,
    ),
  );
  for (const host of ['api.localhost', 'localhost']) {
    const ready = await caller.ask(`${place.url(host)}/readyz`);
    expect(ready.status).toBe(200);
    expect(ready.json()).toMatchObject({ status: 'degraded', reasons: [{ reason: 'unit_unreadable' }] });
    // Everybody may ask.
    expect(ready.text).not.toMatch(/tnt_|sqlite/);
  }
  expect((await ask(demoSeat)).json()).toMatchObject({ status: 503, reason: 'unit_unreadable' });
  expect((await ask(`/tenants/${other}/scopes/${scope}/owner-seat`)).status).toBe(200);
  expect((await ask(`/tenants/${other}/scopes/${scope}/tables`)).status).toBe(200);
  expect((await ask(`/tenants/${other}/scopes`, { ...vertical, slug: 'second' })).status).toBe(201);
  expect(incidents).toContainEqual(
    expect.stringMatching(`The database ${rest} cannot be read: .* made anew: nothing is lost`),
  );
  expect(readdirSync(join(place.dataDirectory, 'rest')).join()).toMatch(/main\.sqlite\.damaged-\d{8}T\d{6}Z/);
  await damaged.close();

  const lines = await recover([`identity/${demo.tenantId}`], settings);
  expect(lines.join('\n')).toMatch(/from its own history: nothing is lost\.\nThe damaged file is now /);
  const whole = await start();
  expect(whole.demo?.tenant).toBe(demo.tenantId);
  expect((await ask(demoSeat)).status).toBe(200);
  expect((await caller.ask(`${place.url('localhost')}/readyz`)).json()).toEqual({ status: 'ready' });
  await whole.close();
  place.remove();
});
