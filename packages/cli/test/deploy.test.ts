/** `freehold verticals deploy` against the real control plane: the files, the uploaded version and the output. */
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PlatformError } from '@freehold/contracts';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openRealPlatform } from '../../control-plane/test/support/real-platform.ts';
import { makeMemoryRuntime } from '../../directory/test/memory-runtime.ts';
import { manifestOf } from '../../directory/test/registry.ts';
import { commands } from '../src/commands.ts';
import { Interrupted } from '../src/lib/world.ts';
import { runLine, scratchDirectory } from './world.ts';

const URL_OF = 'https://control.example';
const TYPE = 'application/javascript+module';

async function open({ runs = true } = {}) {
  const runtime = makeMemoryRuntime();
  const platform = await openRealPlatform(runs ? { runtime } : {});
  onTestFinished(() => platform[Symbol.asyncDispose]());
  const cwd = scratchDirectory();
  const env = { FREEHOLD_URL: URL_OF, FREEHOLD_TOKEN: platform.secret };
  const sent: Request[] = [];
  const fetch = async (request: Request) => {
    sent.push(request);
    return platform.send(request);
  };
  const run = (line: string[], more: Parameters<typeof runLine>[2] = {}) =>
    runLine(commands, line, { cwd, configDirectory: cwd, env, fetch, ...more });
  await run(['verticals', 'create', '--slug', 'app', '--name', 'App']);
  sent.length = 0;
  const put = (path: string, text: string | Uint8Array = 'export default 1') => {
    mkdirSync(dirname(join(cwd, path)), { recursive: true });
    writeFileSync(join(cwd, path), text);
  };
  const putManifest = (path: string, parts: object = {}) =>
    put(path, JSON.stringify(manifestOf('app', '1.0.0', parts)));
  return {
    runtime,
    cwd,
    sent,
    put,
    putManifest,
    run,
    deploy: (words: string[], more: Parameters<typeof runLine>[2] = {}) =>
      run(['verticals', 'deploy', 'app', ...words], more),
    uploaded: () => runtime.uploaded.get('app--1.0.0')?.map(({ name, mediaType }) => [name, mediaType]),
  };
}

describe('C-33, C-13: freehold verticals deploy', () => {
  test('deploys a folder: every file in it but the manifest and hidden files', async () => {
    const { deploy, put, putManifest, uploaded, runtime } = await open();
    putManifest('dist/manifest.json');
    put('dist/main.js');
    put('dist/lib/deep/a.wasm', new Uint8Array([0, 97, 115, 109]));
    put('dist/.DS_Store');
    put('dist/.git/HEAD');
    const ended = await deploy(['dist', '--admit', '--promote']);
    expect(ended).toMatchObject({ status: 0, stderr: '' });
    expect(ended.stdout).toMatch(/^app 1\.0\.0 is deployed, and it serves\.\n\n/);
    expect(ended.stdout).toMatch(/^ {2}status +admitted$/m);
    expect(uploaded()).toEqual([
      ['lib/deep/a.wasm', 'application/wasm'],
      ['main.js', TYPE],
    ]);
    expect(runtime.serving.get('app')).toBe('app--1.0.0');
  });

  test('deploys a manifest and files, named by their path from it or by a given name', async () => {
    const { deploy, put, putManifest, uploaded, sent } = await open();
    putManifest('app/manifest.json');
    put('app/lib/util.mjs');
    put('build/out.js');
    const words = ['--manifest', 'app/manifest.json', '--module', 'app/lib/util.mjs'];
    const ended = await deploy([...words, '--module', 'main.js=build/out.js']);
    expect(ended.stdout).toMatch(
      /^app 1\.0\.0 is deployed, and pending\. Admit it with freehold \S+ admit app ver_/,
    );
    expect(uploaded()).toEqual([
      ['lib/util.mjs', TYPE],
      ['main.js', TYPE],
    ]);
    expect(sent[0]?.headers.get('content-type')).toMatch(/^multipart\/form-data; boundary=/);
    const stray = await deploy(['--manifest', 'app/manifest.json', '--module', 'build/out.js']);
    expect(stray).toMatchObject({ status: 2 });
    expect(stray.stderr).toContain('give it a name, as in main.js=build/out.js');
  });

  test('prints only the result with --json, and shows steps on a terminal', async () => {
    const { deploy, put, putManifest } = await open();
    putManifest('dist/manifest.json');
    put('dist/main.js');
    const quiet = await deploy(['dist', '--admit', '--json'], { watched: true } as never);
    expect(quiet).toMatchObject({ status: 0, stderr: '' });
    expect(quiet.stdout).toMatch(/^\{.*\}\n$/);
    expect(JSON.parse(quiet.stdout)).toMatchObject({ version: { status: 'admitted' }, promoted: false });
    putManifest('dist/manifest.json', { version: '1.1.0' });
    const watched = await deploy(['dist', '--admit', '--promote'], { watched: true } as never);
    const shown = watched.stderr.split('\r\u001b[2K');
    expect(shown).toContain('1.1.0 registered …');
    expect(watched.stderr).toContain(
      '1.1.0 uploading [########################] 16 bytes of 16 bytes, 1 of 1 modules',
    );
    expect(shown.slice(-2)).toEqual(['1.1.0 serving …', '']);
  });

  test('takes migrations, hosts and an idempotency key, and says when it was done before', async () => {
    const { deploy, put, putManifest, run } = await open();
    putManifest('dist/manifest.json');
    put('dist/main.js');
    put('steps.json', JSON.stringify([{ set: 'app', version: 1, name: 'first', digest: 'a'.repeat(64) }]));
    const words = [
      'dist',
      '--migrations',
      '@steps.json',
      '--egress',
      'api.example.com',
      '--idempotency-key',
      'k',
    ];
    const { stdout } = await deploy([...words, '--json']);
    const { version } = JSON.parse(stdout) as { version: { id: string } };
    const detail = await run(['vertical-versions', 'get', 'app', version.id, '--json']);
    expect(JSON.parse(detail.stdout)).toMatchObject({
      migrations: [{ name: 'first' }],
      egress: ['api.example.com'],
    });
    expect((await deploy(words)).stdout).toContain('the stored answer of an earlier call');
  });

  test('Ctrl-C ends the waiting, and the message says where to look', async () => {
    const { deploy, put, putManifest, runtime } = await open();
    putManifest('dist/manifest.json');
    put('dist/main.js');
    const gate = Promise.withResolvers<void>();
    const stop = new AbortController();
    runtime.before = async () => {
      // Aborts after the first steps.
      setImmediate(() => stop.abort(new Interrupted()));
      await gate.promise;
    };
    const ended = await deploy(['dist'], { interrupted: stop.signal });
    expect(ended.status).toBe(130);
    expect(ended.stderr).toMatch(
      /^The deployment goes on\. .* freehold vertical-versions get app ver_\w{26}\.\n/,
    );
    gate.resolve();
    await expect.poll(() => runtime.uploaded.has('app--1.0.0')).toBe(true);
  });

  test('fails with the exit code of its problem, before it begins and in the middle', async () => {
    const { deploy, put, putManifest, runtime } = await open();
    putManifest('dist/manifest.json');
    put('dist/main.js');
    expect(await deploy(['dist', '--promote'])).toMatchObject({ status: 5 });
    runtime.before = () => Promise.reject(new PlatformError('validation_failed', 'It does not compile.'));
    expect(await deploy(['dist'])).toMatchObject({ status: 2, stdout: '', stderr: 'It does not compile.\n' });
    const asJson = await deploy(['dist', '--json']);
    expect(JSON.parse(asJson.stderr)).toMatchObject({
      code: 'validation_failed',
      requestId: expect.any(String),
    });
    const bare = await open({ runs: false });
    bare.putManifest('dist/manifest.json');
    bare.put('dist/main.js');
    const ended = await bare.deploy(['dist', '--json']);
    expect(ended.status).toBe(1);
    expect(JSON.parse(ended.stderr)).toMatchObject({ reason: 'no_runtime' });
  });
});

