import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileBudgetOf } from '@freehold/engine-node';
import { expect, onTestFinished, test } from 'vitest';
import { warningsOfFiles, warningsOfPlaces, warningsOfTokens } from './checks.ts';

function home(): string {
  const directory = mkdtempSync(join(tmpdir(), 'places-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
}
const DATA = { production: false, dataDirectory: '/srv/freehold/data' };
const of = (anchor: string | null, backupsDirectory?: string, parts: Partial<typeof DATA> = {}) =>
  warningsOfPlaces({
    anchor: anchor === null ? null : { file: anchor },
    backupsDirectory,
    ...DATA,
    ...parts,
  });

test('in production, a log without a witness elsewhere causes a warning with what to do', () => {
  const at = home();
  const production = { production: true, dataDirectory: join(at, 'data') };
  expect(of(null, undefined, production)).toEqual([expect.stringMatching(/NOTHING WITNESSES THE ADMIN LOG/)]);
  expect(of(join(at, 'anchor.json'), undefined, production)).toEqual([
    expect.stringMatching(/lies beside the data: .+ Name a file on another disk\.$/),
  ]);
  mkdirSync(join(at, 'witness'));
  expect(of(join(at, 'witness', 'anchor.json'), undefined, production)).toEqual([]);
});

test('writable places cause no warning, existing or not', () => {
  const at = home();
  expect(of(join(at, 'anchor.json'), join(at, 'not', 'there', 'yet'))).toEqual([]);
  expect(of(null)).toEqual([]);
  expect(
    warningsOfPlaces({ anchor: { url: 'https://x.test', token: undefined }, backupsDirectory: at, ...DATA }),
  ).toEqual([]);
});

test('a witness whose directory is missing, or that is a directory, causes a warning with what to do', () => {
  const at = home();
  expect(of(join(at, 'gone', 'anchor.json'))).toEqual([
    `FREEHOLD_ANCHOR_FILE: nothing witnesses the admin log: there is no directory ${join(at, 'gone')}; make it, or mount its disk.`,
  ]);
  mkdirSync(join(at, 'anchor.json'));
  expect(of(join(at, 'anchor.json'))).toEqual([
    expect.stringMatching(/is a directory; name a file in it\.$/),
  ]);
});

test('a place for backups below a file causes a warning', () => {
  const at = home();
  writeFileSync(join(at, 'file'), '');
  expect(of(null, join(at, 'file', 'backups'))).toEqual([
    `FREEHOLD_BACKUPS: nothing can be backed up: ${join(at, 'file', 'backups')} cannot be written.`,
  ]);
});

test('a limit of open files that is too low for the databases causes a warning that names the right one', () => {
  const at = home();
  mkdirSync(join(at, 'scope-fieldwork'));
  for (let each = 0; each < 30; each++) writeFileSync(join(at, 'scope-fieldwork', `scp_${each}.sqlite`), '');
  const [warning, ...more] = warningsOfFiles(at, fileBudgetOf(256));
  expect(more).toEqual([]);
  expect(warning).toMatch(
    /256 files open.* 26 databases at once, and there are 30: .*Raise the limit to 276/,
  );
  expect(warningsOfFiles(at, fileBudgetOf(276))).toEqual([]);
  // With a generous limit nothing is counted, however many there are.
  expect(warningsOfFiles(join(at, 'not there'), fileBudgetOf(20_000))).toEqual([]);
});

test('push tokens from before kinds cause a warning that says how to list them', () => {
  expect(warningsOfTokens(0)).toEqual([]);
  expect(warningsOfTokens(3)).toEqual([
    expect.stringMatching(/^3 push tokens .*push-tokens list --kind legacy/),
  ]);
});
