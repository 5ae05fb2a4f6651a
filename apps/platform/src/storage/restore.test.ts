import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineUnit } from '@freehold/store';
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import { parseSettings, type Settings } from '../settings/settings.ts';
import { restore } from './restore.ts';
import { sealKeyFile } from './seal-keys.ts';
import { openStorage, type Storage } from './storage.ts';

const SCOPE = { tenantId: 'tnt_01j00000000000000000000001', scopeId: 'scp_01j00000000000000000000001' };

const EMPTY = mkdtempSync(join(tmpdir(), 'freehold-empty-'));
afterAll(() => rmSync(EMPTY, { recursive: true }));

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'freehold-restore-'));
});
afterEach(() => rmSync(home, { recursive: true }));

const settingsFor = (name: string, more: Record<string, string> = {}): Settings =>
  parseSettings({
    FREEHOLD_DATA: join(home, name),
    FREEHOLD_ARCHIVE_DIRECTORY: join(home, 'archive'),
    ...more,
  });

async function withStorage<T>(settings: Settings, work: (storage: Storage) => Promise<T>): Promise<T> {
  const storage = await openStorage(settings, { now: Date.now, onIncident: () => undefined });
  try {
    const done = await work(storage);
    await storage.engine.flushArchive();
    return done;
  } finally {
    await storage.close();
  }
}

const keyOf = async ({ vault }: Storage) => (await vault.keys(SCOPE as never, ['cus_a'])).cus_a;
const sentence = (work: Promise<unknown>) =>
  work.then(
    () => 'restored',
    (error: Error) => error.message,
  );

test('a lost data directory comes back with the keys of persons, once the sealing key is brought along', async () => {
  const before = await withStorage(settingsFor('data'), keyOf);
  const archived = readFileSync(join(home, 'archive', 'owner'), 'utf8');
  expect(archived).not.toBe('');
  const { lines } = await restore([], settingsFor('new'));
  expect(lines[0]).toMatch(/^Restored \d+ databases and 0 attachments from .+archive into .+new\.$/);
  expect(lines[1]).toMatch(/^Before the start, put the sealing key into .+seal-key, or set SEAL_KEY/);

  const open = (more?: Record<string, string>) =>
    sentence(withStorage(settingsFor('new', more), async () => undefined));
  expect(await open()).toMatch(/^The sealing key is missing/);
  expect(await open({ SEAL_KEY: 'x'.repeat(32) })).toMatch(/^The sealing key is another/);
  const key = readFileSync(sealKeyFile(join(home, 'data')));
  writeFileSync(sealKeyFile(join(home, 'new')), key);
  expect(await withStorage(settingsFor('new'), keyOf)).toEqual(before);
});

test('the sealing key can be brought along in the same step, and another source be named', async () => {
  const before = await withStorage(settingsFor('data'), keyOf);
  const { lines } = await restore(
    ['--from', join(home, 'archive'), '--seal-key', sealKeyFile(join(home, 'data'))],
    parseSettings({ FREEHOLD_DATA: join(home, 'new') }),
  );
  expect(lines).toHaveLength(1);
  expect(await withStorage(settingsFor('new'), keyOf)).toEqual(before);
});

test('no secret and no key is in an archive', async () => {
  await withStorage(settingsFor('data'), keyOf);
  await restore([], settingsFor('new'));
  const [old, fresh] = ['data', 'new'].map((name) => readFileSync(join(home, name, 'secrets.json'), 'utf8'));
  expect(fresh).not.toBe(old);
  expect(existsSync(sealKeyFile(join(home, 'new')))).toBe(false);
});

test.each<[string, readonly string[], RegExp]>([
  ['no archive at all', [], /^There is nothing to restore from: say --from DIRECTORY, or set .+\.$/],
  [
    'a directory that is not there',
    ['--from', '/nowhere/at/all'],
    /^There is nothing to restore from: no directory \/nowhere\/at\/all\.$/,
  ],
  ['an empty archive', ['--from', EMPTY], /^There is nothing to restore: no data was ever archived in .+\.$/],
  [
    'a key file that is not there',
    ['--from', EMPTY, '--seal-key', '/nowhere'],
    /^The sealing key cannot be read: there is no file \/nowhere\.$/,
  ],
  ['an unknown option', ['--form', 'x'], /Usage: npm start -- restore/],
])('%s is one sentence, and nothing is written', async (_what, args, words) => {
  expect(await sentence(restore(args, parseSettings({ FREEHOLD_DATA: join(home, 'new') })))).toMatch(words);
  expect(existsSync(join(home, 'new'))).toBe(false);
});

