/**
 * The code of docs/identity/sign-in.md is right: it has correct types and our form, and the programs that it makes
 * start and behave as the document says, with people who sign in at the development issuer.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Issuer, startIssuer } from '@freehold/issuer';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { planProject } from '../../packages/dev/src/new/plan-project.ts';
import { type Running, startProgram } from '../scaffold/processes.ts';
import { applyDiff, assemble, beforeChanges, readBlocks, writeFiles } from '../support/docs-examples.ts';
import { Caller } from '../support/http.ts';
import { newPlace, type PlatformPlace } from '../support/platform.ts';
import { obtainAccessToken } from '../support/program.ts';
import { signIn } from '../support/sign-in.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const blocks = readBlocks(read('docs/identity/sign-in.md'));
const PLATFORM_SECRET = 'the platform secret of the examples';
/** Several programs are started one after the other, on a machine that is busy with other tests. */
const PATIENCE_MS = 120_000;

let home: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'freehold-docs-'));
  const project = { name: 'acme-notes', title: 'Acme Notes', template: 'empty' as const, tarballs: null };
  const template = new Map([...planProject(project)].map(([path, text]) => [`acme-notes/${path}`, text]));
  writeFiles(join(home, 'first'), assemble(beforeChanges(blocks), template));
  writeFiles(join(home, 'whole'), assemble(blocks, template));
  // Does the work of `npm install` without a network.
  symlinkSync(join(root, 'node_modules'), join(home, 'node_modules'));
  writeFileSync(join(home, 'package.json'), JSON.stringify({ type: 'module', private: true }));
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

const run = (tool: string, ...args: string[]) => {
  const { status, stdout, stderr } = spawnSync(join(root, 'node_modules/.bin', tool), args, {
    cwd: home,
    encoding: 'utf8',
  });
  return { status, said: stdout + stderr };
};

describe('every block of code', () => {
  test('names its file, so that none is left out here', () => {
    const code = blocks.filter(({ language }) => !['sh'].includes(language));
    expect(code.map(({ language }) => language).filter((each) => each !== 'ts' && each !== 'diff')).toEqual(
      [],
    );
    expect(code.filter(({ attributes }) => !attributes.has('file')).map(({ line }) => line)).toEqual([]);
    expect(code.length).toBeGreaterThan(9);
  });

  test('has correct types, after the first steps and after the last', { timeout: PATIENCE_MS }, () => {
    const config = {
      extends: join(root, 'tsconfig.json'),
      include: ['first', 'whole'],
      compilerOptions: { typeRoots: [join(root, 'node_modules/@types')] },
    };
    writeFileSync(join(home, 'tsconfig.json'), JSON.stringify(config));
    expect(run('tsc', '--checkers', '1', '-p', 'tsconfig.json')).toEqual({ status: 0, said: '' });
  });

  test('has the form of our own code', { timeout: PATIENCE_MS }, () => {
    const { formatter, javascript, assist, linter } = JSON.parse(read('biome.json'));
    // A server in a document prints that it is ready, and has no package.json of its own.
    linter.rules.suspicious.noConsole = 'off';
    linter.rules.correctness.noUndeclaredDependencies = 'off';
    // The entry of an application is its default export.
    linter.rules.style.noDefaultExport = 'off';
    writeFileSync(join(home, 'biome.json'), JSON.stringify({ formatter, javascript, assist, linter }));
    expect(run('biome', 'check', '--error-on-warnings', 'first', 'whole')).toMatchObject({ status: 0 });
  });
});

describe('a change that does not fit is refused', () => {
  const text = 'one\ntwo\ntwo\nthree\n';

  test('a change that fits is made', () => {
    expect(applyDiff(text, ' one\n+and\n@@\n-three\n', 'here')).toBe('one\nand\ntwo\ntwo\n');
  });

  test.each([
    ['a line that is not there', ' four\n+five\n'],
    ['a line that is there twice', '-two\n'],
    ['a line that is none of a change', 'one\n'],
    ['nothing to find', '+five\n'],
  ])('%s', (_, diff) => {
    expect(() => applyDiff(text, diff, 'here')).toThrow(/^here: /);
  });

  test('a change of a missing file', () => {
    expect(() => applyDiff(undefined, '+five\n', 'here')).toThrow('there is no such file');
  });
});

