/** Every declared operation × every role of the staff, said a second time and by hand. */
import { describe, expect, test } from 'vitest';
import { openPlatform, refusal } from '../../test/platform.ts';
import type { Actor } from '../access/actors.ts';
import { mayCall, staffAccessOf } from '../access/admission.ts';
import { type AdminOperation, adminOperations, type StaffRole } from '../admin-operations.ts';

/** The operations that change the roster or cannot be undone. */
const ADMINS_ONLY = [
  'staff.put',
  'staff.remove',
  'program-policy.put',
  'service-tokens.create',
  'service-tokens.rotate',
  'service-tokens.revoke',
  'tenants.reap',
  'scopes.reap',
  'scope-backups.delete',
  'directory-backups.delete',
  'directory.restore',
  'subjects.shred',
  'owner-recovery.mint',
  'owner-recovery.end',
  'owner-replacement.mint',
  'session-secret.rotate',
];
/** Changes that an auditor makes all the same: to what is their own. */
const OWN_AFFAIRS = ['staff-tokens.revoke', 'staff-programs.end'];

const ROLES: readonly StaffRole[] = ['admin', 'operator', 'auditor'];

function expected({ name, audit, method }: AdminOperation, role: StaffRole): boolean {
  if (role === 'admin') return true;
  if (role === 'operator') return !ADMINS_ONLY.includes(name);
  return OWN_AFFAIRS.includes(name) || (audit !== 'audit' && (audit === 'access' || method === 'GET'));
}

const as = (role: StaffRole): Actor => ({ kind: 'staff', id: 'stf_1', name: 'Sam', role });
/** A service token of a member with this role. */
const tokenOf = (role: StaffRole): Actor => ({
  kind: 'service',
  id: 'tok_1',
  name: 'nightly',
  owner: 'stf_1',
  role,
});

describe.each(ROLES)('spec 5.5: %s', (role) => {
  test.each(Object.values<AdminOperation>(adminOperations).map((each) => [each.name, each] as const))(
    '%s',
    (_, operation) => {
      expect(mayCall(operation, as(role))).toBe(expected(operation, role));
      expect(mayCall(operation, tokenOf(role))).toBe(expected(operation, role));
    },
  );

  test('is told no before anything is looked at, and nothing is written down', async () => {
    const platform = await openPlatform();
    for (const operation of Object.values<AdminOperation>(adminOperations)) {
      if (mayCall(operation, as(role))) continue;
      const empty = { params: {}, query: {}, body: {}, requestId: 'req-1' };
      for (const actor of [as(role), tokenOf(role)]) {
        const call = platform.admin.perform({ ...empty, operation: operation.name, actor });
        expect(await refusal(call)).toMatchObject({ status: 403, reason: 'role_insufficient' });
      }
    }
    expect(await platform.adminLog()).toEqual([]);
  });
});

test('an auditor changes nothing but what is their own', () => {
  const changes = Object.values<AdminOperation>(adminOperations).filter(
    (operation) => operation.audit === 'audit' && mayCall(operation, as('auditor')),
  );
  expect(changes.map(({ name }) => name)).toEqual(OWN_AFFAIRS);
});

test('a service token without an owner may do everything', () => {
  const actor: Actor = { kind: 'service', id: 'tok_1', name: 'cli' };
  for (const operation of Object.values<AdminOperation>(adminOperations))
    expect(mayCall(operation, actor)).toBe(true);
});

test('an unknown role, and no role at all, may do nothing', () => {
  for (const role of ['owner', 'toString', undefined] as never[]) {
    for (const operation of Object.values<AdminOperation>(adminOperations))
      expect(mayCall(operation, as(role))).toBe(false);
  }
  for (const role of ['owner', 'toString'] as never[]) {
    for (const operation of Object.values<AdminOperation>(adminOperations))
      expect(mayCall(operation, tokenOf(role))).toBe(false);
  }
});

test('what neither is written down nor is a GET is taken for a change', () => {
  const odd: AdminOperation = { ...adminOperations['tenants.list'], method: 'POST' };
  expect(staffAccessOf(odd)).toBe('operate');
  expect(staffAccessOf({ ...odd, audit: 'access' })).toBe('read');
});
