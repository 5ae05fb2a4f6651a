/** The disk is gone: one command restores everything from the archive, with the key that is in no archive. */
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Caller } from '../support/http.ts';
import {
  failToStart,
  newPlace,
  type PlatformPlace,
  type RunningPlatform,
  startPlatform,
} from '../support/platform.ts';
import { signIn } from '../support/sign-in.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');

let place: PlatformPlace;
let home: string;
let platform: RunningPlatform;
let archived: Record<string, string>;
const ada = new Caller();

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'freehold-archived-'));
  archived = { FREEHOLD_ARCHIVE_DIRECTORY: join(home, 'archive') };
  place = await newPlace();
  platform = await startPlatform(place, archived);
  await signIn(ada, app(), 'ada');
});
afterAll(async () => {
  ada[Symbol.dispose]();
  await platform?.stop();
  place?.remove();
  rmSync(home, { recursive: true, force: true });
});

const app = () => place.url('acme.localhost');

async function post(path: string, json: unknown): Promise<{ id: string }> {
  const answer = await ada.ask(`${app()}${path}`, { json });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.json();
}

/** Sends a file as the page does. */
function attach(order: string, body: string): Promise<number | undefined> {
  const url = new URL(`${app()}/api/orders/${order}/attachments?filename=tap.jpg`);
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host: '127.0.0.1',
        port: url.port,
        method: 'POST',
        path: url.pathname + url.search,
        headers: { host: url.host, cookie: ada.cookieHeader(app()), 'content-type': 'image/jpeg' },
      },
      (response) => {
        response.resume();
        response.on('end', () => resolve(response.statusCode));
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

function restore(...args: string[]): { status: number | null; said: string } {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(root, 'apps/platform/src/main.ts'), 'restore', ...args],
    {
      cwd: root,
      encoding: 'utf8',
      env: { PATH: process.env.PATH ?? '', FREEHOLD_DATA: place.dataDirectory, ...archived },
    },
  );
  return { status, said: stdout + stderr };
}

test('customers, their histories and their photos come back', async () => {
  const customer = await post('/api/customers', { name: 'Mrs Harper', phone: '+44 20 7946 0000' });
  const order = await post('/api/orders', { customer: customer.id, title: 'Leaking tap' });
  expect(await attach(order.id, 'the very bytes')).toBe(201);
  const read = async () => ({
    customers: (await ada.ask(`${app()}/api/customers`)).json(),
    story: (await ada.ask(`${app()}/api/customers/${customer.id}/history`)).json(),
    files: (await ada.ask(`${app()}/api/orders/${order.id}/attachments`)).json<{ items: { id: string }[] }>(),
  });
  const before = await read();
  expect(JSON.stringify(before.story)).toContain('7946');
  copyFileSync(join(place.dataDirectory, 'seal-key'), join(home, 'seal-key'));
  expect(await platform.stop()).toBe(0);
  rmSync(place.dataDirectory, { recursive: true });

  const { status, said } = restore('--seal-key', join(home, 'seal-key'));
  expect([status, said]).toEqual([
    0,
    expect.stringMatching(/^Restored \d+ databases and 1 attachments from .+archive into .+\n$/),
  ]);
  platform = await startPlatform(place, archived);
  await signIn(ada, app(), 'ada');
  expect(await read()).toEqual(before);
  const file = await ada.ask(`${app()}/api/orders/${order.id}/attachments/${before.files.items[0]?.id}`);
  expect([file.status, file.text]).toEqual([200, 'the very bytes']);
  expect(platform.output()).not.toContain('"level":"error"');
});

test('an archive belongs to one data directory: another one that names it does not start', async () => {
  const other = await newPlace();
  const { code, output } = await failToStart(other, archived);
  expect([code, output.trim()]).toEqual([
    1,
    'The archive belongs to another data directory. Restore from it into an empty directory (npm start -- restore), or name an empty place for the archive.',
  ]);
  // The refused start wrote neither a row nor its anchor.
  expect(existsSync(other.anchorFile)).toBe(false);
  expect(existsSync(join(other.dataDirectory, 'directory', 'main.sqlite'))).toBe(false);
  other.remove();
});

test('an unreachable archive is reported at the start, and work goes on', async () => {
  const other = await newPlace();
  // No process listens there.
  const bucket = await startPlatform(other, {
    FREEHOLD_ARCHIVE_S3_ENDPOINT: 'http://127.0.0.1:9',
    FREEHOLD_ARCHIVE_S3_BUCKET: 'freehold',
    FREEHOLD_ARCHIVE_S3_ACCESS_KEY_ID: 'key',
    FREEHOLD_ARCHIVE_S3_SECRET_ACCESS_KEY: 'hush-hush',
  });
  expect(bucket.output()).toMatch(/Archive +127\.0\.0\.1:9\/freehold\//);
  expect(bucket.output()).toMatch(/Warning +Archive: nothing is archived at the moment: .*cannot be reached/);
  expect(bucket.output()).not.toContain('hush-hush');
  await bucket.stop();
  other.remove();
});

test('a restore into an existing directory is refused in one sentence', () => {
  const { status, said } = restore();
  expect([status, said]).toEqual([1, expect.stringMatching(/^The directory .+ is not empty\. .+\.\n$/)]);
});