describe('the programs of the document', () => {
  const CLIENT = { clientId: 'freehold-dev', clientSecret: 'freehold-dev-secret' };
  let issuer: Issuer;
  let place: PlatformPlace;
  let origin: string;

  beforeAll(async () => {
    place = await newPlace();
    origin = `http://localhost:${place.port}`;
    issuer = await startIssuer({ port: place.issuerPort });
    await issuer.putClient({
      ...CLIENT,
      redirectUris: [`${origin}/api/auth/callback`],
      postLogoutRedirectUris: [`${origin}/`],
      backchannelLogoutUri: `${origin}/api/auth/backchannel-logout`,
    });
    await issuer.putClient({
      clientId: 'program',
      redirectUris: ['http://127.0.0.1/callback'],
      postLogoutRedirectUris: [],
    });
  }, PATIENCE_MS);
  afterAll(async () => {
    await issuer?.close();
    place?.remove();
  });

  const hosted = () => ({
    OIDC_ISSUER: issuer.url,
    OIDC_CLIENT_ID: CLIENT.clientId,
    OIDC_CLIENT_SECRET: CLIENT.clientSecret,
  });
  /** Each start makes a new instance. */
  let starts = 0;
  const start = (
    project: string,
    program: string,
    env: Readonly<Record<string, string>>,
  ): Promise<Running> => {
    starts += 1;
    return startProgram({
      line: [process.execPath, program],
      cwd: join(home, project),
      env: {
        PORT: String(place.port),
        DATA_DIRECTORY: join(place.dataDirectory, String(starts)),
        PLATFORM_SECRET,
        ...env,
      },
      ready: /^ready\b.* (http:\S+)$/m,
    });
  };
  const statusOf = async (caller: Caller, path: string) => (await caller.ask(`${origin}${path}`)).status;

  // spec
  test.each(['first', 'whole'])(
    'a Hono application (%s) whose first visitor is the owner, and the second no member',
    { timeout: PATIENCE_MS },
    async (state) => {
      await using _running = await start(`${state}/hono-app`, 'server.ts', hosted());
      using ada = new Caller();
      expect(await statusOf(ada, '/api/me')).toBe(401);
      await signIn(ada, origin, 'ada');
      expect((await ada.ask(`${origin}/api/me`)).json()).toEqual({
        principal: expect.stringMatching(/^prn_/),
      });
      using grace = new Caller();
      await signIn(grace, origin, 'grace');
      expect(await statusOf(grace, '/api/me')).toBe(403);
      await ada.navigate(`${origin}/api/auth/logout`);
      expect(await statusOf(ada, '/api/me')).toBe(401);
    },
  );

  // spec
  test('the same without a usable issuer: no one signs in, and the text says why', {
    timeout: PATIENCE_MS,
  }, async () => {
    await using _running = await start('first/hono-app', 'server.ts', { AUTH_PROVIDER: 'oidc' });
    using caller = new Caller();
    const answer = await caller.ask(`${origin}/api/auth/login`);
    expect([answer.status, answer.text]).toEqual([500, 'AUTH_PROVIDER is oidc, and OIDC_ISSUER is not set.']);
  });

  // spec
  test('the same with access tokens: the challenge leads to the issuer, and a token gets in', {
    timeout: PATIENCE_MS,
  }, async () => {
    await using _running = await start('whole/hono-app', 'server.ts', {
      AUTH_PROVIDER: 'oidc',
      OIDC_ISSUER: issuer.url,
    });
    using program = new Caller();
    const refused = await program.ask(`${origin}/api/me`);
    const metadata = `${origin}/.well-known/oauth-protected-resource`;
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
      401,
      `Bearer resource_metadata="${metadata}"`,
    ]);
    const { authorization_servers: servers } = (await program.ask(metadata)).json<{
      authorization_servers: string[];
    }>();
    expect(servers).toEqual([issuer.url]);
    const token = await obtainAccessToken(program, {
      issuer: issuer.url,
      clientId: 'program',
      resource: origin,
      login: 'ada',
    });
    const call = (value: string) =>
      program.ask(`${origin}/api/me`, { headers: { authorization: `Bearer ${value}` } });
    expect((await call(token)).status).toBe(200);
    expect((await call(`${token}x`)).headers.get('www-authenticate')).toContain('error="invalid_token"');
    expect(await statusOf(program, '/api/auth/login')).toBe(501);
  });

  // spec A-18
  test('the same with accounts of its own: sign up, read the mail, choose a password, be the owner', {
    timeout: PATIENCE_MS,
  }, async () => {
    await using _running = await start('whole/hono-app', 'server.ts', {});
    using ada = new Caller();
    const post = (path: string, form: Record<string, string>) =>
      ada.ask(`${origin}/api/auth/${path}`, { form, headers: { origin, accept: 'text/html' } });
    expect((await post('sign-up', { email: 'ada@example.test', name: 'Ada' })).status).toBe(200);
    const outbox = await ada.ask(`${origin}/outbox`, { headers: { accept: 'application/json' } });
    const [mail] = outbox.json<{ items: { text: string }[] }>().items;
    const token = /[?&]token=([\w-]+)/.exec(mail?.text ?? '')?.[1] ?? '';
    const done = await post('sign-up/finish', { token, name: 'Ada', password: 'seven green bottles' });
    expect([done.status, done.headers.get('location')]).toEqual([303, '/']);
    expect(await statusOf(ada, '/api/me')).toBe(200);
  });
});
