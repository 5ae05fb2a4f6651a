/** Tables and records fit the terminal. */
import { expect, test } from 'vitest';
import { progressText } from './progress.ts';
import { listText, recordText, scalarText } from './table.ts';

const items = [
  { id: 'tnt_01', name: 'A long name that goes on and on for quite a while', status: 'active' },
  { id: 'tnt_02', name: 'B', status: null },
];

test.each([30, 40, 60, 200])('a table fits a terminal of %i characters', (columns) => {
  const lines = listText(items, columns)
    .split('\n')
    .filter((line) => !line.startsWith('('));
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns);
  expect(lines[1]).toMatch(/^tnt_01 /);
});

test('a column without room is named as missing', () => {
  expect(listText(items, 16)).toContain('(1 more column: --json has them all)');
});

test('a record stands line by line, with nested fields indented below', () => {
  expect(recordText({ id: 'x', owner: { email: 'a@b' }, roles: ['a', 'b'], none: null }, 80)).toBe(
    'id     x\nowner\n  email  a@b\nroles  a, b\nnone   -',
  );
});

test('a heading is in words, and a measurement has three decimals at most', () => {
  const [heading, row] = listText([{ createdAt: 'now', durationMs: 1.1936589999999967 }], null).split('\n');
  expect(heading).toBe('CREATED AT  DURATION MS');
  expect(row).toBe('now         1.194');
  expect(recordText({ count: 9007199254740991, share: 0.5, list: [0.1 + 0.2] }, null)).toBe(
    'count  9007199254740991\nshare  0.5\nlist   0.3',
  );
});

test('control characters cannot steer a terminal', () => {
  expect(scalarText('a\u001b[2Jb\nc\u202e')).toBe('a\\u001b[2Jb⏎c\\u202e');
});

test('progress is a bar where the end is known, and an amount where it is not', () => {
  expect(progressText('x', { done: 12, total: 24, unit: 'scopes' })).toBe(
    `x [${'#'.repeat(12)}${'-'.repeat(12)}] 12 of 24 scopes`,
  );
  expect(progressText('x', { done: 1536, total: null, unit: 'bytes' })).toBe('x … 1.5 KiB');
});

test('at 80 characters a row says what was done to what, and with which outcome', () => {
  const scope = `scp_${'0'.repeat(26)}`;
  const row = {
    sequence: 12,
    at: '2026-11-21T08:00:00.000Z',
    actor: { kind: 'service', id: `tok_${'0'.repeat(26)}` },
    requestId: 'a'.repeat(26),
    action: 'scopes.set-status',
    target: { tenant: `tnt_${'0'.repeat(26)}`, scope, vertical: 'fieldwork', other: null },
    outcome: 'done',
    hash: 'f'.repeat(64),
  };
  const [heading, line = ''] = listText([row], 80).split('\n');
  expect(heading).toMatch(/^SEQUENCE {2}ACTION +TARGET +OUTCOME/);
  expect(line).toContain('scopes.set-status');
  expect(line).toContain(scope);
  expect(line).toContain('done');
  expect(line.length).toBeLessThanOrEqual(80);
});
