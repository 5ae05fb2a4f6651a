/**
 * A vertical that the platform does not contain, from its builder's folder: deployed with a push token, served, moved to a
 * version with a migration, killed with everything, measured, kept where a step back is not possible, and used in a browser.
 */
import { execFile, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { zstdDecompressSync } from 'node:zlib';
import { makeControlPlaneClient } from '@freehold/control-plane/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildRecordPages } from '../../packages/app/web/build.ts';
import { objectIdOf } from '../../packages/runtime-workerd/src/index.ts';
import { barriers, continueAs, DESKTOP, launchBrowser, see, violations, visit } from '../support/browser.ts';
import { Caller, throughCaller } from '../support/http.ts';
import { connectMcp } from '../support/mcp.ts';
import { newPlace, type PlatformPlace, type RunningPlatform, startPlatform } from '../support/platform.ts';
import { signIn } from '../support/sign-in.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const ada = new Caller();
let folder: string;
let place: PlatformPlace;
let platform: RunningPlatform;
let client: ReturnType<typeof makeControlPlaneClient>;
let token: string;
let tenant: string;
let scope: string;
let archived: Record<string, string>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'freehold-rental-'));
  cpSync(join(root, 'examples/rental'), folder, {
    recursive: true,
    filter: (path) => !/(?:node_modules|\.freehold|dist)$/.test(path),
  });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  await buildRecordPages();
  place = await newPlace();
  archived = { FREEHOLD_ARCHIVE_DIRECTORY: join(folder, 'archive') };
  platform = await startPlatform(place, archived);
  client = makeControlPlaneClient({
    baseUrl: place.url('api.localhost'),
    token: platform.serviceToken(),
    fetch: throughCaller,
  });
  ({ id: tenant } = await client.tenants.create({ body: { slug: 'shop', name: 'Shop' } }));
  const made = await client.pushTokens.create({
    body: { name: 'ci', tenant: tenant as never, kind: 'deploy' },
  });
  token = made.secret;
}, 120_000);

afterAll(async () => {
  ada[Symbol.dispose]();
  await platform?.stop();
  place?.remove();
  rmSync(folder, { recursive: true, force: true });
});

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs `freehold` in the builder's folder, as CI does. */
function freehold(...args: readonly string[]): Promise<Ran> {
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: folder,
    FREEHOLD_URL: place.url('api.localhost'),
    FREEHOLD_TOKEN: token,
  };
  return new Promise((resolve) => {
    const program = [join(root, 'packages/cli/src/main.ts'), ...args];
    execFile(process.execPath, program, { cwd: folder, env }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), out, err }),
    );
  });
}

function edit(file: string, change: (text: string) => string): void {
  const path = join(folder, file);
  const before = readFileSync(path, 'utf8');
  const after = change(before);
  expect(after).not.toBe(before);
  writeFileSync(path, after);
}

const at = (path: string): string => `${place.url('shop.localhost')}${path}`;
const items = async () =>
  (await ada.ask(at('/api/items'))).json<{ items: { name: string }[] }>().items.map(({ name }) => name);

// spec C-13
test('a builder deploys it with a push token, and the platform serves it', async () => {
  const { code, out, err } = await freehold('deploy', '--json');
  expect([code, err]).toEqual([0, '']);
  expect(JSON.parse(out)).toMatchObject({
    promoted: true,
    version: { vertical: 'rental', version: '0.1.0', status: 'admitted', serving: true },
    wave: { moved: 0 },
  });
  ({ id: scope } = await client.scopes.provision({
    params: { tenant: tenant as never },
    body: { slug: 'main', name: 'Shop', vertical: 'rental' },
  }));
  await client.hostnames.bind({
    body: { hostname: 'shop.localhost', tenant: tenant as never, scope: scope as never },
  });
  await signIn(ada, place.url('shop.localhost'), 'ada');
  expect((await ada.ask(at('/api/me'))).json()).toMatchObject({
    status: 'member',
    roles: [{ key: 'owner' }],
  });
  const made = await ada.ask(at('/api/items'), {
    headers: { origin: place.url('shop.localhost') },
    json: { name: 'Drill', dailyCents: 1_200, depositCents: 5_000 },
  });
  expect(made.status, made.text).toBe(201);
  expect((await ada.ask(at('/'))).text).toContain('<title>Shop</title>');
}, 60_000);

test('the same again sends nothing, and does nothing', async () => {
  const { code, out } = await freehold('deploy');
  expect([code, out]).toEqual([0, expect.stringMatching(/0 of \d+ files were sent/)]);
}, 30_000);

