/** `freehold new` as a builder uses it: the real program, the new project, and the project's own README. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Problem } from '@freehold/contracts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Caller } from '../support/http.ts';
import { installWithoutNetwork, packagesFolder } from '../support/packages.ts';
import { newPlace } from '../support/platform.ts';
import { signIn } from '../support/sign-in.ts';
import { type Ended, type Running, runProgram, startProgram } from './processes.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
/** The addresses in the project's README. */
const ORIGIN_IN_PAPERS = 'http://localhost:8790';
const ISSUER_IN_PAPERS = 'http://localhost:8788';

let home: string;
let project: string;
let packages: string;
let made: Ended;
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'freehold-new-'));
  project = join(home, 'paper-trail');
  packages = packagesFolder(home);
  made = await freehold(
    'new',
    'paper-trail',
    '--title',
    "Bob's Paper Trail",
    '--packages',
    packages,
    '--json',
  );
  installWithoutNetwork(project, packages);
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

const freehold = (...inputs: string[]): Promise<Ended> =>
  runProgram({ line: [process.execPath, join(root, 'packages/cli/src/main.ts'), ...inputs], cwd: home });
const npm = (...words: string[]): Promise<Ended> => runProgram({ line: ['npm', ...words], cwd: project });
const read = (path: string): string => readFileSync(join(project, path), 'utf8');

/** Starts the project's own server, by its own script. */
const startProject = async (env: Readonly<Record<string, string>>): Promise<Running & { origin: string }> => {
  const running = await startProgram({
    line: ['npm', 'start'],
    cwd: project,
    env,
    ready: /^ready: .* at (http:\S+)$/m,
  });
  return Object.assign(running, { origin: running.said[1] as string });
};

const STRANGE_REQUESTS = [
  ['GET', '/api'],
  ['GET', '/api/notes'],
  ['POST', '/api/notes'],
  ['PUT', '/api/notes'],
  ['GET', '/api/openapi.json'],
  ['GET', '/api/no/such/thing'],
] as const;

async function expectDoorClosed(origin: string): Promise<void> {
  using anonymous = new Caller();
  for (const [method, path] of STRANGE_REQUESTS) {
    const answer = await anonymous.ask(`${origin}${path}`, { method });
    expect([method, path, answer.status]).toEqual([method, path, 401]);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(answer.json<Problem>()).toMatchObject({
      code: 'unauthenticated',
      loginUrl: expect.stringMatching(/^\/api\/auth\/login/),
    });
  }
  const internal = await anonymous.ask(`${origin}/internal/provision`, { json: {} });
  expect(internal.status).toBe(403);
}

test('the answer names every file, and the next steps', () => {
  expect(made).toMatchObject({ code: 0, stderr: '' });
  const answer = JSON.parse(made.stdout);
  expect(answer).toMatchObject({
    name: 'paper-trail',
    title: "Bob's Paper Trail",
    directory: project,
    packages,
    next: ['cd paper-trail', 'npm install', 'npm test', 'npm start'],
  });
  const there = readdirSync(project, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.includes('node_modules'))
    .map((entry) => join(entry.parentPath, entry.name).slice(project.length + 1));
  expect(there.sort()).toEqual([...answer.files].sort());
});

// spec A-04
describe('a vertical as it was scaffolded', () => {
  test('has correct types and passes its own tests', async () => {
    expect(await npm('run', '--silent', 'check', '--', '--checkers', '1')).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    });
    expect(await npm('test', '--', '--no-isolate')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/\d+ passed/),
    });
  });

  test('answers every address under /api with 401, and keeps /internal closed', async () => {
    await using running = await startProject({ PORT: '0' });
    await expectDoorClosed(running.origin);
    using anonymous = new Caller();
    expect((await anonymous.ask(`${running.origin}/api/auth/login`)).status).toBe(401);
    expect((await anonymous.ask(running.origin)).text).toContain("Bob's Paper Trail");
  });

  test('does so with an issuer configured too: only the code lets people in', async () => {
    await using running = await startProject({
      PORT: '0',
      DATA_DIRECTORY: '.data-unwired',
      OIDC_ISSUER: ISSUER_IN_PAPERS,
      OIDC_CLIENT_ID: 'any',
    });
    await expectDoorClosed(running.origin);
  });

  test('says in one sentence why it cannot start', async () => {
    for (const [env, sentence] of [
      [{ PORT: 'eighty' }, /^PORT must be/],
      [{ OIDC_ISSUER: ISSUER_IN_PAPERS }, /^OIDC_CLIENT_ID is missing/],
      [{ PORT: '0', DATA_DIRECTORY: 'package.json' }, /data directory/],
    ] as const) {
      const ended = await runProgram({ line: ['node', 'src/main.ts'], cwd: project, env });
      expect(ended).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(sentence) });
      expect(ended.stderr.trim().split('\n')).toHaveLength(1);
    }
  });
});

