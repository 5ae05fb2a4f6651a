/** The extent of a program's grant, over all operations. */
import { expect, test } from 'vitest';
import { adminOperations } from '../admin-operations.ts';
import type { AdminOperation } from '../declarations/admin-operation.ts';
import { reachesOperation, type StaffPermission } from './program-access.ts';

const operations: readonly AdminOperation[] = Object.values(adminOperations);
const reachedBy = (permissions: readonly StaffPermission[]) =>
  operations
    .filter((operation) => reachesOperation({ access: 'some', permissions }, operation))
    .map(({ name }) => name);

/** Whether the answer is a credential: it has a secret, or is a link that makes its reader an owner. */
function givesCredential({ name, output }: AdminOperation): boolean {
  return name.endsWith('.mint') || ('shape' in output && 'secret' in (output.shape as object));
}

test('spec 5.5: an operation that answers a credential, which outlives the program, needs administer', () => {
  const lasting = operations.filter(givesCredential).map(({ name }) => name);
  expect(lasting).toEqual(
    expect.arrayContaining(['push-tokens.create', 'push-tokens.rotate', 'service-tokens.create']),
  );
  expect(reachedBy(['deploy', 'operate']).filter((name) => lasting.includes(name))).toEqual([]);
  expect(reachedBy(['administer'])).toEqual(expect.arrayContaining(lasting));
});

test('deploy reaches a deployment, and neither tenants nor the roster', () => {
  const reached = reachedBy(['deploy']);
  expect(reached).toEqual(expect.arrayContaining(['verticals.deploy', 'channels.promote', 'tenants.list']));
  for (const name of ['tenants.create', 'scopes.provision', 'staff.put', 'directory.restore'])
    expect(reached).not.toContain(name);
});
