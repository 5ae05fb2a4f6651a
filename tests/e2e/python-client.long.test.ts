/**
 * The official Python client of MCP (PyPI `mcp`), given only an address: at an instance and at the control plane it is let
 * in by a person in Chromium, lists its tools, refreshes, is ended, and finds the way in again; then it has its person asked
 * before it destroys something, at both revisions.
 */
import { type ChildProcessWithoutNullStreams, execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { barriers, continueAs, launchBrowser, PHONE, see, violations, visit } from '../support/browser.ts';
import { newPlace, type PlatformPlace, type RunningPlatform, startPlatform } from '../support/platform.ts';

const VERSION = '2.3.0';
const SCRIPT = join(import.meta.dirname, 'python-client.py');

/** The client needs 3.10. @throws Error with the command to run. */
function requirePython(): void {
  const check = 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 10))';
  if (spawnSync('python3', ['-c', check]).status === 0) return;
  throw new Error(
    'This test needs python3 of 3.10 or later with venv. Install it: `sudo apt-get install python3 python3-venv`.',
  );
}

const ACCOUNT = { email: 'ada@example.org', password: 'seven brass keys on a ring' };

let place: PlatformPlace;
/** Where instances keep accounts themselves. */
let ownAccounts: PlatformPlace;
let platforms: RunningPlatform[] = [];
let browser: Browser;
let directory: string;
beforeAll(async () => {
  requirePython();
  directory = mkdtempSync(join(tmpdir(), 'freehold-python-'));
  execFileSync('python3', ['-m', 'venv', directory]);
  execFileSync(join(directory, 'bin/pip'), ['install', '-q', `mcp==${VERSION}`]);
  [place, ownAccounts, browser] = await Promise.all([newPlace(), newPlace(), launchBrowser()]);
  platforms = await Promise.all([
    startPlatform(place),
    startPlatform(ownAccounts, { FREEHOLD_SIGN_IN: 'directory' }),
  ]);
}, 300_000);
afterAll(async () => {
  await browser?.close();
  await Promise.all(platforms.map((platform) => platform.stop()));
  for (const each of [place, ownAccounts]) each?.remove();
  if (directory) rmSync(directory, { recursive: true, force: true });
});

interface Said {
  readonly ask?: string;
  readonly tools?: readonly string[];
  readonly access?: string;
  readonly failed?: string;
  /** The questions that the person read, and the answer of the tool. */
  readonly asked?: readonly string[];
  readonly refused?: boolean;
  readonly said?: string;
}

/** Something that a program may destroy. */
interface Target {
  readonly tool: string;
  readonly arguments: object;
}

/** Makes an order, which a program may cancel. */
async function order(client: PythonClient): Promise<Target> {
  const { id: customer } = await client.made('customer_create', { name: 'Grace' });
  const { id } = await client.made('order_create', { customer, title: 'Fix the boiler' });
  return { tool: 'order_cancel', arguments: { order: id } };
}

async function tenant(client: PythonClient): Promise<Target> {
  const { id } = await client.made('tenants_create', { slug: 'grace', name: 'Grace' });
  return { tool: 'tenants_set-status', arguments: { tenant: id, status: 'suspended' } };
}

class PythonClient {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #lines: AsyncIterator<string>;
  #errors = '';

  constructor(address: string) {
    this.#child = spawn(join(directory, 'bin/python'), [SCRIPT, address]);
    this.#child.stderr.on('data', (chunk: Buffer) => {
      this.#errors += chunk.toString();
    });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  async #next(): Promise<Said> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error(`the client ended: ${this.#errors}`);
    const said = JSON.parse(value) as Said;
    if (said.failed !== undefined) throw new Error(`${said.failed}\n${this.#errors}`);
    return said;
  }

  /** Gives a command. @param person decides in the browser; without one the client must not ask. */
  async do(command: string, person?: (url: string) => Promise<void>): Promise<Said> {
    this.#child.stdin.write(`${command}\n`);
    const first = await this.#next();
    expect([command, first.ask !== undefined]).toEqual([command, person !== undefined]);
    if (first.ask === undefined || !person) return first;
    await person(first.ask);
    return this.#next();
  }

  /** Calls a tool. @param call the revision, and what the person ticks. */
  async call(call: Target & { readonly mode: 'auto' | 'legacy'; readonly ok: boolean }): Promise<Said> {
    return this.do(`call ${JSON.stringify(call)}`);
  }

  /** The record that a tool made. */
  async made(tool: string, given: object): Promise<{ readonly id: string }> {
    const { said = '' } = await this.call({ tool, arguments: given, mode: 'auto', ok: true });
    return JSON.parse(said) as { id: string };
  }

  end(): void {
    this.#child.kill();
  }
}

