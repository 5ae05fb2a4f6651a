/**
 * Follows the builder's guide (docs/guide) word by word: every block is pasted, every command is run, every page is
 * opened, and every result is compared with the guide.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { requireJson, requireLines } from '../guide/expectations.ts';
import { CHAPTERS, type Guide, openGuide, readPage } from '../guide/open-guide.ts';
import { readGuide } from '../guide/read-guide.ts';
import { packagesFolder } from '../support/packages.ts';

const root = join(import.meta.dirname, '../..');

let home: string;
let project: string;
let guide: Guide;

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'freehold-guide-'));
  project = join(home, 'lost-and-found');
  guide = await openGuide({ checkout: root, packages: packagesFolder(home), project });
});
afterAll(async () => {
  await guide?.[Symbol.asyncDispose]();
  rmSync(home, { recursive: true, force: true });
});

// spec, D-09, D-11, D-12, D-14, D-18
describe('a reader of the guide sees what it says', () => {
  let isLost = false;
  test.each(CHAPTERS)('%s', async (step) => {
    if (isLost) throw new Error('an earlier chapter did not work');
    isLost = true;
    await guide.follow(step);
    isLost = false;
  });

  test('and no page had an error that the guide does not mention', () => {
    expect(guide.faults()).toEqual([]);
  });

  // spec D-18, D-21
  test('the model got the lost and the found things, and no other data', () => {
    const { model } = guide;
    expect(model.asked).toHaveLength(1);
    const { path, headers, body } = model.asked[0] ?? expect.fail('the model was not called');
    expect([path, headers.authorization]).toEqual(['/v1/chat/completions', undefined]);
    expect(body).toMatchObject({ model: 'llama3.2', max_tokens: 10 });
    expect(body.messages.map(({ role }) => role)).toEqual(['system', 'user']);
    expect(body.messages[1]?.content).toBe(
      [
        'Lost: my navy brolly',
        '3: One red glove, for the left hand',
        '2: A green woollen scarf',
        '1: A blue umbrella with a wooden handle',
      ].join('\n'),
    );
  });

  test('the code of the guide has the form of our own code', () => {
    const { formatter, javascript, assist, linter } = JSON.parse(
      readFileSync(join(root, 'biome.json'), 'utf8'),
    );
    // Programs of the guide print to the terminal.
    linter.rules.suspicious.noConsole = 'off';
    // This rule looks for package.json beside the configuration; `npm run check` finds missing dependencies.
    linter.rules.correctness.noUndeclaredDependencies = 'off';
    // The application and its seed are default exports.
    linter.rules.style.noDefaultExport = 'off';
    // Beside the project, so that it is not linted itself.
    const form = mkdtempSync(join(home, 'form-'));
    writeFileSync(join(form, 'biome.json'), JSON.stringify({ formatter, javascript, assist, linter }));
    const { status, stdout, stderr } = spawnSync(
      join(root, 'node_modules/.bin/biome'),
      ['check', '--error-on-warnings', `--config-path=${form}`, 'src', 'website'],
      { cwd: project, encoding: 'utf8' },
    );
    expect({ status, said: status === 0 ? '' : stdout + stderr }).toEqual({ status: 0, said: '' });
  });
});

describe('the pages', () => {
  test('lead to the next one, and are all in the contents', () => {
    expect(CHAPTERS.length).toBeGreaterThan(7);
    for (const [index, step] of CHAPTERS.entries()) {
      expect(readPage('README.md')).toContain(`(${step})`);
      const next = CHAPTERS[index + 1];
      if (next) expect(readPage(step)).toContain(`](${next})`);
    }
  });
});

describe('a difference from the guide is found', () => {
  test('another line, a line too few, another value, a key too many', () => {
    expect(() => requireLines('a … c\n', 'x\n  a b c\n', 'somewhere')).not.toThrow();
    expect(() => requireLines('a … c\n', 'x\na b d\n', 'somewhere')).toThrow('the guide says');
    expect(() => requireLines('a\nb\n', 'a\nx\nb\n', 'somewhere')).toThrow('the guide says');
    expect(() => requireLines('a … c\nd\n', 'a b c\n\n d\n', 'exactly')).not.toThrow();
    expect(() => requireLines('a … c\n', 'x\na b c\n', 'exactly')).toThrow('the guide says');
    expect(() => requireJson('{"a":["…",1]}', '{"a":["x",1]}')).not.toThrow();
    for (const other of ['{"a":["x",2]}', '{"a":["x"]}', '{"a":["x",1],"b":2}', '{"a":[null,1]}', 'sorry'])
      expect(() => requireJson('{"a":["…",1]}', other), other).toThrow('the guide says');
  });

  test.each([
    ['a block without a file', '```ts\nconst x = 1;\n```\n'],
    ['a block without a language', '```\nx\n```\n'],
    ['a change that is no diff', '`a.ts`, changed:\n\n```ts\nx\n```\n'],
  ])('%s', (_, markdown) => {
    expect(() => readGuide('page.md', markdown)).toThrow();
  });
});
