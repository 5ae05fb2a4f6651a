/** An import in a deployed instance: a platform that is killed while it is taken over goes on with it, and loses nothing. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeControlPlaneClient } from '@freehold/control-plane/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildRecordPages } from '../../packages/app/web/build.ts';
import { Caller, throughCaller } from '../support/http.ts';
import { newPlace, type PlatformPlace, type RunningPlatform, startPlatform } from '../support/platform.ts';
import { signIn } from '../support/sign-in.ts';

const LINES = 4_000;
const root = fileURLToPath(new URL('../..', import.meta.url));
const ada = new Caller();
let home: string;
let place: PlatformPlace;
let platform: RunningPlatform;

const freehold = (cwd: string, args: readonly string[], env: Record<string, string> = {}): string =>
  execFileSync(process.execPath, [join(root, 'packages/cli/src/main.ts'), ...args], {
    cwd,
    env: { PATH: process.env.PATH ?? '', HOME: home, ...env },
    encoding: 'utf8',
  });

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'freehold-import-'));
  await buildRecordPages();
  place = await newPlace();
  platform = await startPlatform(place);
}, 120_000);

afterAll(async () => {
  ada[Symbol.dispose]();
  await platform?.stop();
  place?.remove();
  rmSync(home, { recursive: true, force: true });
});

const at = (path: string): string => `${place.url('shop.localhost')}${path}`;
const post = (path: string, json: object) =>
  ada.ask(at(path), { headers: { origin: place.url('shop.localhost') }, json });

interface Shown {
  readonly id: string;
  readonly state: string;
  readonly made: number;
  readonly ready: number;
}

/** Looks until an import is in one of these states; answers in which. */
async function until(id: string, ...states: string[]): Promise<Shown> {
  let shown: Shown | null = null;
  await expect
    .poll(
      async () => {
        const answer = await ada.ask(at(`/api/customer-imports/${id}`));
        shown = answer.status === 200 ? answer.json<Shown>() : null;
        return shown !== null && states.includes(shown.state);
      },
      { timeout: 120_000, interval: 20 },
    )
    .toBe(true);
  return shown as unknown as Shown;
}

test('it is judged, killed while it is taken over, finished by the next process, and undone', async () => {
  freehold(home, ['new', 'shop', '--template', 'records']);
  const folder = join(home, 'shop');
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const app = join(folder, 'src/app.ts');
  writeFileSync(
    app,
    readFileSync(app, 'utf8')
      .replaceAll('unauthenticated', 'signedIn')
      .replace("write: 'customer.write' }", "write: 'customer.write', import: 'customer.write' }"),
  );
  freehold(folder, ['migrate', 'make', 'imports', '--write']);
  const client = makeControlPlaneClient({
    baseUrl: place.url('api.localhost'),
    token: platform.serviceToken(),
    fetch: throughCaller,
  });
  const { id: tenant } = await client.tenants.create({ body: { slug: 'shop', name: 'Shop' } });
  const { secret } = await client.pushTokens.create({
    body: { name: 'ci', tenant: tenant as never, kind: 'deploy' },
  });
  freehold(folder, ['deploy'], { FREEHOLD_URL: place.url('api.localhost'), FREEHOLD_TOKEN: secret });
  const { id: scope } = await client.scopes.provision({
    params: { tenant: tenant as never },
    body: { slug: 'main', name: 'Shop', vertical: 'shop' },
  });
  await client.hostnames.bind({
    body: { hostname: 'shop.localhost', tenant: tenant as never, scope: scope as never },
  });
  await signIn(ada, place.url('shop.localhost'), 'ada');

  const lines = Array.from({ length: LINES }, (_, n) => `Customer ${n},c${n}@example.org`);
  const sent = await post('/api/customer-imports', { csv: ['name,email', ...lines].join('\n') });
  expect(sent.status, sent.text).toBe(200);
  const { id } = sent.json<Shown>();
  expect(await until(id, 'checked')).toMatchObject({ ready: LINES });
  await post(`/api/customer-imports/${id}/apply`, {});
  await expect
    .poll(async () => (await ada.ask(at(`/api/customer-imports/${id}`))).json<Shown>().made, { interval: 5 })
    .toBeGreaterThan(0);
  await platform.kill();
  platform = await startPlatform(place);
  const list = async () =>
    (await ada.ask(at('/api/customers?limit=1'))).json<{ items: object[] }>().items.length;
  const { state } = (await ada.ask(at(`/api/customer-imports/${id}`))).json<Shown>();
  if (state === 'applying') expect(await list()).toBe(0);
  expect(await until(id, 'done')).toMatchObject({ made: LINES });
  expect(await list()).toBe(1);
  await post(`/api/customer-imports/${id}/undo`, {});
  await until(id, 'undone');
  expect(await list()).toBe(0);

  // The next migration is tried on a copy of the scope, which stays as it is.
  const declared = readFileSync(app, 'utf8');
  writeFileSync(app, declared.replace('email: z.email().optional()', '$&, visits: z.int().default(0)'));
  freehold(folder, ['migrate', 'make', 'visits', '--write']);
  const tried = freehold(folder, ['migrate', 'try', 'shop', 'main', '--json'], {
    FREEHOLD_URL: place.url('api.localhost'),
    FREEHOLD_TOKEN: platform.serviceToken(),
  });
  const { from, migrations } = JSON.parse(tried);
  expect(migrations).toMatchObject([
    { version: from + 1, changes: [{ name: 'customers', change: 'changed', rowsAfter: LINES }] },
  ]);
}, 300_000);
