/** The witness of the admin log at an address, over a real socket; and the file. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { parseSettings } from '../settings/settings.ts';
import { openAnchor } from './anchor.ts';

const HEAD = { sequence: 7, hash: 'a'.repeat(64) };

/** A witness that stores what is put, for callers with the token. `fails` is a status that it answers instead. */
async function openWitness() {
  const witness = { stored: null as string | null, fails: 0, url: '' };
  const isTheirs = ({ headers }: IncomingMessage) =>
    headers.authorization === 'Bearer witness' && headers['content-type'] === 'application/json';
  const server = createServer(async (request, response) => {
    if (witness.fails > 0 || !isTheirs(request)) return response.writeHead(witness.fails || 401).end();
    if (request.method === 'PUT') {
      witness.stored = await text(request);
      return response.writeHead(204).end();
    }
    return response.writeHead(witness.stored === null ? 404 : 200).end(witness.stored);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => void server.close());
  witness.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/freehold`;
  return witness;
}

test('a head that was put at the address is read there again, and an empty address is null', async () => {
  const witness = await openWitness();
  const anchor = openAnchor({ url: witness.url, token: 'witness' });
  expect(await anchor.read()).toBeNull();
  await anchor.publish(HEAD);
  expect(witness.stored).toBe(JSON.stringify(HEAD));
  expect(await anchor.read()).toEqual(HEAD);
});

test('a witness that refuses, fails, redirects or answers something else is an error, never "no witness"', async () => {
  const witness = await openWitness();
  const anchor = openAnchor({ url: witness.url, token: 'witness' });
  for (const status of [302, 401, 500]) {
    witness.fails = status;
    await expect(anchor.read()).rejects.toThrow();
    await expect(anchor.publish(HEAD)).rejects.toThrow();
  }
  witness.fails = 0;
  witness.stored = '{"sequence":7}';
  await expect(anchor.read()).rejects.toThrow();
  await expect(openAnchor({ url: witness.url, token: undefined }).read()).rejects.toThrow('401');
});

test('a damaged file is an error, never "no witness"', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'anchor-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const file = join(directory, 'anchor.json');
  const anchor = openAnchor({ file });
  expect(await anchor.read()).toBeNull();
  await anchor.publish(HEAD);
  expect(await anchor.read()).toEqual(HEAD);
  writeFileSync(file, '');
  await expect(anchor.read()).rejects.toThrow();
});

test('the settings name one witness: a file, or an address that no third party can listen to', () => {
  const anchorOf = (env: Record<string, string>) => parseSettings(env).anchor;
  expect(anchorOf({ FREEHOLD_ANCHOR_FILE: 'none' })).toBeNull();
  expect(anchorOf({ FREEHOLD_ANCHOR_FILE: '/mnt/anchor.json' })).toEqual({ file: '/mnt/anchor.json' });
  const url = 'https://witness.example.org/freehold';
  expect(anchorOf({ FREEHOLD_ANCHOR_URL: url, FREEHOLD_ANCHOR_TOKEN: 't' })).toEqual({ url, token: 't' });
  for (const [name, env] of [
    ['FREEHOLD_ANCHOR_URL', { FREEHOLD_ANCHOR_URL: 'http://witness.example.org/' }],
    ['FREEHOLD_ANCHOR_URL', { FREEHOLD_ANCHOR_URL: url, FREEHOLD_ANCHOR_FILE: '/mnt/anchor.json' }],
    ['FREEHOLD_ANCHOR_TOKEN', { FREEHOLD_ANCHOR_TOKEN: 't' }],
  ] as const)
    expect(() => anchorOf(env)).toThrow(name);
});

test('while developing, a file beside the data witnesses the log, and that of an earlier installation is removed', async () => {
  const dataDirectory = join(mkdtempSync(join(tmpdir(), 'freehold-anchor-')), 'data');
  onTestFinished(() => rmSync(dirname(dataDirectory), { recursive: true }));
  const { anchor } = parseSettings({ FREEHOLD_DATA: dataDirectory });
  if (anchor === null) throw new Error('there is no witness');
  expect(anchor).toEqual({ file: `${dataDirectory}.anchor.json`, isDefault: true });
  await openAnchor(anchor, true).publish(HEAD);
  expect(await openAnchor(anchor, false).read()).toEqual(HEAD);
  expect(await openAnchor(anchor, true).read()).toBeNull();
  // A file that the operator named stays, and shows that the log is another.
  const named = { file: `${dataDirectory}.anchor.json` };
  await openAnchor(named).publish(HEAD);
  expect(await openAnchor(named, true).read()).toEqual(HEAD);
  const production = { NODE_ENV: 'production', PLATFORM_SECRET: 'a secret that is long enough for this' };
  const env = {
    ...production,
    FREEHOLD_PUBLIC_URL: 'https://apps.example.org',
    FREEHOLD_SIGN_IN: 'directory',
  };
  expect(parseSettings(env).anchor).toBeNull();
});
