/** Commands against the real control plane: input, effect and output. */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { PlatformError } from '@freehold/contracts';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openRealPlatform } from '../../control-plane/test/support/real-platform.ts';
import { migrationsText, writeShelfCopy } from '../../dev/test/shelf-copy.ts';
import { makeSmallApp } from '../../dev/test/small-app.ts';
import { makeMemoryBackups } from '../../directory/test/memory-backups.ts';
import { commands } from '../src/commands.ts';
import { Interrupted } from '../src/lib/world.ts';
import { runLine, scratchDirectory } from './world.ts';

const URL_OF = 'https://control.example';

async function open(
  over: { readonly copy?: () => ReadableStream<Uint8Array>; readonly isAsAsked?: boolean } = {},
) {
  const backups = makeMemoryBackups();
  const platform = await openRealPlatform({
    backups,
    vertical: {
      exportScopeLocal: async ({ format }) => ({
        format: over.isAsAsked ? (format ?? 'sqlite') : 'sqlite',
        bookmark: 'bm_1',
        body: (over.copy ?? textCopy)(),
      }),
    },
  });
  onTestFinished(() => platform[Symbol.asyncDispose]());
  const cwd = scratchDirectory();
  const env = { FREEHOLD_URL: URL_OF, FREEHOLD_TOKEN: platform.secret };
  const sent: Request[] = [];
  const fetch = async (request: Request) => {
    sent.push(request.clone());
    return platform.send(request);
  };
  const run = (line: string[], more: Parameters<typeof runLine>[2] = {}) =>
    runLine(commands, line, { cwd, configDirectory: cwd, env, fetch, ...more });
  const json = async <T>(...line: string[]): Promise<T> => {
    const { status, stdout, stderr } = await run([...line, '--json']);
    if (status !== 0) throw new Error(stderr);
    return JSON.parse(stdout) as T;
  };
  const scope = async () => {
    const tenant = await json<{ id: string }>('tenants', 'create', '--slug', 'acme', '--name', 'Acme');
    const words = ['--slug', 'main', '--name', 'Main', '--vertical', 'fieldwork'];
    const made = await json<{ id: string }>('scopes', 'provision', tenant.id, ...words);
    return [tenant.id, made.id] as const;
  };
  return { platform, backups, cwd, env, sent, run, json, scope };
}

/** Text that begins as a database does; the backups of these tests keep text. */
const textCopy = () => new Response('SQLite format 3, or nearly').body as ReadableStream<Uint8Array>;

/** A database file, as an engine returns one. */
function copyOf(): ReadableStream<Uint8Array> {
  const file = join(scratchDirectory(), 'copy.sqlite');
  const database = new DatabaseSync(file);
  database.exec("CREATE TABLE jobs (id TEXT, title TEXT); INSERT INTO jobs VALUES ('job-1', '<b>Roof</b>')");
  database.close();
  return new Response(readFileSync(file)).body as ReadableStream<Uint8Array>;
}

