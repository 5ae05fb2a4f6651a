/** A vault that is gone beside sealed data is named, and never made anew unless the operator says so. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { giveUpUnit, openNodeEngine } from '@freehold/engine-node';
import { expect, onTestFinished, test } from 'vitest';
import { openArchive } from '../settings/archive-settings.ts';
import { parseSettings, type Settings, SettingsError } from '../settings/settings.ts';
import { PLATFORM_KEY, platformUnit } from './platform-unit.ts';
import { openStorage, type Storage } from './storage.ts';
import { beginNewVault } from './vaults.ts';

const TENANT = 'tnt_01arz3ndektsv4rrffq69g5fav';
const OTHER = 'tnt_01arz3ndektsv4rrffq69g5faw';
const scopeOf = (tenantId: string) => ({ tenantId, scopeId: 'scp_01arz3ndektsv4rrffq69g5fav' }) as never;

function newPlace() {
  const root = mkdtempSync(join(tmpdir(), 'freehold-vaults-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const dataDirectory = join(root, 'data');
  const settings = parseSettings({
    FREEHOLD_DATA: dataDirectory,
    FREEHOLD_ARCHIVE_DIRECTORY: join(root, 'archive'),
  });
  const incidents: string[] = [];
  const onIncident = (error: unknown) => void incidents.push((error as Error).message);
  const file = join(dataDirectory, 'vault', `${TENANT}.sqlite`);
  return {
    settings,
    incidents,
    file,
    /** Opens the storage for a task, as a start of the platform does. */
    start: async <T>(task: (storage: Storage) => Promise<T>): Promise<T> => {
      const storage = await openStorage(settings, { now: Date.now, onIncident });
      try {
        return await task(storage);
      } finally {
        await storage.close();
      }
    },
    lose: () => {
      mkdirSync(join(root, 'aside'));
      for (const name of readdirSync(join(dataDirectory, 'vault')))
        if (name.startsWith(TENANT))
          renameSync(join(dataDirectory, 'vault', name), join(root, 'aside', name));
    },
    putBack: () => {
      for (const name of readdirSync(join(root, 'aside')))
        renameSync(join(root, 'aside', name), join(dataDirectory, 'vault', name));
    },
  };
}

const keyOf = ({ vault }: Storage, tenant = TENANT) => vault.keys(scopeOf(tenant), ['cus_1']);
const LOST = { code: 'unavailable', reason: 'vault_missing' };

test('a vault that is gone is named at the start and at each use, other tenants go on, and its file brings all back', async () => {
  const { start, lose, putBack, file, incidents } = newPlace();
  const key = await start(async (storage) => {
    expect(storage.warnings).toEqual([]);
    await keyOf(storage, OTHER);
    return keyOf(storage);
  });
  lose();
  await start(async (storage) => {
    expect(storage.warnings).toEqual([
      expect.stringMatching(`^The vault of tenant ${TENANT} is gone \\(.+${TENANT}\\.sqlite\\)`),
    ]);
    for (const use of [
      () => keyOf(storage),
      () => storage.vault.allot(scopeOf(TENANT), 8),
      () => storage.vault.bind(scopeOf(TENANT), [{ subject: 'cus_1', keyId: 'key_1' }]),
      () => storage.vault.shred(scopeOf(TENANT), 'cus_1'),
      () => storage.vault.shredded(scopeOf(TENANT)),
    ])
      await expect(use()).rejects.toMatchObject(LOST);
    await keyOf(storage, OTHER);
  });
  expect(existsSync(file)).toBe(false);
  expect(incidents).toEqual(Array(5).fill(expect.stringContaining('Everything else of the tenant is there')));
  putBack();
  expect(await start(async (storage) => [await keyOf(storage), storage.warnings])).toEqual([key, []]);
});

