/** Finds the system's Chromium for the end-to-end tests, or installs it with apt and says so. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/**
 * Returns the path of a Chromium: the one that `CHROMIUM` names, else the system's.
 * @throws Error with the command to run when Chromium is missing and cannot be installed.
 */
export function requireChromium(): string {
  const named = process.env.CHROMIUM;
  if (named) {
    if (!existsSync(named))
      throw new Error(`CHROMIUM names ${named}, which does not exist. Set it to the path of a Chromium.`);
    return named;
  }
  const found = PLACES.find((path) => existsSync(path));
  if (found) return found;
  console.log(
    'The end-to-end tests need Chromium, which this machine does not have. Installing the package `chromium` with apt.',
  );
  const sudo = process.getuid?.() === 0 ? [] : ['sudo', '-n'];
  for (const args of [['update'], ['install', '-y', '--no-install-recommends', 'chromium']]) {
    const [file, ...rest] = [...sudo, 'apt-get', ...args] as [string, ...string[]];
    spawnSync(file, rest, {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    });
  }
  const installed = PLACES.find((path) => existsSync(path));
  if (!installed)
    throw new Error(
      'Chromium could not be installed. Install it (`sudo apt-get install chromium`) or set CHROMIUM to its path.',
    );
  return installed;
}
