/**
 * Data of an earlier version stays readable: a data directory, an archive and a scope backup of the tree of 2026-11-24
 * open in this one. `fixtures/2026-11-24.json` names their records.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Caller } from '../support/http.ts';
import { newPlace, startPlatform } from '../support/platform.ts';
import { signIn } from '../support/sign-in.ts';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '../..');

interface Records {
  readonly tenant: string;
  readonly scope: string;
  readonly customer: string;
  readonly erased: string;
  readonly order: string;
  readonly snapshot: { readonly id: string };
}

const records: Records = JSON.parse(readFileSync(join(here, 'fixtures/2026-11-24.json'), 'utf8'));
let old: string;

beforeAll(() => {
  old = mkdtempSync(join(tmpdir(), 'freehold-upgrade-'));
  execFileSync('tar', ['xzf', join(here, 'fixtures/2026-11-24.tar.gz'), '-C', old]);
});
afterAll(() => rmSync(old, { recursive: true, force: true }));

/** The members of the fixture are known by their issuer, whose address has a port. */
const ISSUER_PORT = '26501';

/** Starts the platform over a data directory and reads everything that the fixture wrote. */
async function readBack(fill: (dataDirectory: string) => void): Promise<void> {
  const place = await newPlace();
  fill(place.dataDirectory);
  const platform = await startPlatform(place, { ISSUER_PORT, FREEHOLD_BACKUPS: join(old, 'backups') });
  try {
    using ada = new Caller();
    using staff = new Caller();
    const app = place.url('acme.localhost');
    await signIn(ada, app, 'ada');
    const get = async (path: string) => {
      const answer = await ada.ask(`${app}${path}`);
      expect(answer.status, `${path}: ${answer.text}`).toBe(200);
      return answer;
    };
    const operate = async (path: string, method = 'GET', json?: unknown) => {
      const answer = await staff.ask(`${place.url('api.localhost')}${path}`, {
        method,
        headers: { authorization: `Bearer ${platform.serviceToken()}` },
        ...(json === undefined ? {} : { json }),
      });
      expect(answer.status, `${path}: ${answer.text}`).toBeLessThan(300);
      return answer;
    };

    // Values that were sealed under the old vault open; those of the erased customer do not.
    expect((await get(`/api/customers/${records.customer}`)).json()).toMatchObject({
      name: 'Mrs Harper',
      phone: '+44 20 7946 0000',
    });
    expect((await get(`/api/customers/${records.erased}`)).json()).toMatchObject({
      name: 'Erased customer',
      phone: null,
    });
    expect((await get(`/api/customers/${records.customer}/history`)).text).toContain('7946');
    expect((await get(`/api/orders/${records.order}/notes`)).text).toContain('stopcock');
    const files = (await get(`/api/orders/${records.order}/attachments`)).json<{ items: { id: string }[] }>();
    expect(files.items).toHaveLength(1);
    expect((await get(`/api/orders/${records.order}/attachments/${files.items[0]?.id}`)).text).toContain(
      'PNG',
    );
    expect((await get('/api/invites')).text).toContain('grace@example.com');
    // A person of the old data is still erasable, and a new one can be added.
    const added = await ada.ask(`${app}/api/customers`, {
      json: { name: 'Ms New', phone: '+44 20 7946 0001' },
    });
    expect(added.status, added.text).toBe(201);

    expect((await operate('/tenants')).text).toContain('"slug":"beta"');
    expect((await operate('/tenants')).text).toContain('"status":"suspended"');
    expect((await operate('/roles')).text).toContain('"key":"auditor"');
    expect((await operate('/push-tokens')).text).toContain('"name":"ci"');
    expect((await operate('/admin-log/verify')).json()).not.toMatchObject({ verdict: 'broken' });
    const scope = `/tenants/${records.tenant}/scopes/${records.scope}`;
    expect((await operate(`/scopes/${records.scope}/backups`)).text).toContain('"bkp_');
    // The old snapshot still has the customer who was erased later, and must not bring the customer back.
    const work = await operate(`${scope}/restore`, 'POST', {
      from: { snapshot: records.snapshot.id },
    });
    const { id } = work.json<{ id: string }>();
    expect((await operate(`/operations/${id}?wait=30s`)).json()).toMatchObject({ state: 'done' });
    expect((await get('/api/customers')).text).not.toContain('Ms New');
    expect((await ada.ask(`${app}/api/customers/${records.erased}`)).text).not.toMatch(/Quill|0999/);
    expect((await get(`/api/customers/${records.customer}`)).json()).toMatchObject({ name: 'Mrs Harper' });
    expect(platform.output()).not.toContain('Forgotten Quill');
  } finally {
    await platform.stop();
    place.remove();
  }
}

test('a data directory of 2026-11-24 starts, and everything in it reads as before', async () => {
  await readBack((dataDirectory) => cpSync(join(old, 'data'), dataDirectory, { recursive: true }));
}, 60_000);

test('an archive of 2026-11-24 restores, and everything in it reads as before', async () => {
  await readBack((dataDirectory) => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [join(root, 'apps/platform/src/main.ts'), 'restore', '--seal-key', join(old, 'data/seal-key')],
      {
        cwd: root,
        encoding: 'utf8',
        env: {
          PATH: process.env.PATH ?? '',
          FREEHOLD_DATA: dataDirectory,
          FREEHOLD_ARCHIVE_DIRECTORY: join(old, 'archive'),
        },
      },
    );
    expect([status, stdout + stderr]).toEqual([
      0,
      expect.stringMatching(/^Restored \d+ databases and 1 attachments/),
    ]);
  });
}, 60_000);
