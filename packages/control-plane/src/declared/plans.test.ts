/** Spec C-09: whatever is destructive tells its plan when it is asked, or there is a written reason why it has none. */
import {
  type AdminOperation,
  type AdminOperationName,
  adminOperations,
} from '@freehold/directory/declarations';
import { describe, expect, test } from 'vitest';
import { adminToolsOf } from '../mcp/admin-tools.ts';

/** Touches one record alone, and is undone by the operation that it names. */
const undoneBy = (operation: AdminOperationName): string => `one record, put back by ${operation}`;
/** A token is replaced by making another; nothing else is touched. */
const madeAnew = (operation: AdminOperationName): string => `one token, made anew by ${operation}`;

/** Destructive, and without a plan. */
const WITHOUT_PLAN: Partial<Readonly<Record<AdminOperationName, string>>> = {
  'identities.remove': undoneBy('identities.add'),
  'entitlements.put': undoneBy('entitlements.put'),
  'entitlements.delete': undoneBy('entitlements.put'),
  'roles.put': undoneBy('roles.put'),
  'roles.delete': undoneBy('roles.put'),
  'listings.put': undoneBy('listings.put'),
  'install-blocks.put': undoneBy('install-blocks.delete'),
  'install-blocks.delete': undoneBy('install-blocks.put'),
  'email-sender.delete': undoneBy('email-sender.put'),
  'tenant-provisioner.delete': undoneBy('tenant-provisioner.put'),
  'connection-grants.delete': undoneBy('connection-grants.put'),
  'hostnames.set-status': undoneBy('hostnames.set-status'),
  'staff.put': undoneBy('staff.put'),
  'vertical-versions.reject': 'one version that nothing runs on, admitted again by vertical-versions.admit',
  'staff-tokens.revoke': 'one token: its program asks for another',
  'staff-programs.end': 'one program, which asks its member again',
  'push-tokens.rotate': madeAnew('push-tokens.create'),
  'push-tokens.revoke': madeAnew('push-tokens.create'),
  'service-tokens.rotate': madeAnew('service-tokens.create'),
  'service-tokens.revoke': madeAnew('service-tokens.create'),
  'owner-claim.mint': 'one link takes the place of another, and another can be made',
  'owner-recovery.end': madeAnew('owner-recovery.mint'),
  'owner-replacement.mint':
    'nothing changes until the link is accepted; until then owner-recovery.end ends it',
  'owner-recovery.mint': 'one link takes the place of another, and another can be made',
  'scopes.configure': 'touches the keys that it names, and never shows their values',
  'previews.create': 'adds one, and what it would copy unmasked, its refusal says',
  'previews.end': 'one preview, whose data is a copy',
  'secrets.set': undoneBy('secrets.set'),
  'secrets.rotate': undoneBy('secrets.set'),
  'secrets.remove': undoneBy('secrets.set'),
  'connections.rotate':
    'one credential, once the provider has taken the next; which is loaded, connections.credential says',
  'hostnames.verify': 'what it would find is known by looking, and looking is all it does',
  'operations.cancel': 'one piece of work; how far it is, operations.get says',
  'scope-version.set': 'one scope: what changes, vertical-versions.get says, and snapshot keeps what was',
  'verticals.deploy':
    'registers beside what serves; what serving it would change, the plan of channels.promote says',
};

const destructive = Object.values<AdminOperation>(adminOperations).filter(
  (operation) => operation.destructive || operation.method === 'DELETE',
);

describe('an operation that is destructive', () => {
  test.each(destructive.map((operation) => [operation.name, operation] as const))(
    '%s has a plan, or a reason why not',
    (name, { plan, input }) => {
      const reason = WITHOUT_PLAN[name as AdminOperationName];
      expect([plan !== undefined, reason !== undefined]).toEqual(plan ? [true, false] : [false, true]);
      expect('dryRun' in (input.query?.shape ?? {})).toBe(plan !== undefined);
    },
  );

  test('and no reason is given for one that is not, or is not there', () => {
    const names = destructive.map(({ name }) => name);
    expect(Object.keys(WITHOUT_PLAN).filter((name) => !names.includes(name))).toEqual([]);
  });
});

describe('a plan', () => {
  const planned = Object.values<AdminOperation>(adminOperations).filter(({ plan }) => plan);

  test.each(planned.map((operation) => [operation.name, operation] as const))(
    'of %s says that it is one, and every field of it is told apart from the thing itself',
    (_name, { plan, output }) => {
      expect(plan?.shape.dryRun?.safeParse(true).success).toBe(true);
      expect(plan?.shape.dryRun?.safeParse(false).success).toBe(false);
      expect('shape' in output && 'dryRun' in (output.shape as object)).toBe(false);
    },
  );

  test('is asked for by an argument of the tool that says so', () => {
    for (const { operation, inputSchema } of adminToolsOf(adminOperations)) {
      const { properties = {} } = inputSchema as {
        properties?: Record<string, { description?: string }>;
      };
      expect([operation.name, 'dryRun' in properties]).toEqual([
        operation.name,
        operation.plan !== undefined,
      ]);
      if (operation.plan)
        expect(properties.dryRun?.description, operation.name).toMatch(/plan|erases nothing/);
    }
  });
});
