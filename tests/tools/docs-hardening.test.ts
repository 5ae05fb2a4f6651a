/** Each row of docs/hardening.md names tests that exist, and no finding is without a row. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const rows = [...readFileSync(join(root, 'docs/hardening.md'), 'utf8').matchAll(/^\| (\d+) (.+) \|$/gm)];

test('every finding has a row', () => {
  const numbers = new Set(rows.map(([, number]) => Number(number)));
  expect([...numbers].sort((a, b) => a - b)).toEqual(Array.from({ length: 25 }, (_, index) => index + 1));
});

test.each(rows.map(([, number, cells = '']) => [`${number} ${cells.split(' | ')[0]}`, cells] as const))(
  '%s: its tests exist',
  (_finding, cells) => {
    const named = [...(cells.split(' | ').at(-1) ?? '').matchAll(/`([^`]+)`/g)].map(([, path = '']) => path);
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  },
);
