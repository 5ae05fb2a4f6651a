/**
 * Follows the operator's guide (docs/operator.md) word by word, from the first start to the tenant that is reaped:
 * every command is run, and every result is compared with the guide.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DnsServer, startDnsServer } from '../../apps/platform/test/dns-server.ts';
import { adminOperations } from '../../packages/directory/src/admin-operations.ts';
import { requireJson, requireLines } from '../guide/expectations.ts';
import { readGuide, type Step } from '../guide/read-guide.ts';
import { openShell, type Shell } from '../guide/shell.ts';
import { freePorts, type RunningPlatform, startPlatform } from '../support/platform.ts';

const root = join(import.meta.dirname, '../..');
const PAGE = 'docs/operator.md';
const markdown = readFileSync(join(root, PAGE), 'utf8');

/** The reader's machine: disks, a zone, and two terminals. */
let home: string;
let port: number;
let zone: DnsServer;
let shell: Shell;
let platform: RunningPlatform | undefined;

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'freehold-operator-'));
  [port = 0] = await freePorts(1);
  zone = await startDnsServer();
  // The right Node.js, as `npm ci` installs it, and a home directory for the test.
  const path = `${join(root, 'node_modules/.bin')}:${process.env.PATH}`;
  shell = openShell({ cwd: root, env: { PATH: path, HOME: home } });
});
afterAll(async () => {
  await platform?.stop();
  await shell?.[Symbol.asyncDispose]();
  await zone?.close();
  rmSync(home, { recursive: true, force: true });
});

/** Other disks and another port, because those of the guide may be taken; no proxy, and no certificate. */
const here = (text: string): string =>
  text
    .replaceAll('/srv/', `${home}/srv/`)
    .replaceAll('/mnt/', `${home}/mnt/`)
    .replaceAll('8787', String(port))
    .replaceAll(/https:\/\/((?:\w+\.)*apps\.)example\.org/g, `http://$1localhost:${port}`)
    .replaceAll('apps.example.org', 'apps.localhost');

/** The guide by sections. The platform is stopped where the reader is told to. */
const sections = markdown.split(/^(?=## )/m).slice(1);
const titleOf = (section: string): string => /^## (.+)$/m.exec(section)?.[1] ?? '';

let isLost = false;
describe('a reader of the guide sees what it says', () => {
  test.each(sections.map((section) => [titleOf(section), section]))('%s', async (title, section) => {
    if (isLost) throw new Error('an earlier section did not work');
    isLost = true;
    const [first = '', ...others] = here(section).split(/^Stop the platform\b/m);
    await followGuide(readGuide(`${PAGE}, ${title}`, first));
    for (const part of others) {
      await platform?.stop();
      platform = undefined;
      await followGuide(readGuide(`${PAGE}, ${title}`, part));
    }
    isLost = false;
  });

  test('secret files are readable by their owner only', () => {
    for (const file of ['settings', 'data/seal-key', 'data/service-token', 'data/secrets.json'])
      expect(statSync(join(home, 'srv/freehold', file)).mode & 0o077, file).toBe(0);
  });

  test('a log whose end was cut off is broken, and the reason is the one in the guide', async () => {
    expect(isLost).toBe(false);
    await platform?.stop();
    const database = new DatabaseSync(join(home, 'srv/freehold/data/directory/main.sqlite'));
    database.exec('DROP TRIGGER admin_log_no_delete');
    database.exec('DELETE FROM admin_log WHERE sequence = (SELECT max(sequence) FROM admin_log)');
    database.close();
    await start();
    const { code, output } = await shell.run('npx --no-install freehold admin-log verify --json');
    // The answer, and after it the sentence for a scheduled job.
    const [answer = ''] = output.split('\n');
    expect(JSON.parse(answer)).toMatchObject({ status: 'broken', firstBad: { reason: 'tail_missing' } });
    expect([code, output]).toEqual([1, expect.stringContaining('tail_missing at row')]);
    expect(markdown).toContain('| `tail_missing`');
  });
});

describe('the page', () => {
  test('starts what the tests start', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    expect(scripts.start).toMatch(/ && exec node apps\/platform\/src\/main\.ts$/);
  });

  test('names only existing commands', () => {
    const named = [
      ...markdown.matchAll(
        /`(?:npx --no-install freehold )?([a-z]+(?:-[a-z]+)*) ([a-z]+(?:-[a-z]+)*)[^`\n]*`/g,
      ),
    ]
      .map(([, family, verb]) => `${family}.${verb}`)
      .filter((name) => families.has(name.split('.')[0] ?? ''));
    expect(named.length).toBeGreaterThan(12);
    expect(named.filter((name) => !names.has(name))).toEqual([]);
  });
});

/** Every operation is a command of the same words. */
const names: ReadonlySet<string> = new Set(Object.values(adminOperations).map(({ name }) => name));
const families = new Set([...names].map((name) => name.split('.')[0]));

/** Follows all steps. @throws Error that begins with the place in the guide that is wrong. */
async function followGuide(steps: readonly Step[]): Promise<void> {
  let seen: { readonly from: 'shell' | 'npm'; readonly output: string } | null = null;
  for (const step of steps) {
    try {
      if (step.kind === 'file') {
        mkdirSync(dirname(step.path), { recursive: true });
        writeFileSync(step.path, step.text);
      } else if (step.kind === 'run' && step.command === 'npm start') {
        seen = { from: 'npm', output: await start() };
      } else if (step.kind === 'run' && step.command !== 'npm ci') {
        const { code, output } = await shell.run(ownCommand(step.command));
        if (code !== 0) throw new Error(`${step.command} ended with ${code}:\n${output}`);
        publish(output);
        seen = { from: step.command.includes('npm ') ? 'npm' : 'shell', output };
      } else if (step.kind === 'see') {
        if (seen === null) throw new Error('nothing was run');
        if (step.language === 'json') requireJson(step.text, seen.output);
        // npm prints more than the guide shows.
        else requireLines(step.text, seen.output, seen.from === 'npm' ? 'somewhere' : 'exactly');
      }
    } catch (error) {
      throw new Error(`${step.where}: ${error instanceof Error ? error.message : error}`, { cause: error });
    }
  }
}

/**
 * Leaves out npx, which only finds the program and takes as long as the program itself. The first command of the guide
 * goes through it.
 */
function ownCommand(command: string): string {
  const own = usedNpx ? command.replaceAll('npx --no-install freehold', 'freehold') : command;
  usedNpx ||= command.includes('npx ');
  return own;
}
let usedNpx = false;

/**
 * Starts what `npm start` starts, with the settings of the guide, in place of the running one. One process without a
 * shell, so that signals reach it.
 */
async function start(): Promise<string> {
  await platform?.stop();
  const settings = Object.fromEntries(
    [...readFileSync(join(home, 'srv/freehold/settings'), 'utf8').matchAll(/^(\w+)=(.*)$/gm)].map(
      ([, name = '', value = '']) => [name, value],
    ),
  );
  const { FREEHOLD_DATA: dataDirectory = '', FREEHOLD_ANCHOR_FILE: anchorFile = '' } = settings;
  const place = { port, issuerPort: 0, dataDirectory, anchorFile, url: String, remove: () => undefined };
  platform = await startPlatform(place, { ...settings, FREEHOLD_DNS_SERVERS: zone.address });
  return platform.output();
}

/** Publishes the shown record in the zone, as its owner does. */
function publish(output: string): void {
  const [, name, value] = /"name":"([^"]+)","type":"TXT","value":"([^"]+)"/.exec(output) ?? [];
  if (name && value) zone.zone.set(`TXT ${name}`, [value]);
}