// spec C-04
test('a version with a migration moves the instance, with a snapshot from before', async () => {
  edit('src/manifest.ts', (text) => text.replace("version: '0.1.0'", "version: '0.2.0'"));
  edit('src/migrations.ts', (text) =>
    text.replace(
      /\n\];\s*$/,
      "\n  { version: 9, name: 'shelves', sql: 'CREATE TABLE shelves (id TEXT PRIMARY KEY) STRICT' },\n];\n",
    ),
  );
  const refused = await freehold('deploy');
  expect([refused.code === 0, refused.err]).toEqual([
    false,
    expect.stringContaining('--acknowledge-migrations'),
  ]);
  const { code, out, err } = await freehold('deploy', '--acknowledge-migrations');
  expect([code, err]).toEqual([0, '']);
  expect(out).toContain('1 scope was moved to it.');
  const params = { tenant: tenant as never, scope: scope as never };
  expect((await client.snapshots.list({ params })).items).toMatchObject([{ name: 'before 0.2.0' }]);
  expect(await items()).toEqual(['Drill']);
}, 60_000);

// spec D-01
test('a kill of the platform loses nothing of it, and of one whose database is gone it is said', async () => {
  const { id: spare } = await client.scopes.provision({
    params: { tenant: tenant as never },
    body: { slug: 'spare', name: 'Spare', vertical: 'rental' },
  });
  await client.hostnames.bind({
    body: { hostname: 'spare.localhost', tenant: tenant as never, scope: spare },
  });
  await platform.kill();
  for (const directory of ['runtime/rental/objects/scopes', 'deployed-copies'].map((each) =>
    join(place.dataDirectory, each),
  ))
    for (const name of existsSync(directory) ? readdirSync(directory) : [])
      if (name.startsWith(objectIdOf(spare))) rmSync(join(directory, name), { recursive: true });
  platform = await startPlatform(place, archived);
  expect(await items()).toEqual(['Drill']);
  const lost = await ada.ask(`${place.url('spare.localhost')}/api/items`);
  expect([lost.status, lost.json()]).toEqual([503, expect.objectContaining({ reason: 'unit_unreadable' })]);
  expect((await ada.ask(`${place.url('api.localhost')}/readyz`)).json()).toMatchObject({
    status: 'degraded',
  });
  const params = { tenant: tenant as never, scope: spare };
  await client.scopes.setStatus({ params, body: { status: 'archived' } });
  const { id: operation } = await client.scopes.reap({ params, body: { backup: false } });
  const reaped = await client.operations.get({ params: { operation }, query: { wait: '30s' } });
  expect(reaped.state, JSON.stringify(reaped)).toBe('done');
  expect((await ada.ask(`${place.url('api.localhost')}/readyz`)).json()).toMatchObject({ status: 'ready' });
}, 60_000);

