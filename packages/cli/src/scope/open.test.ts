/** A copy on this machine is shown, and never written. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { runLine, scratchDirectory } from '../../test/world.ts';
import { commands } from '../commands.ts';
import { Interrupted } from '../lib/world.ts';
import { readCopy } from './copy.ts';
import { makeWindow } from './window.ts';

function makeCopy() {
  const cwd = scratchDirectory();
  const file = join(cwd, 'acme.sqlite');
  const database = new DatabaseSync(file);
  database.exec(`CREATE TABLE jobs (id INTEGER, title TEXT, photo BLOB); CREATE TABLE "odd ""name" (a);
    CREATE TABLE _spine_events (id TEXT);
    INSERT INTO jobs VALUES (9007199254740993, '<script>alert(1)</script>', x'00ff'), (1, NULL, NULL);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 250) INSERT INTO "odd ""name" SELECT i FROM n`);
  database.close();
  return { cwd, file };
}

describe('freehold scope open --query', () => {
  test('answers one statement, as a table and as JSON', async () => {
    const { cwd } = makeCopy();
    const words = [
      'scope',
      'open',
      'acme.sqlite',
      '--query',
      'SELECT id, photo FROM jobs ORDER BY title DESC',
    ];
    const { stdout } = await runLine(commands, words, { cwd });
    expect(stdout).toBe('ID                PHOTO\n9007199254740993  <2 bytes>\n1                 -\n');
    const asJson = await runLine(commands, [...words, '--json'], { cwd });
    expect(JSON.parse(asJson.stdout)).toEqual({
      columns: ['id', 'photo'],
      rows: [
        [{ $integer: '9007199254740993' }, { $bytes: 'AP8', length: 2 }],
        [1, null],
      ],
      truncated: false,
    });
  });

  test.each([
    "INSERT INTO jobs VALUES (3, 'x', NULL)",
    'DROP TABLE jobs',
    "ATTACH '/tmp/other.sqlite' AS other",
    'PRAGMA journal_mode = WAL',
    "SELECT load_extension('x')",
    "VACUUM INTO '/tmp/other.sqlite'",
    'BEGIN',
  ])('refuses %s, and the file stays as it is', async (sql) => {
    const { cwd, file } = makeCopy();
    const before = readFileSync(file);
    const ended = await runLine(commands, ['scope', 'open', 'acme.sqlite', '--query', sql], { cwd });
    expect(ended).toMatchObject({ status: 2, stdout: '' });
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test('a statement without an end is stopped', async () => {
    const { file } = makeCopy();
    const sql = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n';
    await expect(readCopy({ file, sql, params: [], rowsMax: 1 }, { timeoutMs: 300 })).rejects.toThrow(
      'The statement took too long, and was stopped.',
    );
  });

  test('a missing file and a file that is no database have their own errors', async () => {
    const { cwd } = makeCopy();
    writeFileSync(join(cwd, 'text'), 'no database at all, but long enough to look at. '.repeat(20));
    expect((await runLine(commands, ['scope', 'open', 'lost'], { cwd })).status).toBe(4);
    const ended = await runLine(commands, ['scope', 'open', 'text'], { cwd });
    expect(ended.stderr).toMatch(/text is no SQLite database, or cannot be read/);
  });
});

describe('the window', () => {
  const open = () => {
    const { file } = makeCopy();
    const window = makeWindow({ file, secret: 'a-secret', host: () => '127.0.0.1:4711' });
    return async (path: string, headers: Record<string, string> = {}, method = 'GET') => {
      const response = await window(
        new Request(`http://127.0.0.1:4711${path}`, {
          method,
          headers: { host: '127.0.0.1:4711', ...headers },
        }),
      );
      return { status: response.status, headers: response.headers, text: await response.text() };
    };
  };

  test('lists the tables, the application’s first, with names as text', async () => {
    const { text } = await open()('/a-secret/');
    const names = [...text.matchAll(/\?table=([^"&]*)/g)].map(([, name]) => decodeURIComponent(String(name)));
    expect(names).toEqual(['jobs', 'odd+"name', '_spine_events']);
  });

  test('shows the rows of a table page by page, and those of a statement', async () => {
    const ask = open();
    const first = await ask('/a-secret/?table=odd+%22name');
    expect(first.text).toContain('page 1');
    expect(first.text).toContain('Next →');
    const last = await ask('/a-secret/?table=odd+%22name&page=3');
    expect([last.text.match(/<tr>/g)?.length, last.text.includes('Next →')]).toEqual([51, false]);
    expect((await ask('/a-secret/?sql=SELECT+41%2B1')).text).toContain('<td>42</td>');
  });

  test('shows content of a copy as text, runs no script but its own, and calls no other server', async () => {
    const { text, headers } = await open()('/a-secret/?table=jobs');
    expect(text).not.toContain('<script>alert');
    expect(text).toContain('&#60;script&#62;alert(1)');
    expect(text).not.toMatch(/https?:\/\//);
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; .*script-src 'sha256-/);
    expect(headers.get('referrer-policy')).toBe('no-referrer');
  });

  test.each([
    ['without the secret', '/', {}],
    ['with another one', '/b-secret/', {}],
    ['under another name (DNS rebinding)', '/a-secret/', { host: 'evil.example:4711' }],
    ['by the name localhost', '/a-secret/', { host: 'localhost:4711' }],
  ])('shows nothing %s', async (_, path, headers) => {
    const { status, text } = await open()(path, headers);
    expect([status, text]).toEqual([404, 'There is nothing here.\n']);
  });

  test('answers a writing statement with a sentence', async () => {
    const { status, text } = await open()('/a-secret/?sql=DELETE+FROM+jobs');
    expect(status).toBe(400);
    expect(text).toContain('The statement cannot be run: it may only read.');
    expect((await open()('/a-secret/', {}, 'POST')).status).toBe(405);
  });

  test('is open at this machine alone, until Ctrl-C', async () => {
    const { cwd } = makeCopy();
    const stop = new AbortController();
    let address = '';
    const openBrowser = async (url: string) => {
      address = url;
      setImmediate(async () => {
        seen = await (await fetch(url)).text();
        stop.abort(new Interrupted());
      });
      return true;
    };
    let seen = '';
    const over = { cwd, watched: true, openBrowser, interrupted: stop.signal };
    const ended = await runLine(commands, ['scope', 'open', 'acme.sqlite'], over);
    expect(ended.status).toBe(0);
    expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{32}\/$/);
    expect(ended.stdout).toContain(address);
    expect(seen).toContain('jobs');
  });
});
