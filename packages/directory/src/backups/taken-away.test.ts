/** No operation that takes something away is forgotten where a restore could undo it. */
import { expect, test } from 'vitest';
import { adminOperations } from '../declarations/index.ts';
import { FOR_EVER, NOT_BROUGHT_BACK, WORDS } from './taken-away.ts';

/** Verbs that take something from somebody, and families in which even `put` does. */
const TAKING =
  /^(?:.*\.(?:archive|cancel|clear|close|delete|disable|disconnect|drop|end|expire|forget|leave|reap|reject|release|remove|revoke|rotate|set-status|shred|suspend|unbind|withdraw)|install-blocks\.put|roles\.put|listings\.put)$/;

const taking = Object.values(adminOperations)
  .filter(({ name, method }) => method === 'DELETE' || TAKING.test(name))
  .map(({ name }) => name);

test('every operation that takes something away is taken away again, or says why it need not be', () => {
  const known = [...Object.keys(WORDS), ...Object.keys(NOT_BROUGHT_BACK)];
  expect(taking.filter((name) => !known.includes(name))).toEqual([]);
  expect(taking.length).toBeGreaterThan(25);
});

test('no operation is in both lists, and each one is declared', () => {
  const known = [...Object.keys(WORDS), ...Object.keys(NOT_BROUGHT_BACK)];
  expect(known.filter((name, index) => known.indexOf(name) !== index)).toEqual([]);
  expect(known.filter((name) => !Object.hasOwn(adminOperations, name))).toEqual([]);
  expect(FOR_EVER.filter((name) => !Object.hasOwn(WORDS, name))).toEqual([]);
});
