/** If-Match, tag by tag. */
import { expect, test } from 'vitest';
import { requireMatch } from './conditions.ts';

test.each([
  [undefined, null, true],
  [undefined, '7', true],
  ['"7"', '7', true],
  ['7', '7', true],
  ['"5", "7"', '7', true],
  ['*', '7', true],
  [' * ', '7', true],
  ['*', null, false],
  ['"7"', null, false],
  ['"8"', '7', false],
  ['W/"7"', '7', false],
  ['""', '7', false],
  ['', '7', false],
  ['"77"', '7', false],
])('If-Match %j against %j goes through: %s', (ifMatch, current, through) => {
  const check = () => requireMatch(ifMatch, current);
  if (through) expect(check).not.toThrow();
  else expect(check).toThrowError(expect.objectContaining({ code: 'precondition_failed' }));
});

test.each([
  ['"5"', '7', 7, true],
  ['"5"', '8', 7, false],
  ['"5"', '7', null, false],
  ['"5"', null, 7, false],
])(
  'a call with If-Match %j against %j that resumes %j goes through: %s',
  (ifMatch, current, resumes, through) => {
    const check = () => requireMatch(ifMatch, current, resumes);
    if (through) expect(check).not.toThrow();
    else expect(check).toThrowError(expect.objectContaining({ code: 'precondition_failed' }));
  },
);