describe('spec C-33: a command', () => {
  test('makes, shows and lists, for people', async () => {
    const { run } = await open();
    expect(await run(['tenants', 'list'])).toMatchObject({ status: 0, stdout: 'There are none.\n' });
    const made = await run(['tenants', 'create', '--slug', 'acme', '--name', 'Acme Roofing']);
    expect(made).toMatchObject({ status: 0, stderr: '' });
    expect(made.stdout).toMatch(/^id +tnt_.*$/m);
    expect(made.stdout).toMatch(/^etag +\S+$/m);
    expect((await run(['tenants', 'list'])).stdout).toMatch(/^ID .*\ntnt_\w{26} .*Acme Roofing/);
  });

  test('answers with --json exactly what the API does, in one line', async () => {
    const { run, platform } = await open();
    await run(['tenants', 'create', '--slug', 'acme', '--name', 'Acme']);
    const { stdout } = await run(['tenants', 'list', '--limit', '5', '--json']);
    const headers = { authorization: `Bearer ${platform.secret}` };
    const answer = await platform.send(new Request(`${URL_OF}/tenants?limit=5`, { headers }));
    expect(stdout).toBe(`${JSON.stringify(await answer.json())}\n`);
  });

  test('prints a broken log, and ends with 1 and a sentence for the nightly job', async () => {
    const { run, platform } = await open();
    const line = ['admin-log', 'verify', '--json'];
    expect(await run(line)).toMatchObject({ status: 0, stderr: '' });
    const fetch = async (request: Request) => {
      const said = (await (await platform.send(request)).json()) as object;
      return Response.json({ ...said, status: 'broken', firstBad: { sequence: 7, reason: 'hash_mismatch' } });
    };
    const { status, stdout, stderr } = await run(line, { fetch });
    expect([status, JSON.parse(stdout).status]).toEqual([1, 'broken']);
    expect(JSON.parse(stderr).detail).toBe('The admin log is not as it was written: hash_mismatch at row 7.');
    expect((await run(['admin-log', 'verify'], { fetch })).stderr).toMatch(
      /^The admin log is not .* row 7\.\n$/,
    );
  });

  test('ends with 1 when a host name is not verified, and prints what was looked up', async () => {
    const { run, json, scope } = await open();
    const [tenant, id] = await scope();
    const name = ['--hostname', 'acme.example.org', '--tenant', tenant];
    const hostname = await json('hostnames', 'bind', ...name, '--scope', id);
    const fetch = async () =>
      Response.json({
        hostname,
        verified: false,
        reason: 'record_missing',
        advice: null,
        checks: [],
        address: null,
      });
    const { status, stdout, stderr } = await run(['hostnames', 'verify', ...name, '--json'], { fetch });
    expect([status, JSON.parse(stdout).verified]).toEqual([1, false]);
    expect(JSON.parse(stderr)).toMatchObject({
      detail: 'acme.example.org is not verified (record_missing).',
    });
  });

  test('says that an erased person was not known', async () => {
    const { run, scope } = await open();
    const at = await scope();
    const receipt = { subject: 'mistyped', redacted: true, keyDestroyedAt: '2026-11-21T08:00:00.000Z' };
    const said = async (keyDigest: string | null) => {
      const fetch = async () => Response.json({ ...receipt, keyDigest, receiptId: 'r1' });
      return (await run(['subjects', 'shred', ...at, 'mistyped'], { fetch })).stdout;
    };
    expect(await said(null)).toContain('The scope had no key for this id');
    expect(await said('a'.repeat(64))).not.toContain('no key');
  });

  test('takes a slug where an id does', async () => {
    const { run, json, scope, sent } = await open();
    const [tenant, id] = await scope();
    expect(await json('scopes', 'get', 'acme', 'main')).toMatchObject({ id, tenant });
    expect(await json('hostnames', 'list', '--tenant', 'acme', '--scope', 'main')).toMatchObject({
      items: [],
    });
    const bind = ['hostnames', 'bind', '--hostname', 'acme.example.org', '--tenant', 'acme'];
    expect(await json(...bind, '--scope', 'main')).toMatchObject({ tenant, scope: id });
    expect(await run(['tenants', 'get', 'acm'])).toMatchObject({
      status: 4,
      stderr: 'There is no tenant with the slug "acm".\n',
    });
    expect((await run(['scopes', 'get', 'acme', 'mai'])).stderr).toBe(
      'There is no scope with the slug "mai".\n',
    );
    sent.length = 0;
    const alone = await run(['hostnames', 'list', '--scope', 'main']);
    expect([alone.status, sent.length]).toEqual([2, 0]);
    expect(alone.stderr).toMatch(/^The slug of a scope needs its tenant beside it/);
    expect((await run(['scopes', 'get', 'acme', 'main', '--profile', 'none'])).status).toBe(2);
  });

  test('reads a statement from a file or standard input', async () => {
    const { run, cwd, scope, sent } = await open();
    const at = await scope();
    writeFileSync(join(cwd, 'count.sql'), 'SELECT 1');
    const readStdin = async () => 'SELECT 2';
    for (const sql of ['@count.sql', '-', 'SELECT 3'])
      await run(['query', 'run', ...at, '--sql', sql], { readStdin });
    const asked = sent.filter(({ url }) => url.endsWith('/query'));
    const bodies = await Promise.all(asked.map((each) => each.json() as Promise<{ sql: string }>));
    expect(bodies.map(({ sql }) => sql)).toEqual(['SELECT 1', 'SELECT 2', 'SELECT 3']);
  });

  test('follows every page with --all, and says how to continue without it', async () => {
    const { run, json, sent } = await open();
    for (const slug of ['one', 'two', 'three'])
      await run(['tenants', 'create', '--slug', slug, '--name', slug]);
    expect((await run(['tenants', 'list', '--limit', '2'])).stdout).toMatch(
      /--all lists them, --cursor \S+ goes on\.\n$/,
    );
    sent.length = 0;
    const all = await json<unknown[]>('tenants', 'list', '--limit', '2', '--all');
    expect([all.length, sent.length]).toEqual([3, 2]);
    // The filters of the list are sent with every page.
    sent.length = 0;
    await json<unknown[]>('tenants', 'list', '--limit', '2', '--status', 'active', '--all');
    expect(sent.map(({ url }) => new URL(url).searchParams.get('status'))).toEqual(['active', 'active']);
  });

  test('is judged before anything is sent', async () => {
    const { run, sent } = await open();
    for (const [line, sentence] of [
      [['tenants', 'get', 'Acme'], '<tenant> cannot be used: it must be an id that begins with tnt_.'],
      [['tenants', 'create', '--slug', 'acme'], '--name is missing.'],
      [['tenants', 'list', '--limit', 'many'], /^--limit cannot be used: .*number/],
      [
        ['tenants', 'list', '--status', 'gone'],
        /^--status cannot be used: it must be one of active, suspended/,
      ],
      [['tenants', 'create', '--body', '[]'], /^--body cannot be used: it must be a JSON object/],
      [['tenants', 'create', '--body', '@missing.json'], /missing\.json, which --body names, cannot be read/],
    ] as const) {
      const ended = await run([...line]);
      expect(ended.stderr).toMatch(sentence);
      expect(ended.status).toBe(line.at(-1) === '@missing.json' ? 1 : 2);
    }
    expect(sent).toEqual([]);
  });

  test('takes a whole body from a file or standard input, and options win', async () => {
    const { json, run, cwd } = await open();
    writeFileSync(join(cwd, 'tenant.json'), '{"slug":"acme","name":"From a file"}');
    expect(await json('tenants', 'create', '--body', '@tenant.json', '--name', 'Typed')).toMatchObject({
      slug: 'acme',
      name: 'Typed',
    });
    const readStdin = async () => '{"slug":"other","name":"Piped"}';
    expect((await run(['tenants', 'create', '--body', '-', '--json'], { readStdin })).stdout).toContain(
      '"Piped"',
    );
  });

  test('passes a condition and an idempotency key on', async () => {
    const { run, json } = await open();
    const words = ['tenants', 'create', '--slug', 'acme', '--name', 'Acme', '--idempotency-key', 'once'];
    const { id } = await json<{ id: string }>(...words);
    expect((await run(words)).stdout).toContain('the stored answer of an earlier call');
    const stale = await run(['tenants', 'update', id, '--name', 'New', '--if-match', 'stale']);
    expect(stale.status).toBe(5);
    const { etag } = await json<{ etag: string }>('tenants', 'get', id);
    // Quoted, as in the header, or bare, as in the record.
    expect((await run(['tenants', 'update', id, '--name', 'New', '--if-match', `"${etag}"`])).status).toBe(0);
  });

  test('adds a note to a secret that is shown once', async () => {
    const { run } = await open();
    const { stdout } = await run(['service-tokens', 'create', '--name', 'ci']);
    expect(stdout).toMatch(/^secret +\S+$/m);
    expect(stdout).toContain('Keep it now: it is shown this once.');
  });

  test('never takes a secret from the command line', async () => {
    const { run, sent } = await open();
    const ended = await run([
      'connections',
      'rotate',
      `tnt_${'0'.repeat(26)}`,
      `con_${'0'.repeat(26)}`,
      '--api-key',
      'hunter22',
    ]);
    expect(ended.status).toBe(2);
    expect(ended.stderr).toContain('--api-key cannot be used: it must be @ and a file');
    expect(ended.stderr).not.toContain('hunter22');
    expect(sent).toEqual([]);
  });
});

