/** A reap disconnects connections as the platform's own work: the log names no other actor. */
import { expect, test } from 'vitest';
import type { AdminCall } from '../access/actors.ts';
import type { Effect } from '../lib/effects.ts';
import type { LongRun } from '../long-work/effects.ts';
import { makeReapScopeEffect } from './host-admin-scopes.ts';
import { makeReapEffect } from './host-admin-tenants.ts';

const CONNECTION = {
  tenant: 'tnt_1',
  connection: 'con_1',
  provider: 'ledger',
  sealed: 'sealed',
  revision: 1,
};
const SCOPE = { id: 'scp_01jd0000000000000000000001', tenantId: 'tnt_1', vertical: 'fieldwork' };

/** Work whose steps are all done at once, and the calls that it makes of the effect. */
function reaping() {
  const calls: AdminCall[] = [];
  const disconnect: Effect = {
    check: async () => undefined,
    run: async (_deps, call) => {
      calls.push(call);
      return { facts: null };
    },
  };
  const run: LongRun = {
    id: 'opr_1',
    signal: new AbortController().signal,
    step: (_name, work) => work(),
    progress: () => undefined,
    commit: async () => undefined,
  };
  let left = [CONNECTION];
  const deps = {
    gateway: {
      bound: () => null,
      local: () => ({ deleteScopeLocal: async () => undefined }),
    },
    directory: {
      connectionsLeaving: async () => left,
      connectionsToErase: async () => left,
      secretsErased: async () => [],
      connectionErased: async () => {
        left = [];
      },
      scopesToErase: async () => [],
      backupsToErase: async () => [],
    },
  } as never;
  return { calls, disconnect, run, deps };
}

const OWN_WORK = {
  operation: 'connections.disconnect',
  params: { tenant: 'tnt_1', connection: 'con_1' },
  actor: { kind: 'system', id: 'reaping' },
  requestId: 'opr_1',
};

test('the reap of a scope disconnects as the platform itself', async () => {
  const { calls, disconnect, run, deps } = reaping();
  await makeReapScopeEffect({ disconnect, erasePreviews: async () => undefined }).run(
    deps,
    { scope: SCOPE, backup: null } as never,
    run,
  );
  expect(calls).toMatchObject([OWN_WORK]);
});

test('the reap of a tenant disconnects as the platform itself', async () => {
  const { calls, disconnect, run, deps } = reaping();
  const reap = {
    ...{
      disconnect,
      runtime: undefined,
      incident: () => () => undefined,
      erasePreviews: async () => undefined,
    },
    ...{ destroyTenantKeys: async () => undefined, newId: (prefix: string) => prefix },
  };
  await makeReapEffect(reap).run(deps, { tenant: 'tnt_1', backup: false } as never, run);
  expect(calls).toMatchObject([OWN_WORK]);
});
