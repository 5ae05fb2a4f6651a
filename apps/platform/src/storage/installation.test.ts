import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeDirectoryArchive } from '@freehold/engine-node';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  beginAnew,
  noteInstallation,
  requireDirectoryDatabase,
  requireNoArchivedDirectory,
} from './installation.ts';

let home: string;
let data: string;
let main: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'freehold-installation-'));
  data = join(home, 'data');
  main = join(data, 'directory', 'main.sqlite');
  mkdirSync(join(data, 'directory'), { recursive: true });
  writeFileSync(main, 'SQLite format 3');
});
afterEach(() => rmSync(home, { recursive: true }));

const WAYS =
  /^The directory database .+main\.sqlite is gone or empty, and .+\. Nothing was changed\. .+npm start -- restore.+npm start -- begin-anew/;
const archive = () => makeDirectoryArchive(join(home, 'archive'));
const settings = () => ({
  archive: { kind: 'directory' as const, path: join(home, 'archive') },
  anchor: null,
  dataDirectory: data,
});

test('a directory that is new, or whose first start was killed, starts', () => {
  rmSync(main);
  for (const early of ['platform', 'directory']) mkdirSync(join(data, early), { recursive: true });
  writeFileSync(join(data, 'platform', 'main.sqlite'), 'x');
  writeFileSync(join(data, 'secrets.json'), '{}');
  writeFileSync(main, '');
  requireDirectoryDatabase(data);
  requireDirectoryDatabase(join(home, 'not there'));
});

test("a disk's own folder and one that may not be read show no installation", () => {
  rmSync(main);
  mkdirSync(join(data, 'lost+found'));
  writeFileSync(join(data, 'lost+found', 'x.sqlite'), 'x');
  // Root may read all: `EACCES` shows only to others.
  mkdirSync(join(data, 'private'), { mode: 0o000 });
  requireDirectoryDatabase(data);
});

test('a restore that was interrupted is to be finished, and nothing else is offered', () => {
  rmSync(main);
  noteInstallation(data);
  writeFileSync(join(data, 'restoring'), '');
  expect(() => requireDirectoryDatabase(data)).toThrow(/Finish it first\.$/);
});

test.each<[string, () => void]>([
  ['the note of an earlier start', () => noteInstallation(data)],
  ["the operator's token", () => writeFileSync(join(data, 'service-token'), 'x')],
  ['the history of the directory', () => mkdirSync(join(data, 'directory', 'main.history'))],
  [
    'a database of an application',
    () => {
      mkdirSync(join(data, 'scope-fieldwork'));
      writeFileSync(join(data, 'scope-fieldwork', 'scp_a.sqlite'), 'x');
    },
  ],
])('without its directory database it is refused by %s, and both ways on are named', (_what, leave) => {
  leave();
  requireDirectoryDatabase(data);
  truncateSync(main);
  expect(() => requireDirectoryDatabase(data)).toThrow(WAYS);
  rmSync(main);
  expect(() => requireDirectoryDatabase(data)).toThrow(WAYS);
});

test('the archive knows too that there was a directory database', async () => {
  await requireNoArchivedDirectory(archive(), data);
  await archive().put('units/directory/main/history/base-000000000001.json', new Uint8Array(1));
  await requireNoArchivedDirectory(archive(), data);
  rmSync(main);
  await expect(requireNoArchivedDirectory(archive(), data)).rejects.toThrow(WAYS);
});

test('beginning anew puts everything aside, and only beside an empty archive', async () => {
  noteInstallation(data);
  await archive().put('owner', new Uint8Array(1));
  await expect(beginAnew([], settings())).rejects.toThrow(/^The archive .+ is not empty/);
  await expect(beginAnew(['--now'], settings())).rejects.toThrow(/Usage: npm start -- begin-anew$/);
  expect(existsSync(main)).toBe(true);
  await archive().delete('owner');
  const anchor = { file: join(home, 'anchor.json') };
  writeFileSync(anchor.file, '{}');
  const lines = await beginAnew([], { ...settings(), anchor }, () => Date.UTC(2026, 10, 24, 14, 21, 53));
  expect(readdirSync(data)).toEqual(['put-aside-20261124T142153Z']);
  expect(
    readFileSync(join(data, 'put-aside-20261124T142153Z', 'directory', 'main.sqlite'), 'utf8'),
  ).toContain('SQLite');
  expect(lines).toEqual([
    `Everything in ${data} was put aside into ${join(data, 'put-aside-20261124T142153Z')}. The next start makes a new installation.`,
    `Before it, move ${anchor.file} away: it witnesses the admin log of the old one.`,
  ]);
  requireDirectoryDatabase(data);
});
