/** The pages as files: what is kept by a browser and for how long, and which address is a page at all. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { readWebFiles } from '@freehold/app/node';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Fixture, openFixture, type Visitor } from './fixture.ts';

const PAGE = '<!doctype html><title>Fieldwork</title>';
const SCRIPT = 'console.log("a script that is long enough to be worth compressing");'.repeat(20);
const NAVIGATION = { accept: 'text/html,application/xhtml+xml', 'sec-fetch-mode': 'navigate' };

let fixture: Fixture;
let anonymous: Visitor;
let directory: string;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'fieldwork-web-'));
  mkdirSync(join(directory, 'assets'));
  writeFileSync(join(directory, 'index.html'), PAGE);
  writeFileSync(join(directory, 'assets', 'index-a1b2.js'), SCRIPT);
  const webFiles = readWebFiles(directory);
  if (!webFiles) throw new Error('the files are there');
  fixture = await openFixture({ webFiles });
  anonymous = fixture.visitor(fixture.pipes);
});
afterEach(async () => {
  await fixture[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

const get = (path: string, headers: Record<string, string> = {}) =>
  anonymous.request('GET', path, undefined, headers);

describe('the page', () => {
  test.each(['/', '/orders/ord_1', '/team', '/?invite=token'])(
    'answers a navigation to %s, signed in or not',
    async (path) => {
      const response = await get(path, NAVIGATION);
      expect(response.status).toBe(200);
      expect(await response.text()).toBe(PAGE);
      expect(response.headers.get('cache-control')).toBe('no-cache');
    },
  );

  test('is at the front door for programs that look whether it is there', async () => {
    expect(await (await get('/', { accept: '*/*' })).text()).toBe(PAGE);
  });

  test('allows our own files and nothing else, and may not be framed', async () => {
    const { headers } = await get('/', NAVIGATION);
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("base-uri 'none'");
    expect(policy).not.toMatch(/unsafe|\*|data:/);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('referrer-policy')).toBe('same-origin');
  });

  test('is not what a missing script, a fetch or an unknown API address gets', async () => {
    for (const [path, headers] of [
      ['/assets/index-old.js', { accept: '*/*', 'sec-fetch-mode': 'cors' }],
      ['/orders/ord_1', { accept: 'application/json' }],
      ['/api/nothing', { accept: 'application/json' }],
    ] as const) {
      const response = await get(path, headers);
      expect([path, response.status]).toEqual([path, 404]);
      expect(response.headers.get('content-type')).toBe('application/problem+json');
    }
  });

  test('is not what a person gets who opens an unknown address of the API: that is a page which says so', async () => {
    const response = await get('/api/nothing', NAVIGATION);
    expect([response.status, response.headers.get('content-type')]).toEqual([
      404,
      'text/html; charset=utf-8',
    ]);
    expect(await response.text()).toContain('There is nothing at this address of the API.');
  });
});

describe('a file with its content in its name', () => {
  test('is kept for ever, and is compressed for those who ask', async () => {
    const plain = await get('/assets/index-a1b2.js');
    expect(plain.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(plain.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(await plain.text()).toBe(SCRIPT);
    const zipped = await get('/assets/index-a1b2.js', { 'accept-encoding': 'gzip, br' });
    expect(zipped.headers.get('content-encoding')).toBe('gzip');
    expect(zipped.headers.get('vary')).toBe('accept-encoding');
    expect(gunzipSync(await zipped.bytes()).toString()).toBe(SCRIPT);
  });

  test('is not sent again to who has it', async () => {
    const etag = (await get('/', NAVIGATION)).headers.get('etag') ?? '';
    const response = await get('/', { ...NAVIGATION, 'if-none-match': etag });
    expect(response.status).toBe(304);
    expect(await response.text()).toBe('');
  });
});

test('nothing outside the built directory is a file', async () => {
  for (const path of ['/../package.json', '/%2e%2e/package.json', '/assets/../../etc/passwd', '/.env']) {
    expect((await get(path)).status, path).toBe(404);
  }
});

test('without built pages the API works alone, and the root says so', async () => {
  expect(readWebFiles(join(directory, 'assets'))).toBeUndefined();
  await using bare = await openFixture();
  const visitor = bare.visitor(bare.pipes);
  expect(await (await visitor.request('GET', '/')).text()).toContain('not built');
  expect(await visitor.get('/api/me')).toMatchObject({ status: 'signed_out' });
});
