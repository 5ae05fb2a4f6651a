/** The rules of plain language: each finds its bad samples, and nothing in the good ones. */
import { describe, expect, test } from 'vitest';
import { faultsOf } from '../../tools/language.ts';

const says = (source: string, path = 'sample.ts') => faultsOf(path, source).map((fault) => fault.says);

describe('comments', () => {
  test.each([
    ['/** What a caller gets. */', 'What'],
    ['/**\n * How long it takes.\n */', 'How'],
    ['// Who may ask.', 'Who'],
    ['  // Whatever is left.', 'Whatever'],
    ['/* Whether somebody asks. */', 'Whether somebody'],
  ])('%j opens without its subject', (source, opener) => {
    expect(says(source)[0]).toContain(`"${opener}"`);
  });

  test.each([
    '/** Whether the scope is idle. */',
    '/** Returns how long it takes. */',
    '// The caller waits.\n// What it waits for is the commit.',
    '// Whole pages only.',
    `const url = \`https://a.example/\${path}\`; // Adds the path.`,
  ])('%j passes', (source) => {
    expect(says(source)).toEqual([]);
  });
});

describe('people', () => {
  test.each([
    ['/** Signs in somebody. */', 'somebody'],
    ["throw new Error('Nobody may do this.');", 'Nobody'],
    [`const text = \`Ask \${whom} or whoever is there.\`;`, 'whoever'],
    [`const text = \`\${a ? \`somebody\` : b}\`;`, 'somebody'],
  ])('%j names no role', (source, word) => {
    expect(says(source)).toEqual([`"${word}" is no role: say who it is`]);
  });

  test('Markdown is judged by its prose, not by its code', () => {
    expect(says('A member.\n\n```sh\necho nobody\n```\n\nRun as `nobody`.', 'a.md')).toEqual([]);
    expect(faultsOf('a.md', 'A member.\n\nNobody else.')).toEqual([
      { line: 3, says: '"Nobody" is no role: say who it is' },
    ]);
  });

  test('a comment of SQL passes, because the text of a migration is hashed', () => {
    expect(says('const sql = `\n  -- Nobody so far.\n  CREATE TABLE t (a);`;')).toEqual([]);
  });

  test('a name that holds such a word passes', () => {
    expect(says("const user = 'somebodys-unit'; const nobodyElse = 1;")).toEqual([]);
  });
});

describe('names', () => {
  test.each([
    'const kept = load();',
    'unit.tell();',
    'function goAt() {}',
    'type T = { door: string };',
    `const a = \`\${holds}\`;`,
    'const ratio = total / 2 / tell;',
    'const quoted = /[\'"`]/; const news = 1;',
  ])('%j is refused', (source) => {
    expect(says(source)).toHaveLength(1);
  });

  test.each([
    "db.all('SELECT kept FROM door');",
    `db.all(\`SELECT kept, \${columns} FROM tell\`);`,
    '// It is kept behind a door.',
    'const split = text.replace(/door|kept/g, `tell`);',
    'const keptUntil = 1;',
  ])('%j passes', (source) => {
    expect(says(source)).toEqual([]);
  });

  test('a fault has the line on which it stands', () => {
    expect(faultsOf('a.ts', 'const a = 1;\n/* one\n two */\nconst kept = a;\n')[0]?.line).toBe(4);
  });
});