test('a directory that holds data is not restored over', async () => {
  await withStorage(settingsFor('data'), keyOf);
  expect(await sentence(restore([], settingsFor('data')))).toMatch(
    /is not empty\. Restore into a new one\.$/,
  );
});

test('C-20: an erased person stays erased when only an older vault comes back, for every source of the erasure', {
  timeout: 30_000,
}, async () => {
  const settings = settingsFor('data');
  const vaultFile = join(home, 'data', 'vault', `${SCOPE.tenantId}.sqlite`);
  await withStorage(settings, keyOf);
  const older = readFileSync(vaultFile);
  const receipt = await withStorage(settings, ({ vault }) => vault.shred(SCOPE as never, 'cus_a'));
  writeFileSync(vaultFile, older);
  expect(await withStorage(settings, keyOf)).toEqual({ shredded: receipt });
  expect(await withStorage(settings, ({ vault }) => vault.shredded(SCOPE as never))).toEqual([receipt]);
});

test('C-20: a key is used only once the archive has it', async () => {
  const settings = settingsFor('data');
  await withStorage(settings, async ({ engine, vault }) => {
    const [key] = await vault.allot(SCOPE as never, 1);
    expect(engine.archiveStatus()).toMatchObject({ failures: 0 });
    await restore([], settingsFor('new'));
    const copy = readFileSync(join(home, 'new', 'vault', `${SCOPE.tenantId}.sqlite`)).toString('latin1');
    expect(copy).toContain(key?.keyId);
  });
});

test('what the records name and the archive has not is named, in a result that is not complete', async () => {
  const unitOf = (kind: string, sql: string) =>
    defineUnit({
      kind,
      migrations: [{ name: kind, migrations: [{ version: 1, name: 'tables', sql }] }],
      queries: [],
      open: () => ({ touch: () => null }),
    });
  const digest = createHash('sha256').update('here').digest('hex');
  const gone = 'f'.repeat(64);
  const attachments = `
CREATE TABLE _spine_attachments (id TEXT, entity_type TEXT, entity_id TEXT, digest TEXT, removed_at INTEGER) STRICT;
INSERT INTO _spine_attachments VALUES ('att_1', 'order', 'ord_1', '${digest}', NULL),
  ('att_2', 'order', 'ord_1', '${gone}', NULL), ('att_3', 'order', 'ord_2', '${'e'.repeat(64)}', 1);`;
  const directory = `
CREATE TABLE scopes (id TEXT, vertical TEXT, status TEXT) STRICT;
INSERT INTO scopes VALUES ('scp_a', 'fieldwork', 'active'), ('scp_b', 'fieldwork', 'active'),
  ('scp_c', 'elsewhere', 'active'), ('scp_d', 'fieldwork', 'reaped');`;
  await withStorage(settingsFor('data'), async ({ engine, blobs, blobArchive }) => {
    await engine.unit(unitOf('directory', directory), 'main', { create: true }).touch();
    await engine.unit(unitOf('scope-fieldwork', attachments), 'scp_a', { create: true }).touch();
    await engine.flushArchive();
    await blobs('scp_a').put(new Blob(['here']).stream(), { bytesMax: 10 });
    await blobArchive?.flush();
  });
  const { lines, isComplete } = await restore([], settingsFor('new'));
  expect(isComplete).toBe(false);
  expect(lines.slice(0, 5)).toEqual([
    expect.stringMatching(/^Restored \d+ databases and 1 attachments from /),
    'Missing: 2 things that the records name had not reached the archive.',
    '  scope scp_b: its database',
    '  scope scp_a: attachment att_2 of order ord_1',
    expect.stringMatching(
      /missing-after-restore, with their paths: .+ To go on without them, start the platform/,
    ),
  ]);
  expect(readFileSync(join(home, 'new', 'missing-after-restore'), 'utf8')).toContain(
    `blobs/scp_a/ff/${gone}\n`,
  );
});

test('a copy leaves the archive with its owner, and cannot continue it', async () => {
  await withStorage(settingsFor('data'), keyOf);
  const owner = readFileSync(join(home, 'archive', 'owner'));
  await restore(['--copy', '--seal-key', sealKeyFile(join(home, 'data'))], settingsFor('copy'));
  expect(readFileSync(join(home, 'archive', 'owner'))).toEqual(owner);
  expect(await sentence(withStorage(settingsFor('copy'), keyOf))).toMatch(
    /belongs to another data directory/,
  );
  expect(await sentence(withStorage(settingsFor('data'), keyOf))).toBe('restored');
});
