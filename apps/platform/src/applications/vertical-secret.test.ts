/** What the operator of a vertical that runs elsewhere is told, and that the platform's own secret stays where it is. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { requireVerticalSecret } from '@freehold/contracts/http';
import { expect, onTestFinished, test } from 'vitest';
import { SettingsError } from '../settings/settings.ts';
import { makeSecrets } from '../storage/secrets.ts';
import { tellVerticalSecret } from './vertical-secret.ts';

const MASTER = 'a platform secret of the settings, long enough';

function newDirectory(): string {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-vertical-secret-'));
  onTestFinished(() => rmSync(dataDirectory, { recursive: true }));
  return dataDirectory;
}

test('the secret opens the platform’s doors to this vertical, and the platform’s is not shown', async () => {
  const dataDirectory = newDirectory();
  await makeSecrets(dataDirectory, async () => []);
  const lines = await tellVerticalSecret(['library'], { platformSecrets: [MASTER], dataDirectory });
  expect(lines).toHaveLength(1);
  expect(await requireVerticalSecret(lines[0], MASTER)).toBe('library');
  expect(lines.join()).not.toContain(MASTER);
});

test('while the platform’s is being replaced it follows from the new one, which comes first', async () => {
  const settings = { platformSecrets: ['x'.repeat(32), MASTER], dataDirectory: newDirectory() };
  const [secret] = await tellVerticalSecret(['library'], settings);
  expect(await requireVerticalSecret(secret, 'x'.repeat(32))).toBe('library');
  await expect(requireVerticalSecret(secret, MASTER)).rejects.toThrow();
});

test('without a setting it follows from the secret that the first start made', async () => {
  const dataDirectory = newDirectory();
  const { platformSecret } = await makeSecrets(dataDirectory, async () => []);
  const [secret] = await tellVerticalSecret(['library'], { platformSecrets: undefined, dataDirectory });
  expect(await requireVerticalSecret(secret, platformSecret)).toBe('library');
});

test('before the first start there is nothing that it could follow from', async () => {
  const told = tellVerticalSecret(['library'], { platformSecrets: undefined, dataDirectory: newDirectory() });
  await expect(told).rejects.toThrow('There is no platform secret yet');
});

test.each([[[]], [['']], [['Not A Slug']], [['library', 'fieldwork']]])('%j is refused', async (args) => {
  const told = tellVerticalSecret(args, { platformSecrets: [MASTER], dataDirectory: newDirectory() });
  await expect(told).rejects.toBeInstanceOf(SettingsError);
});
