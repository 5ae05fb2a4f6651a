/** Follows docs/packages.md with npm and its registry, in a folder without this repository. */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readPackageJson } from '../../tools/pack/workspaces.ts';
import { CHAPTERS, openGuide } from '../guide/open-guide.ts';
import { startProgram } from '../scaffold/processes.ts';
import { readBlocks } from '../support/docs-examples.ts';
import { ENTRIES, importEntries, packInto, root } from '../support/packages.ts';
import { freePorts } from '../support/platform.ts';

const BUILDING_MS = 300_000;
/** The tests' own scratch directory is in memory, and this is half a gigabyte. */
const ON_DISK = '/var/tmp';

let home: string;
/** The cache of this machine's npm, so that a second run fetches nothing. */
let cache: string;
/** Its file of settings, such as a proxy: npm beside another Node.js looks elsewhere. */
let settings: string;
beforeAll(() => {
  home = mkdtempSync(join(ON_DISK, 'freehold-install-'));
  [cache = '', settings = ''] = ['cache', 'globalconfig'].map((key) =>
    execFileSync('npm', ['config', 'get', key], {
      encoding: 'utf8',
      env: { ...process.env, PATH: elsewhere },
    }).trim(),
  );
  packInto(join(home, 'packages'), '--check');
}, BUILDING_MS);
afterAll(() => rmSync(home, { recursive: true, force: true }));

const { version } = readPackageJson(join(root, 'packages/cli/package.json'));
const [commands = '', denial = ''] = readBlocks(readFileSync(join(root, 'docs/packages.md'), 'utf8'))
  .filter(({ language }) => language === 'sh')
  .map(({ text }) => text);

/** The path of a person who has not got this repository: programs of `npm` and `npx` come from elsewhere. */
const elsewhere = (process.env.PATH ?? '')
  .split(delimiter)
  .filter((directory) => !directory.includes('node_modules'))
  .join(delimiter);

describe.each([
  ['the Node.js of this machine', elsewhere],
  ['Node.js 26', `${dirname(process.execPath)}${delimiter}${elsewhere}`],
])('with npm on %s', (name, path) => {
  const start = () => join(home, name.replaceAll(/\W/g, '-'));
  const project = () => join(start(), 'paper-trail');
  const env = () => ({
    PATH: path,
    npm_config_cache: cache,
    npm_config_globalconfig: settings,
    npm_config_prefer_offline: 'true',
  });
  const shell = (line: string, cwd: string) => {
    const { status, stdout, stderr } = spawnSync('sh', ['-c', line], {
      cwd,
      env: { HOME: start(), ...env() },
      encoding: 'utf8',
    });
    return { status, stdout, stderr };
  };
  afterAll(() => rmSync(start(), { recursive: true, force: true }));

  /** The lines of the page up to the project's folder are for the folder that was empty. */
  const [inFolder = '', inProject = ''] = commands.split(/^cd paper-trail\n/m);
  const runLines = (lines: string, cwd: string) => {
    for (const line of lines.trim().split('\n')) expect(shell(line, cwd), line).toMatchObject({ status: 0 });
  };

  test('the page leads from an empty folder to a project', { timeout: BUILDING_MS }, () => {
    mkdirSync(start());
    cpSync(join(home, 'packages'), join(start(), 'packages'), { recursive: true });
    runLines(inFolder, start());
    expect(shell('npx --no-install node --version', start()).stdout).toMatch(/^v26\./);
    expect(shell('npx --no-install freehold --version', start())).toEqual({
      status: 0,
      stdout: `${version}\n`,
      stderr: '',
    });
  });

  test('imports every entry, whose declarations are without an error', () => {
    const node = join(start(), 'node_modules/.bin/node');
    expect(importEntries(start(), node)).toEqual([]);
    const types = `${ENTRIES.map(
      (entry, index) => `import * as entry${index} from '${entry}';\nvoid entry${index};`,
    ).join('\n')}\n`;
    writeFileSync(join(start(), 'entries.mts'), types);
    const tsc = join(root, 'node_modules/.bin/tsc');
    const flags = '--noEmit --strict --skipLibCheck false --module nodenext --target esnext --types node';
    const found = shell(
      `${tsc} ${flags} --typeRoots ${join(root, 'node_modules/@types')} entries.mts`,
      start(),
    );
    // One of the libraries lacks the types of another.
    expect(found.stdout.match(/^(?:entries|node_modules\/@freehold\/).*$/gm) ?? []).toEqual([]);
  });

  test('needs no install script', { timeout: BUILDING_MS }, () => {
    expect(shell('npm ci --ignore-scripts && npx --no-install freehold --version', start())).toMatchObject({
      status: 0,
    });
    expect(shell(denial, start()).status).toBe(0);
  });

  test('the project passes its tests, and is served', { timeout: BUILDING_MS }, async () => {
    const [serve = '', ...others] = inProject.trim().split('\n').reverse();
    runLines(others.reverse().join('\n'), project());
    const [port, issuerPort] = await freePorts(2);
    await using running = await startProgram({
      line: ['sh', '-c', `${serve} -- --port ${port} --issuer-port ${issuerPort}`],
      cwd: project(),
      env: env(),
      ready: / is at (http:\S+)$/m,
    });
    expect((await fetch(`${running.said[1]}/api/notes`)).status).toBe(401);
  });

  test('every chapter of the guide says what is seen', { timeout: BUILDING_MS }, async () => {
    const lostAndFound = join(start(), 'lost-and-found');
    await using guide = await openGuide({
      checkout: start(),
      packages: join(start(), 'packages'),
      project: lostAndFound,
      install: () => runLines('npm install', lostAndFound),
      env: env(),
    });
    for (const chapter of CHAPTERS) await guide.follow(chapter);
    expect(guide.faults()).toEqual([]);
  });
});
