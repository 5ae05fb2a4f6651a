/** `freehold new` as a builder uses it: the real program, the new project, and the project's own README. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Problem } from '@freehold/contracts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Caller } from '../support/http.ts';
import { installWithoutNetwork, packagesFolder } from '../support/packages.ts';
import { freePorts } from '../support/platform.ts';
import { signIn } from '../support/sign-in.ts';
import { type Ended, type Running, runProgram, startProgram } from './processes.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
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

/** Serves a project by its own script, with an issuer of its own. */
const serve = async (directory: string): Promise<Running & { origin: string }> => {
  const [port, issuerPort] = await freePorts(2);
  const running = await startProgram({
    line: ['npm', 'run', 'dev', '--', '--fresh', '--port', String(port), '--issuer-port', String(issuerPort)],
    cwd: directory,
    ready: / is at (http:\S+)$/m,
  });
  return Object.assign(running, { origin: running.said[1] as string });
};

const ANONYMOUS_REQUESTS = [
  ['GET', '/api'],
  ['GET', '/api/notes'],
  ['POST', '/api/notes'],
  ['PUT', '/api/notes'],
  ['GET', '/api/openapi.json'],
  ['GET', '/api/no/such/thing'],
] as const;

/** Requests of anonymous callers are refused with this sentence, and `/internal` is closed. */
async function expectClosed(
  origin: string,
  detail: string,
  requests: readonly (readonly [string, string])[],
): Promise<void> {
  using anonymous = new Caller();
  for (const [method, path] of requests) {
    const answer = await anonymous.ask(`${origin}${path}`, { method });
    expect([method, path, answer.status]).toEqual([method, path, 401]);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(answer.json<Problem>()).toMatchObject({
      code: 'unauthenticated',
      detail,
      loginUrl: expect.stringMatching(/^\/api\/auth\/login/),
    });
  }
  const internal = await anonymous.ask(`${origin}/internal/provision`, { json: {} });
  expect(internal.status).toBe(403);
}

async function expectRight(): Promise<void> {
  expect(await npm('run', '--silent', 'check', '--', '--checkers', '1')).toEqual({
    code: 0,
    stdout: '',
    stderr: '',
  });
  expect(await npm('test', '--', '--no-isolate')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/\d+ passed/),
  });
}

test('the answer names every file, and the next steps', () => {
  expect(made).toMatchObject({ code: 0, stderr: '' });
  const answer = JSON.parse(made.stdout);
  expect(answer).toMatchObject({
    name: 'paper-trail',
    title: "Bob's Paper Trail",
    directory: project,
    packages,
    next: ['cd paper-trail', 'npm install', 'npm run dev'],
  });
  const there = readdirSync(project, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.includes('node_modules'))
    .map((entry) => join(entry.parentPath, entry.name).slice(project.length + 1));
  expect(there.sort()).toEqual([...answer.files].sort());
});

// spec A-04
describe('a vertical as it was scaffolded', () => {
  test('has correct types and passes its own tests', expectRight);

  test('answers every address under /api with 401, which names the line to change', async () => {
    await using running = await serve(project);
    const line =
      read('src/app.ts')
        .split('\n')
        .findIndex((each) => each.includes(': unauthenticated()')) + 1;
    const place = `src/app.ts:${line}`;
    await expectClosed(
      running.origin,
      `Sign-in is not wired yet: in ${place}, replace unauthenticated() by signedIn().`,
      ANONYMOUS_REQUESTS,
    );
    using anonymous = new Caller();
    expect((await anonymous.ask(`${running.origin}/api/auth/login`)).status).toBe(401);
    const front = await anonymous.ask(running.origin);
    expect(front.text).toContain('Bob&#39;s Paper Trail');
    expect(front.text).toContain(place);
  });
});