describe('exit codes', () => {
  const noPrincipal = `tnt_${'0'.repeat(26)}`;

  test('3 without a sign-in, 4 for an unknown id, 5 for a conflict, 6 for out of reach', async () => {
    const { run, env, json } = await open();
    await json('tenants', 'create', '--slug', 'acme', '--name', 'Acme');
    const foreign = { env: { ...env, FREEHOLD_TOKEN: 'fh_wrong' } };
    const refused = await run(['tenants', 'list'], foreign);
    expect(refused.status).toBe(3);
    expect(refused.stderr).toContain('freehold login');
    expect(refused.stderr).not.toContain('fh_wrong');
    expect((await run(['tenants', 'list'], { env: { FREEHOLD_URL: URL_OF } })).status).toBe(3);
    const missing = await run(['tenants', 'get', noPrincipal, '--json']);
    expect(missing.status).toBe(4);
    expect(JSON.parse(missing.stderr)).toMatchObject({ code: 'not_found', requestId: expect.any(String) });
    expect((await run(['tenants', 'create', '--slug', 'acme', '--name', 'Another'])).status).toBe(5);
    const fetch = () => Promise.reject(new TypeError('fetch failed'));
    const away = await run(['tenants', 'list'], { fetch });
    expect(away).toMatchObject({ status: 6, stderr: `${URL_OF} cannot be reached.\n` });
  });
});

