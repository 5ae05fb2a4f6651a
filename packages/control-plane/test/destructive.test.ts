/** The operations before which a program asks its person, declared one by one (MCP: `destructiveHint`). */
import { adminOperations } from '@freehold/directory/declarations';
import { expect, test } from 'vitest';
import { adminToolsOf } from '../src/mcp/admin-tools.ts';
import { OPERATIONS } from './support/walk.ts';

/** Everything that deletes, ends, replaces or shuts out. */
const DESTRUCTIVE = [
  'channels.promote',
  'connection-grants.delete',
  'connections.disconnect',
  'connections.rotate',
  'directory-backups.delete',
  'directory.restore',
  'email-sender.delete',
  'entitlements.delete',
  'entitlements.put',
  'fleet-migrations.run',
  'hostnames.delete',
  'hostnames.set-status',
  'hostnames.verify',
  'identities.remove',
  'install-blocks.delete',
  'install-blocks.put',
  'listings.put',
  'operations.cancel',
  'owner-claim.mint',
  'owner-recovery.end',
  'owner-recovery.mint',
  'owner-replacement.mint',
  'previews.create',
  'previews.end',
  'program-policy.put',
  'push-tokens.revoke',
  'push-tokens.rotate',
  'roles.delete',
  'roles.put',
  'scope-backups.delete',
  'scope-version.set',
  'scopes.configure',
  'scopes.reap',
  'scopes.restore',
  'scopes.rewind',
  'scopes.set-status',
  'secrets.remove',
  'secrets.rotate',
  'secrets.set',
  'service-tokens.revoke',
  'service-tokens.rotate',
  'session-secret.rotate',
  'snapshots.delete',
  'staff-programs.end',
  'staff-tokens.revoke',
  'staff.put',
  'staff.remove',
  'subjects.shred',
  'tenant-provisioner.delete',
  'tenants.reap',
  'tenants.set-status',
  'vertical-versions.discard',
  'vertical-versions.reject',
  'verticals.deploy',
  'verticals.move',
];

/** Changes after which nothing is gone, over, replaced or shut out, and why. */
const HARMLESS: Readonly<Record<string, string>> = {
  'tenants.create': 'adds a tenant',
  'tenants.update': 'changes a label, which nothing is found by',
  'identities.add': 'adds an identity',
  'scopes.provision': 'adds a scope',
  'snapshots.take': 'adds a copy',
  'scope-backups.create': 'adds a copy',
  'directory-backups.create': 'adds a copy',
  'imports.create': 'adds a copy, and restores nothing',
  'dead-letters.retry': 'delivers again what was to be delivered anyway',
  'verticals.create': 'adds a vertical',
  'verticals.update': 'changes a label, which nothing is found by',
  'vertical-versions.register': 'adds a version, which serves no request yet',
  'vertical-versions.admit': 'lets a version be used, and lets none serve',
  'listings.request-publish': 'asks the staff for something',
  'email-sender.put': 'lets a vertical do more',
  'tenant-provisioner.put': 'lets a vertical do more',
  'hostnames.bind': 'adds a host name',
  'connections.create': 'adds a connection',
  'connections.verify': 'writes down what the provider says',
  'connection-grants.put': 'lets a connection do more',
  'issues.set-status': 'writes down a verdict, which can be taken back',
  'previews.open': 'makes a link into a copy; an earlier link ends',
  'push-tokens.create': 'adds a token',
  'service-tokens.create': 'adds a token',
};

test('every change is declared to be destructive, or is known not to be', () => {
  const changes = OPERATIONS.filter(({ audit }) => audit === 'audit');
  const declared = OPERATIONS.filter(({ destructive }) => destructive).map(({ name }) => name);
  expect(declared.sort()).toEqual(DESTRUCTIVE);
  const others = changes.filter(({ destructive }) => !destructive).map(({ name }) => name);
  expect(others.sort()).toEqual(Object.keys(HARMLESS).sort());
});

test('nothing that deletes is forgotten, nor what is planned first because it cannot be taken back', () => {
  for (const { name, method, plan, audit, destructive } of OPERATIONS) {
    if (method === 'DELETE' || plan !== undefined) expect([name, destructive]).toEqual([name, true]);
    if (audit !== 'audit') expect([name, destructive]).toEqual([name, undefined]);
  }
});

test('the tools say what is declared, and never that a destructive one only reads', () => {
  for (const { operation, annotations } of adminToolsOf(adminOperations)) {
    const { destructiveHint, readOnlyHint } = annotations;
    expect([operation.name, destructiveHint]).toEqual([operation.name, operation.destructive === true]);
    // It stores nothing, and sends messages.
    const reads = operation.audit !== 'audit' && operation.name !== 'alerts.test';
    expect([operation.name, readOnlyHint]).toEqual([operation.name, reads]);
  }
});
