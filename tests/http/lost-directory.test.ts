/** The directory database is gone: the start refuses, and the archive still restores everything. */
import { copyFileSync, cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parseSettings } from '../../apps/platform/src/settings/settings.ts';
import { restore } from '../../apps/platform/src/storage/restore.ts';
import { Caller } from '../support/http.ts';
import { newPlace } from '../support/platform.ts';
import { openEmbeddedPlatform } from './embedded-platform.ts';

test('a start without its directory database makes no new installation over the old one, nor over its archive', async () => {
  const place = await newPlace();
  const home = mkdtempSync(join(tmpdir(), 'freehold-lost-directory-'));
  onTestFinished(() => {
    place.remove();
    rmSync(home, { recursive: true });
  });
  const env = { FREEHOLD_ARCHIVE_DIRECTORY: join(home, 'archive') };
  const open = () => openEmbeddedPlatform(env, place);
  const first = await open();
  const { scope } = first;
  using caller = new Caller();
  const ready = (await caller.ask(`${place.url('localhost')}/readyz`)).json();
  expect(ready).toMatchObject({ status: 'ready', archive: { attachments: 0 } });
  await first.platform.close();
  expect(readdirSync(join(home, 'archive', 'units'))).not.toContain('rest');
  const files = () =>
    readdirSync(join(home, 'archive', 'units', 'directory'), { recursive: true }).toSorted();
  const archived = files();
  const directory = join(place.dataDirectory, 'directory');
  cpSync(directory, join(home, 'directory'), { recursive: true, preserveTimestamps: true });
  for (const lose of [
    () => rmSync(join(directory, 'main.sqlite')),
    () => rmSync(directory, { recursive: true }),
    // Nothing on this disk says that there was a directory; the archive does.
    () => {
      for (const name of readdirSync(place.dataDirectory))
        if (!['.archive', 'platform', 'seal-key', 'secrets.json'].includes(name)) {
          cpSync(join(place.dataDirectory, name), join(home, 'rest', name), { recursive: true });
          rmSync(join(place.dataDirectory, name), { recursive: true });
        }
    },
  ]) {
    lose();
    await expect(open()).rejects.toThrow(
      /^The directory database .+ is gone or empty, and .+ Nothing was changed\. .+restore.+begin-anew/,
    );
    expect(files()).toEqual(archived);
  }
  const sealKey = join(home, 'seal-key');
  copyFileSync(join(place.dataDirectory, 'seal-key'), sealKey);
  rmSync(place.dataDirectory, { recursive: true });
  await restore(['--seal-key', sealKey], parseSettings({ FREEHOLD_DATA: place.dataDirectory, ...env }));
  const again = await open();
  expect(again.scope).toEqual(scope);
  await again.platform.close();
});