// spec
describe('a vertical whose seam was wired as its own comment says', () => {
  let place: Awaited<ReturnType<typeof newPlace>>;
  let issuer: Running;
  let running: Awaited<ReturnType<typeof startProject>>;
  let origin: string;

  beforeAll(async () => {
    const seam = 'src/authenticated-principal.ts';
    writeFileSync(join(project, seam), wired(read(seam)));
    place = await newPlace();
    origin = `http://localhost:${place.port}`;
    const settings = (line: RegExp) =>
      settingsIn(read('README.md'), line, {
        [ORIGIN_IN_PAPERS]: origin,
        [ISSUER_IN_PAPERS]: `http://localhost:${place.issuerPort}`,
      });
    issuer = await startProgram({
      line: ['node', 'apps/issuer/src/main.ts'],
      cwd: root,
      env: {
        ISSUER_PORT: String(place.issuerPort),
        ...settings(/^(.*) npx --no-install node apps\/issuer\/src\/main.ts$/m),
      },
      ready: /issuer at/,
    });
    running = await startProject({
      PORT: String(place.port),
      ...settings(/^(.*OIDC_ISSUER=.*) npm start$/m),
    });
  });
  afterAll(async () => {
    await running?.[Symbol.asyncDispose]();
    await issuer?.[Symbol.asyncDispose]();
    place?.remove();
  });

  test('still has correct types and passes its own tests', async () => {
    expect(await npm('run', '--silent', 'check', '--', '--checkers', '1')).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    });
    expect(await npm('test', '--', '--no-isolate')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/\d+ passed/),
    });
  });

  test('is still closed to anonymous callers', () => expectDoorClosed(origin));

  test('lets in the first person who signs in, as the owner, and no other person', async () => {
    using owner = new Caller();
    await signIn(owner, origin, 'ada');
    const written = await owner.ask(`${origin}/api/notes`, { json: { text: 'Order copper pipe' } });
    expect(written.status).toBe(200);
    const notes = await owner.ask(`${origin}/api/notes`);
    expect(notes.status).toBe(200);
    expect(notes.json()).toMatchObject({ items: [{ text: 'Order copper pipe', completedAt: null }] });
    const { id } = written.json<{ id: string }>();
    expect((await owner.ask(`${origin}/api/notes/${id}/complete`, { json: {} })).status).toBe(200);
    expect((await owner.ask(`${origin}/api/no/such/thing`)).json()).toMatchObject({ code: 'not_found' });

    using other = new Caller();
    await signIn(other, origin, 'grace');
    const refused = await other.ask(`${origin}/api/notes`);
    expect(refused.status).toBe(403);
    expect(refused.json()).toMatchObject({ code: 'forbidden', reason: 'not_a_member' });
  });

  test('refuses a person who has signed out', async () => {
    using owner = new Caller();
    await signIn(owner, origin, 'ada');
    await owner.navigate(`${origin}/api/auth/logout`);
    expect((await owner.ask(`${origin}/api/notes`)).status).toBe(401);
  });
});

describe('a project that cannot be made is refused in one sentence, and nothing is left behind', () => {
  test.each([
    [2, ['new'], /^<name> is missing\.$/],
    [2, ['new', 'Paper'], /^<name> cannot be used: it must be lower-case letters/],
    [2, ['new', '../paper'], /^<name> cannot be used/],
    [2, ['new', 'p'.repeat(64)], /^<name> cannot be used: it must have at most 63 characters\.$/],
    [2, ['new', 'hono'], /^<name> cannot be used: the project itself depends on the package hono\.$/],
    [2, ['new', 'paper', '--title', 'two\nlines'], /^--title cannot be used: it must be one line of text\.$/],
    [2, ['new', 'paper', '--packages', '.'], /^--packages cannot be used: .* has no packages of Freehold\.$/],
    [5, ['new', 'paper-trail'], /^There is something at .*paper-trail already/],
    [
      1,
      ['new', 'paper', '--directory', 'paper-trail/package.json/x'],
      / cannot be written: not a directory \(ENOTDIR\)\.$/,
    ],
  ] as const)('exit code %i: %j', async (code, inputs, sentence) => {
    const before = readdirSync(home);
    const ended = await freehold(...inputs);
    expect(ended).toMatchObject({ code, stdout: '' });
    expect(ended.stderr.trim()).toMatch(sentence);
    expect(readdirSync(home)).toEqual(before);
  });

  test('as JSON, the same sentence is the detail', async () => {
    const ended = await freehold('new', 'Paper', '--json');
    expect([ended.code, ended.stdout]).toEqual([2, '']);
    expect(JSON.parse(ended.stderr)).toMatchObject({
      detail: expect.stringMatching(/^<name> cannot be used/),
    });
  });
});

test('without a folder of packages the answer says that the packages are not published yet', async () => {
  const ended = await freehold('new', 'plain', '--directory', 'some/where');
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  expect(ended.stdout).toMatch(/^Made Plain in some\/where \(\d+ files\)\.\n/);
  expect(ended.stdout).toContain('  cd some/where\n  npm install\n');
  expect(ended.stdout).toContain('not published yet');
  const { dependencies } = JSON.parse(readFileSync(join(home, 'some/where/package.json'), 'utf8'));
  expect(dependencies['@freehold/kernel']).toBe('0.1.0');
});

test('the program has help and a version', async () => {
  const { version } = JSON.parse(readFileSync(join(root, 'packages/cli/package.json'), 'utf8'));
  expect(await freehold('--version')).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
  expect(await freehold('help', 'new')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('EXAMPLES\n  freehold new'),
  });
});

/**
 * Does what the comment in the file says: everything above the dashed line goes, everything below it is uncommented.
 */
function wired(seam: string): string {
  const [above, below, ...more] = seam.split(/^\/\/ -{20,}$/m);
  expect(above).toContain('delete everything above the dashed line and uncomment everything below it');
  expect(more).toEqual([]);
  return (below ?? '').trimStart().replaceAll(/^\/\/ ?/gm, '');
}

/** Returns the settings in front of a command in a text, with other addresses. */
function settingsIn(
  text: string,
  line: RegExp,
  addresses: Readonly<Record<string, string>>,
): Record<string, string> {
  const found = line.exec(text)?.[1]?.trim();
  if (found === undefined) throw new Error(`no line like ${line}`);
  return Object.fromEntries(
    found.split(' ').map((setting) => {
      const [name = '', value = ''] = setting.split('=');
      return [name, addresses[value] ?? value];
    }),
  );
}
