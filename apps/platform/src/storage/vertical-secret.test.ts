/** The secret for a vertical that runs elsewhere is shown, and the platform's own secret never. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { requireVerticalSecret } from '@freehold/contracts/http';
import { expect, onTestFinished, test } from 'vitest';
import { SettingsError } from '../settings/settings.ts';
import { makeSecrets, showVerticalSecret } from './secrets.ts';

const MASTER = 'a platform secret of the settings, long enough';

function newDirectory(): string {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-vertical-secret-'));
  onTestFinished(() => rmSync(dataDirectory, { recursive: true }));
  return dataDirectory;
}

test('the secret opens the platform’s API to this vertical, and the platform’s is not shown', async () => {
  const dataDirectory = newDirectory();
  await makeSecrets(dataDirectory, async () => []);
  const lines = await showVerticalSecret(['library'], { platformSecrets: [MASTER], dataDirectory });
  expect(lines).toHaveLength(1);
  expect(await requireVerticalSecret(lines[0], MASTER)).toBe('library');
  expect(lines.join()).not.toContain(MASTER);
});

test('while the platform’s is being replaced it is derived from the new one, which comes first', async () => {
  const settings = { platformSecrets: ['x'.repeat(32), MASTER], dataDirectory: newDirectory() };
  const [secret] = await showVerticalSecret(['library'], settings);
  expect(await requireVerticalSecret(secret, 'x'.repeat(32))).toBe('library');
  await expect(requireVerticalSecret(secret, MASTER)).rejects.toThrow();
});

test('without a setting it is derived from the secret that the first start made', async () => {
  const dataDirectory = newDirectory();
  const { platformSecret } = await makeSecrets(dataDirectory, async () => []);
  const [secret] = await showVerticalSecret(['library'], { platformSecrets: undefined, dataDirectory });
  expect(await requireVerticalSecret(secret, platformSecret)).toBe('library');
});

test('before the first start there is no secret to derive it from', async () => {
  const told = showVerticalSecret(['library'], { platformSecrets: undefined, dataDirectory: newDirectory() });
  await expect(told).rejects.toThrow('There is no platform secret yet');
});

test.each([[[]], [['']], [['Not A Slug']], [['library', 'fieldwork']]])('%j is refused', async (args) => {
  const told = showVerticalSecret(args, { platformSecrets: [MASTER], dataDirectory: newDirectory() });
  await expect(told).rejects.toBeInstanceOf(SettingsError);
});
