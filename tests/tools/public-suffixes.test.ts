/** The Public Suffix List that cookies and host names are judged by is the recorded one, and at most half a year old. */
import { expect, test } from 'vitest';
import { findFault, installedVersion, readRecord } from '../../tools/public-suffixes.ts';

test('the list that is installed is recorded and recent', () => {
  expect(findFault(readRecord(), installedVersion(), Date.now())).toBeNull();
});

test('a list that is old, undated or another one is found', () => {
  const record = { version: '7.5.4', published: '2026-11-15' };
  const at = (date: string) => Date.parse(date);
  expect(findFault(record, '7.5.4', at('2027-05-16'))).toBeNull();
  expect(findFault(record, '7.5.4', at('2027-05-18'))).toContain('run npm run suffixes');
  expect(findFault({ ...record, published: 'soon' }, '7.5.4', at('2026-11-16'))).toContain(
    'npm run suffixes',
  );
  expect(findFault(record, '7.6.0', at('2026-11-16'))).toContain('speaks of 7.5.4');
});