test('a vault that goes while the platform runs is not made anew either', async () => {
  const { start, lose, file, incidents } = newPlace();
  await start(async (storage) => {
    await keyOf(storage);
    // The engine closes units that are not used.
    await storage.engine.tools(storage.vaultUnit, TENANT).remove();
    lose();
    expect(storage.vaults.missing()).toBe(0);
    await expect(keyOf(storage)).rejects.toMatchObject(LOST);
    expect(storage.vaults.missing()).toBe(1);
  });
  expect([existsSync(file), incidents.length]).toEqual([false, 1]);
});

test('vaults of an earlier version are known from the first start on', async () => {
  const { start, lose, settings } = newPlace();
  await start(keyOf);
  await withPlatform(settings, (platform) => platform.forgetVault({ tenant: TENANT }));
  await start(async () => undefined);
  lose();
  await start(async (storage) => expect(keyOf(storage)).rejects.toMatchObject(LOST));
});

test('a tenant that was reaped has no vault that could be gone', async () => {
  const { start } = newPlace();
  await start(async (storage) => {
    await keyOf(storage);
    await storage.engine.tools(storage.vaultUnit, TENANT).remove();
    await storage.vaults.forget(TENANT);
  });
  await start(async ({ warnings }) => expect(warnings).toEqual([]));
});

test('the operator begins a new vault by a command that says what is lost, and only where one is gone', async () => {
  const { start, lose, settings, file, incidents } = newPlace();
  const first = await start(keyOf);
  const command = (...args: string[]) => beginNewVault(args, settings);
  const refusals = [
    [[TENANT, '--lose-sealed-data'], 'is not gone'],
    [[TENANT], 'Usage: npm start -- new-vault TENANT --lose-sealed-data'],
    [['../data', '--lose-sealed-data'], 'Usage'],
    [[OTHER, '--lose-sealed-data'], 'never had a vault'],
  ] as const;
  for (const [args, message] of refusals) {
    const refused = command(...args);
    await expect(refused).rejects.toThrow(message);
    await expect(refused).rejects.toBeInstanceOf(SettingsError);
  }
  lose();
  expect(await command(TENANT, '--lose-sealed-data')).toEqual([
    expect.stringContaining('What was sealed under the lost keys never opens'),
  ]);
  expect(await start(keyOf)).not.toEqual(first);
  expect([existsSync(file), incidents]).toEqual([true, []]);
});

test('a new vault that was begun and killed in the middle is begun by the same command', async () => {
  const { start, lose, settings, file } = newPlace();
  await start(keyOf);
  lose();
  // An earlier version removed the row first.
  await withPlatform(settings, (platform) => platform.forgetVault({ tenant: TENANT }));
  await expect(start(keyOf)).rejects.toMatchObject({ reason: 'unit_unreadable' });
  await beginNewVault([TENANT, '--lose-sealed-data'], settings);
  await start(keyOf);
  expect(existsSync(file)).toBe(true);
});

test('a vault that is given up while the row is still there is named, and can be begun', async () => {
  const { start, lose, settings } = newPlace();
  await start(keyOf);
  lose();
  giveUpUnit(settings.dataDirectory, { kind: 'vault', key: TENANT });
  await expect(start(keyOf)).rejects.toMatchObject(LOST);
  await beginNewVault([TENANT, '--lose-sealed-data'], settings);
  await start(keyOf);
});

async function withPlatform(
  { dataDirectory, archive }: Pick<Settings, 'dataDirectory' | 'archive'>,
  task: (platform: ReturnType<typeof platformOf>) => Promise<unknown>,
): Promise<void> {
  const engine = openNodeEngine({
    dataDirectory,
    onIncident: (error) => expect.unreachable(String(error)),
    ...(archive === null ? {} : { archive: { archive: openArchive(archive) } }),
  });
  await task(platformOf(engine)).finally(() => engine.close());
}

function platformOf(engine: Pick<Storage['engine'], 'unit'>) {
  return engine.unit(platformUnit, PLATFORM_KEY);
}
