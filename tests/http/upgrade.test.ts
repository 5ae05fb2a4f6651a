/** An upgrade copies the platform's own databases; an older program refuses what a newer one wrote, and goes back. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { parseSettings } from '../../apps/platform/src/settings/settings.ts';
import { forgetInCopies, goBack, PROGRAM_VERSION } from '../../apps/platform/src/storage/upgrades.ts';
import { Caller } from '../support/http.ts';
import { newPlace } from '../support/platform.ts';
import { type EmbeddedPlatform, openEmbeddedPlatform } from './embedded-platform.ts';

interface Program {
  readonly version: string;
  readonly migrations: readonly string[];
}

async function slugsOf({ platform, token }: EmbeddedPlatform, make = 'none'): Promise<string[]> {
  using caller = new Caller();
  const headers = {
    authorization: `Bearer ${token}`,
    'idempotency-key': `upgrade-${make}`,
  };
  const tenants = `${platform.apiOrigin}/tenants`;
  if (make !== 'none') {
    const made = await caller.ask(tenants, { method: 'POST', headers, json: { slug: make, name: make } });
    expect(made.status).toBe(201);
  }
  const { items } = (await caller.ask(tenants, { headers })).json() as { items: { slug: string }[] };
  return items.map(({ slug }) => slug).toSorted();
}

test('a newer data directory is refused in one sentence, and the copy of before its upgrade leads back', async () => {
  const place = await newPlace();
  const home = mkdtempSync(join(tmpdir(), 'freehold-upgrade-'));
  onTestFinished(() => {
    place.remove();
    rmSync(home, { recursive: true });
  });
  const env = { FREEHOLD_ARCHIVE_DIRECTORY: join(home, 'archive') };
  const open = () => openEmbeddedPlatform(env, place);
  const data = place.dataDirectory;
  const record = join(data, 'written-by');
  const copies = join(data, 'before-upgrades');
  const change = (to: (program: Program) => Program) =>
    writeFileSync(record, JSON.stringify(to(JSON.parse(readFileSync(record, 'utf8')) as Program)));
  const journal = (sql: string) => {
    const database = new DatabaseSync(join(data, 'directory', 'main.sqlite'));
    database.exec(sql);
    database.close();
  };

  const first = await open();
  expect(first.platform.upgradeCopy).toBeNull();
  expect(await slugsOf(first, 'before')).toEqual(['acme', 'before']);
  await first.platform.close();

  // The last program was an older one, which did not know the last migration of the directory.
  change(({ migrations }) => ({
    version: '0.0.9',
    migrations: migrations.filter((label) => label !== 'directory: directory 9'),
  }));
  const upgraded = await open();
  const copy = upgraded.platform.upgradeCopy;
  expect(copy).toMatch(/before-upgrades.\d{8}T\d{6}Z-of-0\.0\.9$/);
  expect(readdirSync(String(copy)).toSorted()).toEqual(['directory', 'identity', 'platform', 'written-by']);
  expect(await slugsOf(upgraded, 'after')).toEqual(['acme', 'after', 'before']);
  await upgraded.platform.close();
  expect(JSON.parse(readFileSync(record, 'utf8'))).toMatchObject({ version: PROGRAM_VERSION });

  // A newer program leaves a row in the journal.
  const row = `"set" = 'directory' AND version = 99`;
  journal(`INSERT INTO _spine_migrations VALUES ('directory', 99, 'later', '', 0)`);
  const refused =
    /^The data directory \S+ was written by a newer version of Freehold \(\S+\) than this one \(\S+\), which does not know the migration "\w+: \w+ 99"; nothing was changed: start the newer version, or lay down .+npm start -- go-back \d{8}T\d{6}Z-of-0\.0\.9/;
  const before = readdirSync(data, { recursive: true }).toSorted();
  await expect(open()).rejects.toThrow(refused);
  expect(readdirSync(data, { recursive: true }).toSorted()).toEqual(before);

  const name = String(readdirSync(copies)[0]);
  const settings = parseSettings({ FREEHOLD_DATA: data, ...env });
  await expect(goBack(['none'], settings)).rejects.toThrow(`has ${name}.`);
  // A kind of which there are no copies.
  change(({ migrations }) => ({ version: '9.0.0', migrations: [...migrations, 'vault: vault 99'] }));
  await expect(goBack([name], settings)).rejects.toThrow('There is no way back');
  change(({ version, migrations }) => ({ version, migrations: migrations.slice(0, -1) }));
  const [line] = await goBack([name], settings);
  expect(line).toContain('put-aside-');

  const again = await open();
  expect(await slugsOf(again, 'anew')).toEqual(['acme', 'anew', 'before']);
  expect(again.incidents).toEqual([]);
  await again.platform.close();
  journal(`DELETE FROM _spine_migrations WHERE ${row}`);
  change(({ migrations }) => ({ version: '9.0.0', migrations: [...migrations, 'identity: identity 99'] }));
  await expect(open()).rejects.toThrow(refused);
});

test('three copies are kept, and a reaped tenant is in none', async () => {
  const place = await newPlace();
  onTestFinished(() => place.remove());
  const copies = join(place.dataDirectory, 'before-upgrades');
  await (await openEmbeddedPlatform({}, place)).platform.close();
  for (const year of [2022, 2023, 2024, 2025])
    mkdirSync(join(copies, `${year}0101T000000Z-of-0.0.1`), { recursive: true });
  rmSync(join(place.dataDirectory, 'written-by'));
  const database = new DatabaseSync(join(place.dataDirectory, 'platform', 'main.sqlite'));
  database.exec(`DELETE FROM _spine_migrations WHERE version = 2; DROP TABLE vaults`);
  database.close();
  const { platform, scope } = await openEmbeddedPlatform({}, place);
  await platform.close();
  const names = readdirSync(copies).toSorted();
  expect(names.map((name) => name.slice(0, 4))).toEqual([
    '2024',
    '2025',
    platform.upgradeCopy?.split('before-upgrades')[1]?.slice(1, 5),
  ]);
  const identity = join(String(platform.upgradeCopy), 'identity', `${scope.tenantId}.sqlite`);
  expect(existsSync(identity)).toBe(true);
  forgetInCopies(place.dataDirectory, scope.tenantId);
  expect(existsSync(identity)).toBe(false);
});
