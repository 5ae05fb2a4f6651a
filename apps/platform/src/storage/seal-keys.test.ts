import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openNodeEngine } from '@freehold/engine-node';
import type { Keyring } from '@freehold/store';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SettingsError } from '../settings/settings.ts';
import { finalizeRotation, openKeyring, sealKeyFile } from './seal-keys.ts';

const [A, B] = ['a'.repeat(32), 'b'.repeat(32)];
const IV = new Uint8Array(12);

let dataDirectory: string;
beforeEach(() => {
  dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-keys-'));
});
afterEach(() => rmSync(dataDirectory, { recursive: true }));

/** One start of the platform, without anything but its keys. */
async function start(given?: readonly string[]): Promise<Keyring> {
  const engine = openNodeEngine({ dataDirectory, onIncident: () => undefined });
  try {
    return await openKeyring({ engine, dataDirectory, given });
  } finally {
    await engine.close();
  }
}

const refusal = (given?: readonly string[]) =>
  start(given).then(
    () => 'started',
    (error: unknown) => {
      expect(error).toBeInstanceOf(SettingsError);
      return (error as Error).message;
    },
  );

test('the first start makes a key that only its owner can read, and every later one opens with it', async () => {
  const sealed = (await start()).seal('place', 'words', IV);
  expect(statSync(sealKeyFile(dataDirectory)).mode & 0o777).toBe(0o600);
  expect((await start()).open('place', sealed)).toBe('words');
});

test('a key that is gone beside what it sealed is one sentence, and none is made anew', async () => {
  await start();
  rmSync(sealKeyFile(dataDirectory));
  expect(await refusal()).toMatch(/^The sealing key is missing: .+seal-key is gone .+, or set SEAL_KEY\.$/);
  expect(await refusal()).toMatch(/^The sealing key is missing/);
});

test('another key than the one that sealed is one sentence, and seals nothing', async () => {
  await start([A]);
  expect(await refusal([B])).toMatch(/^The sealing key is another: .+ does not open with SEAL_KEY\..+\.$/);
  expect(await refusal()).toMatch(/^The sealing key is missing/);
  expect(await start([A])).toBeDefined();
});

test('a damaged file is one sentence', async () => {
  await start();
  writeFileSync(sealKeyFile(dataDirectory), 'short\n');
  expect(await refusal()).toMatch(/^The sealing key cannot be read: .+ is damaged\. .+\.$/);
});

test('a rotation: both keys open, the new one seals, and the old one can go when everything is sealed anew', async () => {
  const sealed = (await start([A])).seal('place', 'words', IV);
  expect((await start([B, A])).open('place', sealed)).toBe('words');
  // Too early: data may still need it.
  expect(await refusal([B])).toMatch(/^The sealing key is another/);
  const engine = openNodeEngine({ dataDirectory, onIncident: () => undefined });
  await finalizeRotation(engine, await openKeyring({ engine, dataDirectory, given: [B, A] }));
  await engine.close();
  expect(await start([B])).toBeDefined();
  expect(await refusal([A])).toMatch(/^The sealing key is another/);
});

test('a file holds several keys, one a line', async () => {
  await start();
  const old = readFileSync(sealKeyFile(dataDirectory), 'utf8');
  writeFileSync(sealKeyFile(dataDirectory), `${A}\n${old}`);
  expect((await start()).seal('place', 'words', IV).slice(0, 8)).toBe(
    (await start([A, old.trim()])).seal('place', 'words', IV).slice(0, 8),
  );
});
