/** A token goes where it belongs, and nowhere else. */
import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { runLine, scratchDirectory, testWorld } from '../../test/world.ts';
import { commands } from '../commands.ts';
import { configFile, loadConfig, saveConfig } from './profiles.ts';
import { baseUrl, makeReach, resolveTarget } from './target.ts';

function setUp() {
  const configDirectory = scratchDirectory();
  saveConfig(configDirectory, {
    current: 'one',
    profiles: {
      one: { url: 'https://one.example', token: 'fh_one' },
      two: { url: 'https://two.example', token: 'fh_two' },
    },
  });
  const target = (env: Record<string, string>, profile?: string) =>
    resolveTarget(testWorld({ configDirectory, env }), profile);
  return { configDirectory, target };
}

describe('the chosen control plane', () => {
  test('is that of --profile, then of the environment, then of the profile in use', () => {
    const { target } = setUp();
    const env = { FREEHOLD_URL: 'https://env.example', FREEHOLD_TOKEN: 'fh_env' };
    expect(target(env, 'two')).toEqual({ url: 'https://two.example', token: 'fh_two', profile: 'two' });
    expect(target(env)).toEqual({ url: 'https://env.example', token: 'fh_env', profile: null });
    expect(target({ FREEHOLD_PROFILE: 'two' })).toMatchObject({ token: 'fh_two' });
    expect(target({})).toMatchObject({ url: 'https://one.example', token: 'fh_one' });
    expect(() => target({}, 'three')).toThrow('There is no profile "three": there are one, two.');
  });

  test('has no profile when the token is of the environment, also at the address of one', () => {
    const { target } = setUp();
    const env = { FREEHOLD_URL: 'https://one.example', FREEHOLD_TOKEN: 'fh_env' };
    expect(target(env)).toEqual({ url: 'https://one.example', token: 'fh_env', profile: null });
    expect(target({ FREEHOLD_TOKEN: 'fh_env' }).profile).toBeNull();
    expect(target({ FREEHOLD_URL: 'https://one.example' }).profile).toBe('one');
  });

  test('is not given the token of another one', () => {
    const { target } = setUp();
    expect(target({ FREEHOLD_URL: 'https://evil.example' }).token).toBeNull();
    expect(target({ FREEHOLD_URL: 'https://evil.example', FREEHOLD_PROFILE: 'two' }).token).toBeNull();
    expect(target({ FREEHOLD_URL: 'https://one.example/' }).token).toBe('fh_one');
  });

  test.each([
    'http://api.example.org',
    'http://127.0.0.1.evil.example',
    'ftp://x',
    'x',
    'https://a:b@x.example',
  ])('cannot be at %s', (url) =>
    expect(() => baseUrl(url, '--url')).toThrow(/^--url cannot be used: it must/),
  );

  test.each(['http://api.localhost:8787', 'http://127.0.0.1:1', 'http://[::1]:1', 'https://x.example'])(
    'can be at %s',
    (url) => expect(baseUrl(`${url}/`, '--url')).toBe(url),
  );
});

test.each([
  ['ENOTFOUND', ': no machine is known by that name; check the address (ENOTFOUND)'],
  ['ECONNREFUSED', ': nothing listens there (ECONNREFUSED)'],
  [
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    ': its certificate is of an authority that is not known here; NODE_EXTRA_CA_CERTS can name a file of yours (DEPTH_ZERO_SELF_SIGNED_CERT)',
  ],
  ['E_ELSE', ' (E_ELSE)'],
])('an unreachable address says why: %s', async (code, words) => {
  const cause = Object.assign(new Error(code), { code });
  const fetch = () => Promise.reject(new TypeError('fetch failed', { cause }));
  const reach = makeReach({ url: 'https://one.example' }, { fetch });
  await expect(reach(new Request('https://one.example/'))).rejects.toMatchObject({
    reason: 'out_of_reach',
    message: `https://one.example cannot be reached${words}.`,
  });
});

describe('the file of the profiles', () => {
  test('is whole, is only its owner’s whatever it was before, and leaves nothing beside it', () => {
    const { configDirectory } = setUp();
    chmodSync(configFile(configDirectory), 0o644);
    saveConfig(configDirectory, { current: null, profiles: {} });
    expect(statSync(configFile(configDirectory)).mode & 0o777).toBe(0o600);
    expect(readdirSync(configDirectory)).toEqual(['config.json']);
  });

  test('is refused when it is damaged, without a word of its content', () => {
    const { configDirectory } = setUp();
    writeFileSync(configFile(configDirectory), '{"current":null,"profiles":{"one":{"token":"fh_secret"}}}');
    expect(() => loadConfig(configDirectory)).toThrow(/is damaged/);
    expect(() => loadConfig(configDirectory)).not.toThrow(/fh_secret/);
  });

  test('is a failure in a sentence when it cannot be written', async () => {
    const { configDirectory } = setUp();
    mkdirSync(`${configDirectory}/below`);
    writeFileSync(`${configDirectory}/below/file`, '');
    expect(() => saveConfig(`${configDirectory}/below/file/x`, { current: null, profiles: {} })).toThrow(
      /config\.json cannot be written: not a directory \(ENOTDIR\)\.$/,
    );
  });
});

test('profile use, show and remove', async () => {
  const { configDirectory } = setUp();
  const run = (...line: string[]) => runLine(commands, ['profile', ...line], { configDirectory });
  expect((await run('list')).stdout).toMatch(
    /^NAME +CURRENT +URL +SIGNED IN\none +true +https:\/\/one\.example +true\n/,
  );
  expect((await run('use', 'two')).stdout).toBe('two (https://two.example) is asked from now on.\n');
  expect((await run('show', '--json')).stdout).toBe(
    '{"name":"two","current":true,"url":"https://two.example","signedIn":true}\n',
  );
  expect((await run('remove', 'two')).stdout).toBe('two is forgotten.\n');
  expect(loadConfig(configDirectory)).toMatchObject({ current: null, profiles: { one: {} } });
  expect((await run('use', 'two')).status).toBe(2);
});
