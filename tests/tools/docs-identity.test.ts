/**
 * docs/identity agrees with the code: all codes and reasons are explained, named tests and files exist, and
 * its table of cookie domains is the computed one.
 */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { resolveCookieDomain } from '@freehold/auth';
import { OIDC_ERROR_CODES, OidcError, type OidcErrorCode } from '@freehold/oidc-rp';
import { describe, expect, test } from 'vitest';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const sourcesOf = (...patterns: string[]): string =>
  globSync(patterns, { cwd: root })
    .filter((path) => !/\.test\.ts$|\/(test|testkit|node_modules)\//.test(path))
    .sort()
    .map(read)
    .join('\n');

const troubleshooting = read('docs/identity/troubleshooting.md');
const threatModel = read('docs/identity/threat-model.md');
const signIn = read('docs/identity/sign-in.md');
const programAttacks = partOf(read('docs/agents.md'), 'Attacks');

/** Returns the rows of all tables in a part of a page, as cells. */
function rowsOf(markdown: string): string[][] {
  return [...markdown.matchAll(/^ *\|(.+)\|$/gm)]
    .map(([, row = '']) => row.split('|').map((cell) => cell.trim()))
    .filter((cells) => !cells.every((cell) => /^:?-*:?$/.test(cell)));
}

/** Returns the part of a page below a heading, subsections included. */
function partOf(markdown: string, heading: string): string {
  const [, level = '', rest = ''] =
    new RegExp(`^(#+) ${heading}$(.*)`, 'ms').exec(markdown) ?? expect.fail(`no heading ${heading}`);
  return rest.split(new RegExp(`^#{1,${level.length}} `, 'm'))[0] ?? '';
}

/** Returns the words in code style of the first cells. */
function firstWords(rows: readonly string[][]): string[] {
  return rows.flatMap(([first = '']) => [...first.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word));
}

describe('troubleshooting', () => {
  test('every code of a sign-in is explained, with its status, and no other', () => {
    const rows = rowsOf(partOf(troubleshooting, 'Codes of a sign-in')).slice(1);
    expect(firstWords(rows).sort()).toEqual([...OIDC_ERROR_CODES].sort());
    const isCode = (word: string): word is OidcErrorCode => OIDC_ERROR_CODES.some((code) => code === word);
    for (const row of rows) {
      const [code = ''] = firstWords([row]);
      expect(isCode(code) && String(new OidcError(code, '').status)).toBe(row[1]);
      expect(
        row.slice(2).every((cell) => cell.length > 5),
        code,
      ).toBe(true);
    }
  });

  test('every reason that the packages can give is explained, and no other', () => {
    const given = new Set(
      [
        ...sourcesOf(
          'packages/{auth,oidc-rp}/src/**/*.ts',
          'packages/contracts/src/http/request.ts',
          'packages/app/src/{declaration,members,request}/*.ts',
          'apps/platform/src/{applications/home,network/router}.ts',
        ).matchAll(/\breason\b\??\s*[:=]\s*([^;,}{]+)|\brefusal\(\s*'\w+',\s*('\w+')/g),
      ].flatMap(([, value = '', word = '']) =>
        [...`${value} ${word}`.matchAll(/'([a-z]+(?:_[a-z]+)*)'/g)].map(([, word = '']) => word),
      ),
    );
    const seats = /seatReason = z\.enum\(\[(.+)\]\)/.exec(
      read('packages/contracts/src/management/shared.ts'),
    )?.[1];
    for (const [, word = ''] of (seats ?? '').matchAll(/'(\w+)'/g)) given.add(word);
    // These come under another name, or from packages beside.
    for (const word of [
      'hook_omitted',
      'unknown_unit',
      'platform_secret_unset',
      'platform_secret_mismatch',
    ]) {
      expect(
        sourcesOf('packages/{store,vertical-host}/src/**/*.ts', 'packages/contracts/src/http/*.ts'),
      ).toContain(`'${word}'`);
      given.add(word);
    }
    const explained = firstWords(
      rowsOf(partOf(troubleshooting, 'Reasons')).filter(([word]) => word !== 'reason'),
    );
    const shared = explained.filter((word, at) => explained.indexOf(word) !== at);
    expect(shared).toEqual([]);
    // A code of a sign-in can be a reason too: it is explained among those.
    const codes: readonly string[] = OIDC_ERROR_CODES;
    expect(explained.sort()).toEqual([...given].filter((word) => !codes.includes(word)).sort());
  });

  test('every sentence and every setting of a sign-in that is not set up is there', () => {
    const sources = sourcesOf(
      'packages/{auth,oidc-rp}/src/**/*.ts',
      'packages/app/src/{members,request}/*.ts',
    );
    const part = partOf(troubleshooting, 'Sign-in is not set up');
    const sentences = [...sources.matchAll(/new AuthConfigError\(\s*\w+,\s*['`]([^'`$]+)/g)].map(
      ([, sentence = '']) => sentence.trim(),
    );
    expect(sentences.length).toBeGreaterThan(3);
    for (const sentence of sentences) expect(part).toContain(`\`${sentence}\``);
    const settings = [...sources.matchAll(/new OidcConfigError\(\s*'(\w+)'/g)].map(([, name = '']) => name);
    expect(settings.length).toBeGreaterThan(5);
    for (const name of settings) expect(part).toMatch(new RegExp(`^\\| +\`${name}\` +\\|`, 'm'));
  });

  test('every code of mail is explained, and no other', () => {
    const union = /export type MailErrorCode =([^;]+);/.exec(read('packages/mail/src/errors.ts'))?.[1] ?? '';
    const codes = [...union.matchAll(/'(\w+)'/g)].map(([, code = '']) => code);
    expect(codes.length).toBeGreaterThan(5);
    const rows = rowsOf(partOf(troubleshooting, 'Codes of mail')).slice(1);
    expect(firstWords(rows).sort()).toEqual(codes.sort());
  });
});

describe.each([
  { page: 'the threat model', text: threatModel, least: { files: 100, titles: 90 } },
  { page: 'the attacks on programs', text: programAttacks, least: { files: 30, titles: 35 } },
])('$page', ({ text, least }) => {
  /** A file, and the titles that follow it. */
  const named = [...text.matchAll(/`([\w./-]+\.ts)`((?:[,;]? ?“[^”]+”)*)/g)].map(
    ([, path = '', titles = '']) => ({
      path,
      titles: [...titles.matchAll(/“([^”]+)”/g)].map(([, each = '']) => each),
    }),
  );

  test('names files that exist', () => {
    const paths = [...text.matchAll(/`((?:packages|apps|examples|tests|tools|docs)\/[^`]+)`/g)].map(
      ([, path = '']) => path,
    );
    expect(paths.length).toBeGreaterThan(least.files);
    expect([...new Set(paths)].filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  test('names tests that exist, each by a title in its file', () => {
    const missing = named.flatMap(({ path, titles }) =>
      titles.filter((title) => !hasTitle(read(path), title)).map((title) => `${path}: ${title}`),
    );
    expect(missing).toEqual([]);
    expect(named.flatMap(({ titles }) => titles).length).toBeGreaterThan(least.titles);
  });

  test('has every title behind a file, and a title behind every test file', () => {
    const titles = [...text.matchAll(/“[^”]+”/g)].length - 1;
    // One pair of marks explains the notation.
    expect(named.flatMap((each) => each.titles)).toHaveLength(titles);
    const bare = named.filter(({ path, titles: own }) => /\.test\.ts$/.test(path) && own.length === 0);
    expect(bare.map(({ path }) => path)).toEqual(['tests/tools/docs-identity.test.ts']);
  });
});

test('every attack on programs has its answer and its evidence', () => {
  const rows = rowsOf(programAttacks).slice(1);
  expect(rows.length).toBeGreaterThan(30);
  expect(rows.filter((cells) => cells.length !== 3 || !cells[2]?.includes('“'))).toEqual([]);
});

describe('the threat model', () => {
  test('names for every threat the countermeasure, its place, its evidence, and what remains', () => {
    const tables =
      threatModel.split('## What is not defended, in one list')[0]?.split('## The protocol')[1] ?? '';
    const rows = rowsOf(tables).filter(([first]) => first !== 'threat');
    expect(rows.length).toBeGreaterThan(50);
    expect(rows.filter((cells) => cells.length !== 5 || cells.slice(0, 4).includes(''))).toEqual([]);
  });
});

/** Whether a text is one of the titles of a test file, or stands in a row of its tables. */
function hasTitle(source: string, title: string): boolean {
  return [`'${title}'`, `"${title}"`, `\`${title}\``].some((literal) => source.includes(literal));
}

describe('the pages', () => {
  test('the table of cookie domains is what the code computes', () => {
    const rows = rowsOf(partOf(signIn, 'Several surfaces')).slice(1);
    expect(rows.length).toBeGreaterThan(10);
    for (const [surfaces = '', shared = '', domain = ''] of rows) {
      const [host = '', ...others] = firstWords([[surfaces]]);
      const computed = resolveCookieDomain({
        host,
        surfaces: [host, ...others],
        sharedDomains: firstWords([[shared]]),
      });
      expect([surfaces, computed === undefined ? 'none' : `\`${computed}\``]).toEqual([surfaces, domain]);
    }
  });

  test('every setting that is named is read by some code', () => {
    const sources = sourcesOf(
      'packages/{app,auth,oidc-rp}/src/**/*.ts',
      'apps/platform/src/**/*.ts',
      'examples/fieldwork/src/**/*.ts',
    );
    const settings = firstWords(rowsOf(partOf(signIn, 'Settings, and which one counts'))).filter((word) =>
      /^[A-Z_]+$/.test(word),
    );
    expect(settings.length).toBeGreaterThan(10);
    expect(settings.filter((name) => !new RegExp(`\\b${name}\\b`).test(sources))).toEqual([]);
  });
});
