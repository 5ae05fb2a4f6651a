/** No operation that takes something away is forgotten where a restore could undo it. */
import { expect, test } from 'vitest';
import { adminOperations } from '../admin-operations.ts';
import { REVOCATION_RULES, UNAFFECTED_BY_RESTORE } from './rules.ts';

/** Verbs that take something away, and families in which even `put` does. */
const TAKING =
  /^(?:.*\.(?:archive|cancel|clear|close|delete|disable|disconnect|drop|end|expire|forget|leave|reap|reject|release|remove|revoke|rotate|set-status|shred|suspend|unbind|withdraw)|install-blocks\.put|roles\.put|listings\.put)$/;

const taking = Object.values(adminOperations)
  .filter(({ name, method }) => method === 'DELETE' || TAKING.test(name))
  .map(({ name }) => name);

test('every operation that takes something away has a rule, or a reason why a restore does not undo it', () => {
  const known = [...Object.keys(REVOCATION_RULES), ...Object.keys(UNAFFECTED_BY_RESTORE)];
  expect(taking.filter((name) => !known.includes(name))).toEqual([]);
  expect(taking.length).toBeGreaterThan(25);
});

test('no operation is in both lists, and each one is declared', () => {
  const known = [...Object.keys(REVOCATION_RULES), ...Object.keys(UNAFFECTED_BY_RESTORE)];
  expect(known.filter((name, index) => known.indexOf(name) !== index)).toEqual([]);
  expect(known.filter((name) => !Object.hasOwn(adminOperations, name))).toEqual([]);
});