describe('is refused in one sentence before anything is sent', () => {
  type Fixture = Awaited<ReturnType<typeof open>>;
  const good = ({ put, putManifest }: Fixture) => {
    putManifest('dist/manifest.json');
    put('dist/main.js');
  };

  test.each<[string, string[], (fixture: Fixture) => void, number, RegExp]>([
    ['neither folder nor manifest', [], good, 2, /^--manifest is missing: name a folder/],
    [
      'no manifest in the folder',
      ['dist'],
      ({ put }) => put('dist/main.js'),
      2,
      /^There is no manifest\.json in dist/,
    ],
    [
      'no folder',
      ['dist'],
      () => undefined,
      1,
      /dist cannot be read: no such file or directory \(ENOENT\)\.$/m,
    ],
    [
      'a manifest that is no JSON',
      ['dist'],
      ({ put }) => put('dist/manifest.json', '{'),
      2,
      /no module|is no JSON/,
    ],
    ['no module', ['dist'], ({ putManifest }) => putManifest('dist/manifest.json'), 2, /^There is no module/],
    [
      'a manifest that is none',
      ['dist'],
      ({ put }) => {
        put('dist/main.js');
        put('dist/manifest.json', '{"slug":"app"}');
      },
      2,
      /^--manifest\.name is missing\.$/m,
    ],
    [
      'a module that is not there',
      ['dist', '--module', 'dist/gone.js'],
      good,
      1,
      /gone\.js cannot be read: no such file or directory \(ENOENT\)/,
    ],
    [
      'a name that no module can have',
      ['dist'],
      (fixture) => {
        good(fixture);
        fixture.put('dist/my file.js');
      },
      2,
      /my file\.js cannot be a module: its name may have/,
    ],
    [
      'two files of one name',
      ['dist', '--module', 'main.js=dist/main.js'],
      good,
      2,
      /^Two files are to be the module main\.js/,
    ],
    [
      'a link to a folder',
      ['dist'],
      (fixture) => {
        good(fixture);
        symlinkSync('..', join(fixture.cwd, 'dist', 'up'));
      },
      2,
      /up is a link to a folder/,
    ],
    [
      'more bytes than a deployment takes',
      ['dist'],
      (fixture) => {
        good(fixture);
        fixture.put('dist/big.bin', '');
        // A sparse file: it has that size, and no bytes on the disk.
        truncateSync(join(fixture.cwd, 'dist', 'big.bin'), 5 * 1024 ** 3);
      },
      2,
      /^The files have 5\.0 GiB together, and one deployment takes 16\.0 MiB at most\.$/m,
    ],
    [
      'more files than a deployment takes',
      ['dist'],
      (fixture) => {
        good(fixture);
        for (let i = 0; i < 500; i++) fixture.put(`dist/m${i}.js`, '');
      },
      2,
      /^One deployment takes 500 files at most\.$/m,
    ],
  ])('%s', async (_, words, prepare, status, sentence) => {
    const fixture = await open();
    prepare(fixture);
    const ended = await fixture.deploy(words);
    expect(ended).toMatchObject({ status, stdout: '' });
    expect(ended.stderr).toMatch(sentence);
    expect(ended.stderr).toMatch(/^[^\n]+\n$/);
    expect(fixture.sent).toEqual([]);
  });
});