// spec
describe('a vertical whose seam was wired as its 401 says', () => {
  let running: Awaited<ReturnType<typeof serve>>;
  let origin: string;

  beforeAll(async () => {
    writeFileSync(join(project, 'src/app.ts'), read('src/app.ts').replaceAll('unauthenticated', 'signedIn'));
    running = await serve(project);
    origin = running.origin;
  });
  afterAll(async () => {
    await running?.[Symbol.asyncDispose]();
  });

  test('still has correct types and passes its own tests', expectRight);

  test('is still closed to anonymous callers', () =>
    expectClosed(origin, 'Sign in first.', [
      ['GET', '/api/notes'],
      ['POST', '/api/notes'],
      ['GET', '/api/openapi.json'],
    ]));

  test('knows an owner and a member, and no other person', async () => {
    using owner = new Caller();
    await signIn(owner, origin, 'ada');
    const written = await owner.ask(`${origin}/api/notes`, { json: { text: 'Order copper pipe' } });
    expect(written.status).toBe(201);
    const notes = await owner.ask(`${origin}/api/notes`);
    expect(notes.json()).toMatchObject({ items: [{ text: 'Order copper pipe', completedAt: null }] });
    const { id } = written.json<{ id: string }>();
    expect((await owner.ask(`${origin}/api/notes/${id}/complete`, { json: {} })).status).toBe(200);
    expect((await owner.ask(`${origin}/api/no/such/thing`)).json()).toMatchObject({ code: 'not_found' });

    using member = new Caller();
    await signIn(member, origin, 'grace');
    expect((await member.ask(`${origin}/api/notes`)).status).toBe(200);
    const denied = await member.ask(`${origin}/api/notes`, { json: { text: 'Mine' } });
    expect(denied.json()).toMatchObject({ code: 'permission_denied' });

    using other = new Caller();
    await signIn(other, origin, 'linus');
    const refused = await other.ask(`${origin}/api/notes`);
    expect(refused.status).toBe(403);
    expect(refused.json()).toMatchObject({ code: 'forbidden', reason: 'not_a_member' });
  });

  // spec
  test('lets in a person who accepts an invite, until they are removed', async () => {
    using owner = new Caller();
    await signIn(owner, origin, 'ada');
    const post = (caller: Caller, path: string, json: unknown) => caller.ask(`${origin}${path}`, { json });
    const invited = await post(owner, '/api/invites', { role: 'member', email: 'margaret@example.test' });
    const token = new URL(invited.json<{ url: string }>().url).searchParams.get('invite');
    using guest = new Caller();
    await signIn(guest, origin, 'margaret');
    const accepted = await post(guest, '/api/accept-invite', { token });
    expect((await guest.ask(`${origin}/api/notes`)).status).toBe(200);
    const { principal } = accepted.json<{ principal: string }>();
    expect((await post(guest, `/api/members/${principal}/remove`, {})).status).toBe(403);
    expect((await post(owner, `/api/members/${principal}/remove`, {})).status).toBe(200);
    expect((await guest.ask(`${origin}/api/notes`)).status).toBe(403);
  });

  test('refuses a person who has signed out', async () => {
    using owner = new Caller();
    await signIn(owner, origin, 'ada');
    await owner.navigate(`${origin}/api/auth/logout`);
    expect((await owner.ask(`${origin}/api/notes`)).status).toBe(401);
  });
});

test('a project with a page of its own builds it, and serves it', async () => {
  const ended = await freehold('new', 'noticeboard', '--template', 'react', '--packages', packages);
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  const directory = join(home, 'noticeboard');
  installWithoutNetwork(directory, packages);
  const built = await runProgram({ line: ['npm', 'run', 'build'], cwd: directory });
  expect(built.code, built.stderr).toBe(0);
  await using running = await serve(directory);
  using anonymous = new Caller();
  const page = await anonymous.ask(running.origin, { headers: { accept: 'text/html' } });
  expect(page.text).toContain('<title>Noticeboard</title>');
  const [, script = ''] = /src="(\/assets\/[^"]+\.js)"/.exec(page.text) ?? [];
  expect((await anonymous.ask(`${running.origin}${script}`)).headers.get('content-type')).toContain(
    'javascript',
  );
});

test('the program has help and a version', async () => {
  const { version } = JSON.parse(readFileSync(join(root, 'packages/cli/package.json'), 'utf8'));
  expect(await freehold('--version')).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
  expect(await freehold('help', 'new')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('EXAMPLES\n  freehold new'),
  });
});