test.each(['auto', 'legacy'] as const)(
  'its records, their histories and its prompts are those of MCP, by %s',
  async (mode) => {
    const program = await connectMcp(ada, place.url('shop.localhost'), mode);
    const { resources } = await program.listResources();
    expect(resources).toMatchObject([{ title: 'Drill', uri: expect.stringMatching(/^freehold:\/\/item\//) }]);
    const uri = resources[0]?.uri ?? '';
    const read = async (address: string) => {
      const { contents } = await program.readResource({ uri: address });
      return JSON.parse((contents[0] as { text: string }).text);
    };
    expect(await read(uri)).toMatchObject({ name: 'Drill', dailyCents: 1_200 });
    expect(await read(`${uri}/history`)).toMatchObject({ items: [{ type: 'item.created' }] });
    await expect(read(`${uri}x`)).rejects.toMatchObject({ code: -32602 });
    const { prompts } = await program.listPrompts();
    expect(prompts).toMatchObject([{ name: 'booking_hand-out', arguments: [{ name: 'booking' }] }]);
    const picked = { name: 'booking_hand-out', arguments: { booking: 'bkg_01jd0000000000000000000009' } };
    const { messages } = await program.getPrompt(picked);
    expect(messages).toMatchObject([{ content: { text: expect.stringContaining('The tool for this is') } }]);
    await program.close();
  },
);

test('a version that cannot open the instance leaves it where it is, and says so', async () => {
  const { code, err } = await freehold('rollback', 'rental', '--acknowledge-migrations');
  expect([code === 0, err]).toEqual([false, expect.stringContaining(scope)]);
  expect(await items()).toEqual(['Drill']);
  const { items: counted } = await client.fleetMigrations.get({ query: { vertical: 'rental' } });
  expect(counted).toMatchObject([{ failed: 1, failures: [{ scope }] }]);
  const back = await freehold('rollback', 'rental', '0.2.0', '--acknowledge-migrations');
  expect([back.code, back.err]).toEqual([0, '']);
}, 60_000);

// spec C-16, C-24
test('its requests are measured, and its outgoing calls are watched', async () => {
  const { items: lines } = await client.observability.tenantLogs({ query: { tenant: tenant as never } });
  expect(lines).toContainEqual(
    expect.objectContaining({ vertical: 'rental', status: 200, operation: 'GET/api/items' }),
  );
  const report = await client.verticals.egress({ params: { slug: 'rental' } });
  expect(report).toMatchObject({ sampled: false, truncated: false, hours: 24, limit: 500 });
  const { items: refs } = await client.serviceRefs.list({ query: {} });
  expect(refs.filter(({ vertical }) => vertical === 'rental').map(({ script }) => script)).toEqual([
    'rental',
    'rental--0.1.0',
    'rental--0.2.0',
  ]);
});

test('its pages are used in a browser: a booking, a refusal, a return with damage, a repair', async () => {
  const browser = await launchBrowser();
  try {
    const { page, faults } = await visit(browser, DESKTOP);
    const shown = async () => [...(await barriers(page)), ...(await violations(page))];
    const book = async (firstDay: string, lastDay: string) => {
      await page.getByLabel('Name', { exact: true }).fill('Grace');
      await page.getByLabel('First day').fill(firstDay);
      await page.getByLabel('Last day').fill(lastDay);
      await page.getByRole('button', { name: 'Book' }).click();
    };
    // Without a session the page leads to the sign-in, and back.
    await page.goto(at('/'));
    await page.getByRole('link', { name: 'Sign in' }).click();
    await continueAs(page, 'Ada Lovelace');
    await see(page, 'No bookings yet.');
    expect(await shown()).toEqual([]);

    await book('2030-03-10', '2030-03-12');
    await see(page, /Drill for Grace, 2030-03-10 to 2030-03-12: booked/);
    await book('2030-03-12', '2030-03-14');
    await page.getByRole('alert').filter({ hasText: /./ }).waitFor();
    await page.getByRole('button', { name: 'Hand out Drill' }).click();
    await page.getByLabel('Damage, if any').fill('The chuck is bent');
    await page.getByLabel(/^Kept of/).fill('12.50');
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.setViewportSize({ width: 320, height: 800 });
    expect(await shown()).toEqual([]);
    await page.getByRole('button', { name: 'Take back' }).click();
    await see(page, /: returned/);
    // The damaged thing goes to repair by a subscription, after the answer.
    await expect
      .poll(async () => (await ada.ask(at('/api/items'))).json())
      .toMatchObject({ items: [{ state: 'in_repair' }] });
    await page.goto(at('/items'));
    await page.getByRole('link', { name: 'Drill' }).click();
    await page.getByRole('button', { name: 'Take back from repair' }).click();
    await see(page, 'For rent');
    await page.getByRole('button', { name: 'Send to repair' }).waitFor();
    expect(await shown()).toEqual([]);
    expect(faults).toEqual([]);
  } finally {
    await browser.close();
  }
}, 60_000);

/** A command of the platform's program, on a data directory. */
function operator(dataDirectory: string, ...args: string[]): Ran {
  const env = { PATH: process.env.PATH ?? '', FREEHOLD_DATA: dataDirectory, ...archived };
  const program = [join(root, 'apps/platform/src/main.ts'), ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, program, {
    cwd: root,
    encoding: 'utf8',
    env,
  });
  return { code: status ?? 1, out: stdout, err: stderr };
}

// spec D-01
test('when the disk is gone, the archive has its databases', async () => {
  const copies = join(place.dataDirectory, 'deployed-copies');
  const ready = async () =>
    (await ada.ask(`${place.url('api.localhost')}/readyz`)).json<{ archive: object }>();
  const isCurrent = () =>
    expect.poll(async () => (await ready()).archive, { timeout: 10_000 }).toMatchObject({ state: 'current' });
  const made = await ada.ask(at('/api/items'), {
    headers: { origin: place.url('shop.localhost') },
    json: { name: 'Saw', dailyCents: 900, depositCents: 2_000 },
  });
  expect(made.status, made.text).toBe(201);
  // A second until its copy is made, and another until that is sent.
  await expect
    .poll(() => pagesOfCopies(copies).some((page) => page.includes('Saw')), { timeout: 20_000 })
    .toBe(true);
  await isCurrent();
  await platform.kill();
  const key = join(folder, 'seal-key');
  copyFileSync(join(place.dataDirectory, 'seal-key'), key);
  rmSync(place.dataDirectory, { recursive: true });

  const { code, out } = operator(place.dataDirectory, 'restore', '--seal-key', key);
  expect([code, out]).toEqual([
    0,
    expect.stringContaining('Laid out the databases of 1 deployed instances.'),
  ]);
  platform = await startPlatform(place, archived);
  client = makeControlPlaneClient({
    baseUrl: place.url('api.localhost'),
    token: platform.serviceToken(),
    fetch: throughCaller,
  });
  expect(await items()).toEqual(['Drill', 'Saw']);
  // The issuer has another secret for the platform now, and the instance none of its own.
  using again = new Caller();
  await signIn(again, place.url('shop.localhost'), 'ada');
  expect((await again.ask(at('/api/me'))).json()).toMatchObject({ status: 'member' });
}, 60_000);

/** The pages in the copies of deployed instances. */
function pagesOfCopies(directory: string): readonly Buffer[] {
  return readdirSync(directory)
    .filter((name) => name.endsWith('.sqlite'))
    .flatMap((name) => {
      const database = new DatabaseSync(join(directory, name), { readOnly: true });
      try {
        return database
          .prepare('SELECT bytes FROM pages WHERE reading <= (SELECT reading FROM copy)')
          .all() as { bytes: Uint8Array }[];
      } finally {
        database.close();
      }
    })
    .map(({ bytes }) => zstdDecompressSync(bytes));
}
