/** A unit without copies: no deleted bytes are anywhere in the data directory. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openNodeEngine } from '../src/index.ts';
import { vaultUnit } from './vault-unit.ts';

const SECRET = 'a-key-that-must-not-be-found';

function filesWith(directory: string, text: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .map((name) => join(directory, name))
    .filter((path) => statSync(path).isFile() && readFileSync(path).includes(text));
}

test('deleted bytes are overwritten, in the file and in the log, while the unit is open', async () => {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-vault-'));
  const engine = openNodeEngine({
    dataDirectory,
    onIncident: (error) => {
      throw error;
    },
  });
  onTestFinished(async () => {
    await engine.close();
    rmSync(dataDirectory, { recursive: true });
  });
  const vault = engine.unit(vaultUnit, 'v', { create: true });
  expect(await vault.pragma()).toBe(1);
  for (let i = 0; i < 50; i++) await vault.put({ value: `${SECRET}-${i}-${'x'.repeat(2_000)}` });
  expect(filesWith(dataDirectory, SECRET)).toEqual([join(dataDirectory, 'vault', 'v.sqlite')]);
  expect(statSync(join(dataDirectory, 'vault', 'v.sqlite-wal')).size).toBe(0);
  await vault.drop();
  expect(await vault.list()).toEqual([]);
  expect(filesWith(dataDirectory, SECRET)).toEqual([]);
  await vault.put({ value: 'another' });
  expect(readdirSync(join(dataDirectory, 'vault')).sort()).toEqual([
    'v.sqlite',
    'v.sqlite-shm',
    'v.sqlite-wal',
  ]);
});
