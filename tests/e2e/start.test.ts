/** An operator starts and stops the platform. */

import { once } from 'node:events';
import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { startIssuer } from '@freehold/issuer';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Caller } from '../support/http.ts';
import { failToStart, newPlace, type PlatformPlace, startPlatform } from '../support/platform.ts';
import { signIn } from '../support/sign-in.ts';

let place: PlatformPlace;
beforeEach(async () => {
  place = await newPlace();
});
afterEach(() => place.remove());

/** Checks that a failed start printed one sentence and exited with another code than 0. */
function expectOneSentence({ code, output }: { code: number | null; output: string }, words: RegExp): void {
  expect(code).toBe(1);
  expect(output.trim().split('\n')).toHaveLength(1);
  expect(output).toMatch(words);
}

test('the first start provisions the demo tenant, and a later start finds everything as it was', async () => {
  using caller = new Caller();
  const first = await startPlatform(place);
  expect((await caller.ask(`${place.url('localhost')}/readyz`)).status).toBe(200);
  expect(statSync(join(place.dataDirectory, 'service-token')).mode & 0o777).toBe(0o600);
  const authorization = { authorization: `Bearer ${first.serviceToken()}` };
  const read = async () => ({
    tenants: (await caller.ask(`${place.url('api.localhost')}/tenants`, { headers: authorization })).json<{
      items: { id: string; slug: string }[];
    }>().items,
    log: (await caller.ask(`${place.url('api.localhost')}/admin-log`, { headers: authorization })).json<{
      items: unknown[];
    }>().items,
  });
  const before = await read();
  expect(before.tenants.map((tenant) => tenant.slug)).toEqual(['acme']);
  expect(await first.stop()).toBe(0);

  const second = await startPlatform(place);
  expect(second.serviceToken()).toBe(first.serviceToken());
  expect(await read()).toEqual(before);
  const verdict = await caller.ask(`${place.url('api.localhost')}/admin-log/verify`, {
    headers: authorization,
  });
  expect(verdict.json()).toMatchObject({ status: 'ok' });
  expect(await second.stop()).toBe(0);
});

test('a taken port is one clear sentence and a non-zero exit', async () => {
  const other = createServer().listen(place.port, '127.0.0.1');
  await once(other, 'listening');
  expectOneSentence(await failToStart(place), new RegExp(`Port ${place.port} is taken`));
  await once(other.close(), 'close');
});

test('a taken issuer port is one clear sentence and a non-zero exit', async () => {
  const other = createServer().listen(place.issuerPort, '127.0.0.1');
  await once(other, 'listening');
  expectOneSentence(
    await failToStart(place),
    new RegExp(`Port ${place.issuerPort} is taken: set ISSUER_PORT`),
  );
  await once(other.close(), 'close');
});

test('an unwritable data directory is one clear sentence and a non-zero exit', async () => {
  mkdirSync(dirname(place.dataDirectory), { recursive: true });
  // Below a file no user can write.
  writeFileSync(place.dataDirectory, '');
  expectOneSentence(
    await failToStart(place, { FREEHOLD_DATA: join(place.dataDirectory, 'below') }),
    /data directory .* cannot be written/,
  );
});

test('a data directory that another process uses is refused', async () => {
  const running = await startPlatform(place);
  const other = await newPlace();
  expectOneSentence(
    await failToStart(other, { FREEHOLD_DATA: place.dataDirectory }),
    /in use by another process/,
  );
  expect(await running.stop()).toBe(0);
  other.remove();
});

test('missing secrets beside existing data are one clear sentence, and no new ones are made', async () => {
  await (await startPlatform(place)).stop();
  rmSync(join(place.dataDirectory, 'secrets.json'));
  expectOneSentence(await failToStart(place), /secrets are missing/);
});

test('a missing sealing key beside sealed data is one clear sentence, and no new one is made', async () => {
  await (await startPlatform(place)).stop();
  expect(statSync(join(place.dataDirectory, 'seal-key')).mode & 0o777).toBe(0o600);
  rmSync(join(place.dataDirectory, 'seal-key'));
  expectOneSentence(await failToStart(place), /^The sealing key is missing: .+seal-key is gone/);
  expectOneSentence(await failToStart(place, { SEAL_KEY: 'x'.repeat(32) }), /^The sealing key is another/);
});

test('production without a platform secret is refused', async () => {
  expectOneSentence(await failToStart(place, { NODE_ENV: 'production' }), /^PLATFORM_SECRET is missing/);
});

// design: control-plane, "Audit": the head outside makes a cut-off tail visible.
test('a tail that was cut off the admin log while the platform was down is noticed', async () => {
  using caller = new Caller();
  await (await startPlatform(place)).stop();
  const db = new DatabaseSync(join(place.dataDirectory, 'directory', 'main.sqlite'));
  const triggers = db
    .prepare(`SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'admin_log'`)
    .all();
  for (const { name } of triggers) db.exec(`DROP TRIGGER ${name}`);
  const { n } = db.prepare('SELECT max(sequence) AS n FROM admin_log').get() as { n: number };
  db.prepare('DELETE FROM admin_log WHERE sequence = ?').run(n);
  db.close();

  const platform = await startPlatform(place);
  const verdict = await caller.ask(`${place.url('api.localhost')}/admin-log/verify`, {
    headers: { authorization: `Bearer ${platform.serviceToken()}` },
  });
  expect(verdict.json()).toMatchObject({
    status: 'broken',
    firstBad: { sequence: n, reason: 'tail_missing' },
  });
  await platform.stop();
});

test("an operator's own issuer is used, and a secret rotated there reaches the application on the next start", async () => {
  const client = (clientSecret: string) => ({
    clientId: 'platform',
    clientSecret,
    redirectUris: [`${place.url('acme.localhost')}/api/auth/callback`],
    postLogoutRedirectUris: [`${place.url('acme.localhost')}/`],
  });
  const [first, second] = ['a'.repeat(40), 'b'.repeat(40)];
  await using issuer = await startIssuer({ port: 0, clients: [client(first)] });
  const env = (secret: string) => ({
    OIDC_ISSUER: issuer.url,
    OIDC_CLIENT_ID: 'platform',
    OIDC_CLIENT_SECRET: secret,
  });
  const enter = async (): Promise<unknown> => {
    using caller = new Caller();
    await signIn(caller, place.url('acme.localhost'), 'ada');
    return (await caller.ask(`${place.url('acme.localhost')}/api/me`)).json();
  };

  let platform = await startPlatform(place, env(first));
  expect(await enter()).toMatchObject({ status: 'member' });
  await platform.stop();
  await issuer.putClient(client(second));
  platform = await startPlatform(place, env(second));
  expect(await enter()).toMatchObject({ status: 'member' });
  await platform.stop();
});