describe('long work', () => {
  test('is waited for, and its result is printed', async () => {
    const { run, json, scope } = await open();
    const at = await scope();
    const { stdout, status } = await run(['scope-backups', 'create', ...at]);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^id +bkp_/m);
    const record = await json<object>('scope-backups', 'create', ...at);
    expect(record).toMatchObject({ state: 'done', result: { id: expect.stringMatching(/^bkp_/) } });
  });

  test('is not waited for with --no-wait', async () => {
    const { run, scope } = await open();
    const { stdout } = await run(['scope-backups', 'create', ...(await scope()), '--no-wait']);
    expect(stdout).toMatch(
      /^opn_\w{26} has begun\. Follow it with freehold operations get opn_\w{26} --wait 30s/,
    );
  });

  test('goes on after Ctrl-C, and the message says how to follow it', async () => {
    const { run, scope, platform, backups } = await open();
    const at = await scope();
    const { promise, resolve } = Promise.withResolvers<void>();
    onTestFinished(() => resolve());
    backups.beforePut = () => promise;
    const stop = new AbortController();
    const fetch = (request: Request) => {
      if (!request.url.includes('/operations/')) return platform.send(request);
      stop.abort(new Interrupted());
      return Promise.reject(stop.signal.reason);
    };
    const ended = await run(['scope-backups', 'create', ...at], { fetch, interrupted: stop.signal });
    expect(ended.status).toBe(130);
    expect(ended.stderr).toMatch(/^The work goes on\. Follow it with freehold operations get opn_\w{26} /);
  });

  test('prints its own problem when it fails', async () => {
    const { run, scope, backups } = await open();
    backups.beforePut = () => Promise.reject(new PlatformError('unavailable', 'The place is full.'));
    const ended = await run(['scope-backups', 'create', ...(await scope()), '--json']);
    expect(ended.status).toBe(6);
    expect(JSON.parse(ended.stderr)).toMatchObject({ code: 'unavailable' });
  });

  test('is no success when it is cancelled meanwhile', async () => {
    const { run, scope, platform, backups } = await open();
    const at = await scope();
    const { promise, resolve } = Promise.withResolvers<void>();
    onTestFinished(() => resolve());
    backups.beforePut = () => promise;
    const fetch = async (request: Request) => {
      const [, operation] = /\/operations\/(opn_\w+)/.exec(request.url) ?? [];
      if (operation === undefined) return platform.send(request);
      const headers = { authorization: `Bearer ${platform.secret}` };
      const cancel = `${URL_OF}/operations/${operation}/cancel`;
      await platform.send(new Request(cancel, { method: 'POST', headers }));
      resolve();
      return platform.send(request);
    };
    const ended = await run(['scope-backups', 'create', ...at], { fetch });
    expect(ended.status).not.toBe(0);
    expect(ended.stderr).toMatch(/opn_\w{26} was called off\./);
  });

  test('shows progress on a terminal, and clears it', async () => {
    const { run, scope } = await open();
    const { stderr } = await run(['scope-backups', 'create', ...(await scope())], { watched: true } as never);
    expect(stderr).toContain('scope-backups.create');
    expect(stderr.endsWith('\r\u001b[2K')).toBe(true);
  });

  test('spec C-04: a plan says that it is one', async () => {
    const { run, scope } = await open();
    const at = await scope();
    await run(['scopes', 'set-status', ...at, '--status', 'archived']);
    const { stdout } = await run(['scopes', 'reap', ...at, '--dry-run', '--no-backup']);
    expect(stdout).toContain('This is a plan: nothing was changed.');
    expect(stdout).toMatch(/^backup +false$/m);
  });

  test('spec C-09: a short operation has a plan too, which changes nothing', async () => {
    const { run, scope } = await open();
    const at = await scope();
    const planned = await run(['scopes', 'set-status', ...at, '--status', 'suspended', '--dry-run']);
    expect(planned).toMatchObject({ status: 0, stderr: '' });
    expect(planned.stdout).toMatch(/^effect +stops$/m);
    expect(planned.stdout).toContain('This is a plan: nothing was changed.');
    const { stdout } = await run(['scopes', 'get', ...at, '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ status: 'active' });
  });
});

describe('bytes', () => {
  test('go to a file or into a pipe, and never to a terminal', async () => {
    const { run, scope, cwd, sent } = await open({ copy: copyOf });
    const at = await scope();
    sent.length = 0;
    expect(await run(['scopes', 'export', ...at], { watched: true } as never)).toMatchObject({ status: 2 });
    expect(sent).toEqual([]);
    const piped = await run(['scopes', 'export', ...at]);
    expect(piped.bytes.subarray(0, 15).toString()).toBe('SQLite format 3');
    expect(await run(['scopes', 'export', ...at, '--out', 'copy'])).toMatchObject({ status: 0 });
    expect(readFileSync(join(cwd, 'copy')).equals(piped.bytes)).toBe(true);
    // An existing file is replaced only with --force.
    writeFileSync(join(cwd, 'copy'), 'mine');
    expect(await run(['scopes', 'export', ...at, '--out', 'copy'])).toMatchObject({ status: 5 });
    expect(readFileSync(join(cwd, 'copy'), 'utf8')).toBe('mine');
    expect(await run(['scopes', 'export', ...at, '--out', 'copy', '--force'])).toMatchObject({ status: 0 });
    expect(readFileSync(join(cwd, 'copy')).equals(piped.bytes)).toBe(true);
  });

  test('a pulled copy is a file that only its owner reads, and the access log says so', async () => {
    const { run, scope, cwd, json, sent } = await open();
    const at = await scope();
    const { status, stdout } = await run(['scope', 'pull', ...at, '--out', 'acme.sqlite']);
    expect(status).toBe(0);
    expect(stdout).toContain('freehold scope open acme.sqlite');
    const file = join(cwd, 'acme.sqlite');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const { items } = await json<{ items: { operation: string }[] }>('access-log', 'list');
    expect(items[0]?.operation).toBe('scopes.export');
    sent.length = 0;
    expect((await run(['scope', 'pull', ...at, '--out', 'acme.sqlite'])).status).toBe(5);
    expect(sent).toEqual([]);
    expect((await run(['scope', 'pull', ...at, '--out', 'acme.sqlite', '--force'])).status).toBe(0);
  });

  test('a migration is tried on a copy of a scope, which is deleted, and the access log says who took it', async () => {
    using app = makeSmallApp();
    const copy = join(scratchDirectory(), 'shelf.sqlite');
    await writeShelfCopy(copy, 'ndjson');
    const sql = "ALTER TABLE books ADD COLUMN shelf TEXT; UPDATE books SET shelf = 'A'";
    app.write('src/migrations.ts', migrationsText({ version: 3, name: 'shelves', sql }));
    const { run, scope, json } = await open({
      copy: () => new Response(readFileSync(copy)).body as ReadableStream<Uint8Array>,
      isAsAsked: true,
    });
    const before = readdirSync(tmpdir()).filter((name) => name.startsWith('freehold-copy-'));
    const { status, stdout, stderr } = await run([
      'migrate',
      'try',
      ...(await scope()),
      '--directory',
      app.folder,
    ]);
    expect(status, stderr).toBe(0);
    expect(stdout).toMatch(/^3 +shelves +\d+ ms +500 /m);
    expect(stdout).toContain('  3  table books changed\n');
    expect(stdout).toMatch(/answers no call for \d+ ms/);
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith('freehold-copy-'))).toEqual(before);
    const { items } = await json<{ items: { operation: string }[] }>('access-log', 'list');
    expect(items[0]?.operation).toBe('scopes.export');
    const tried = await json<{ from: number }>('migrate', 'try', '--copy', copy, '--directory', app.folder);
    expect(tried).toMatchObject({ from: 2, migrations: [{ version: 3, rowsWritten: 500 }] });
    for (const line of [[], ['acme'], ['acme', 'main', '--copy', copy]]) {
      const refused = await run(['migrate', 'try', ...line, '--directory', app.folder]);
      expect([refused.status, refused.stderr]).toEqual([
        2,
        'Name the tenant and the scope, or a copy that is here by --copy.\n',
      ]);
    }
  });

  test('leave nothing behind when they break off', async () => {
    const copy = () =>
      new ReadableStream<Uint8Array>({
        start: (controller) => {
          controller.enqueue(new Uint8Array(1000));
          controller.error(new TypeError('terminated'));
        },
      });
    const { run, scope, cwd } = await open({ copy });
    const ended = await run(['scope', 'pull', ...(await scope()), '--out', 'acme.sqlite']);
    expect(ended.status).not.toBe(0);
    expect(existsSync(join(cwd, 'acme.sqlite'))).toBe(false);
  });

  test('are sent with the media type that their first bytes show', async () => {
    const { run, scope, cwd, sent } = await open();
    const at = await scope();
    await run(['scope', 'pull', ...at, '--out', 'acme.sqlite']);
    const ended = await run(['imports', 'create', ...at, '--file', 'acme.sqlite']);
    expect(ended.status, ended.stderr).toBe(0);
    expect(sent.at(-1)?.headers.get('content-type')).toBe('application/vnd.sqlite3');
    writeFileSync(join(cwd, 'copy.ndjson'), '{"_":1}\n');
    await run(['imports', 'create', ...at, '--file', 'copy.ndjson']);
    expect(sent.at(-1)?.headers.get('content-type')).toBe('application/x-ndjson');
  });
});