interface Case {
  readonly what: string;
  readonly address: () => string;
  readonly programs: () => string;
  /** Done by the person before they have a program. Default: nothing. */
  readonly before?: (page: Page) => Promise<void>;
  /** Signs in where it is not yet, as far as the question. */
  readonly signIn: (page: Page) => Promise<void>;
  readonly reading: string;
  readonly writing: string;
  readonly target: (client: PythonClient) => Promise<Target>;
}

const CASES: readonly Case[] = [
  {
    what: 'an instance',
    address: () => `${place.url('acme.localhost')}/api/mcp`,
    programs: () => `${place.url('acme.localhost')}/oauth/programs`,
    signIn: (page) => continueAs(page, 'Ada Lovelace'),
    reading: 'order_list',
    writing: 'order_create',
    target: order,
  },
  {
    what: 'an instance with accounts of its own',
    address: () => `${ownAccounts.url('acme.localhost')}/api/mcp`,
    programs: () => `${ownAccounts.url('acme.localhost')}/oauth/programs`,
    before: signUp,
    signIn: async (page) => {
      await page.getByLabel('E-mail address').fill(ACCOUNT.email);
      await page.getByLabel('Password', { exact: true }).fill(ACCOUNT.password);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    },
    reading: 'order_list',
    writing: 'order_create',
    target: order,
  },
  {
    what: 'the control plane',
    address: () => `${place.url('api.localhost')}/mcp`,
    programs: () => `${place.url('api.localhost')}/oauth/programs`,
    signIn: (page) => continueAs(page, 'Ada Lovelace'),
    reading: 'tenants_list',
    writing: 'tenants_create',
    target: tenant,
  },
];

/** Makes an account by the link in a mail, and leaves. */
async function signUp(page: Page): Promise<void> {
  await page.goto(`${ownAccounts.url('acme.localhost')}/api/auth/sign-up`);
  await page.getByLabel('E-mail address').fill(ACCOUNT.email);
  await page.getByLabel('Your name (optional)').fill('Ada Lovelace');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('heading', { name: 'Check your mail' }).waitFor();
  await page.goto(`${ownAccounts.url('localhost')}/outbox`);
  await page.getByRole('link', { name: 'Finish signing up to Acme Trades' }).first().click();
  await page.getByRole('link', { name: /\/api\/auth\/sign-up\/finish/ }).click();
  await page.getByLabel('New password').fill(ACCOUNT.password);
  await page.getByRole('button', { name: 'Sign up', exact: true }).click();
  await page.waitForURL(({ pathname }) => !pathname.startsWith('/api/auth/'));
  // The first visit takes the seat of the owner.
  await page.goto(`${ownAccounts.url('acme.localhost')}/account`);
  await page.context().clearCookies();
}

test.each(CASES)(
  'the Python client gets in at $what with its address alone',
  async ({ address, programs, before, signIn, reading, writing, target }) => {
    const { page, context, faults } = await visit(browser, PHONE);
    await before?.(page);
    const client = new PythonClient(address());
    const letIn = (choice: string) => async () => {
      expect([...(await barriers(page)), ...(await violations(page))]).toEqual([]);
      await page.getByLabel(choice, { exact: true }).check();
      await page.getByRole('button', { name: 'Let it in' }).click();
      await see(page, 'Go back to the program.');
    };
    try {
      const first = await client.do('list', async (url) => {
        await page.goto(url);
        await signIn(page);
        await see(page, 'Python client');
        await letIn('Reading only')();
      });
      expect(first.tools).toContain(reading);
      expect(first.tools).not.toContain(writing);

      await client.do('expire');
      const refreshed = await client.do('list');
      expect(refreshed.tools).toEqual(first.tools);
      expect(refreshed.access).not.toBe(first.access);

      await page.goto(programs());
      expect([...(await barriers(page)), ...(await violations(page))]).toEqual([]);
      await page.getByRole('button', { name: /^End Python client/ }).click();
      const again = await client.do('list', async (url) => {
        await page.goto(url);
        await letIn('Everything that you may do')();
      });
      expect(again.tools).toContain(writing);

      const destroying = await target(client);
      for (const mode of ['legacy', 'auto'] as const) {
        const declined = await client.call({ ...destroying, mode, ok: false });
        expect([mode, declined.asked?.length, declined.refused]).toEqual([mode, 1, true]);
        expect(declined.said).toContain('The person declined: nothing was done.');
      }
      const agreed = await client.call({ ...destroying, mode: 'legacy', ok: true });
      expect([agreed.asked?.length, agreed.refused]).toEqual([1, false]);
      expect(faults).toEqual([]);
    } finally {
      client.end();
      await context.close();
    }
  },
);
