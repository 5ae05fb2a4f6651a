/** A group whose commit fails keeps nothing, in the database and in memory. */
import { randomBytes } from 'node:crypto';
import { makeStub, openUnit } from '@freehold/store';
import { expect, test } from 'vitest';
import { openNodeDatabase } from '../../engine-node/src/lib/node-database.ts';
import { makeScopeUnit, type ScopeMethods } from '../src/index.ts';
import { anonymous, scopeId, shop, tenant } from './shop.ts';

test('a role that was read from a group that was lost is not remembered', async () => {
  const database = openNodeDatabase(':memory:');
  let diskFails = false;
  const unit = openUnit(
    makeScopeUnit(shop),
    {
      key: scopeId,
      db: database.db,
      guarded: (guard) => database.guarded(guard),
      transact: (work) =>
        database.transact(() => {
          work();
          if (diskFails) throw new Error('the disk is gone');
        }),
      schedule: (task) => void setImmediate(task),
      now: () => 0,
      random: randomBytes,
      onIncident: () => undefined,
    },
    { create: true },
  );
  const scope = makeStub<ScopeMethods>((method, input) => unit.call(method, input));
  const list = () => scope.invoke({ principal: anonymous, operation: 'box/list', input: {} });
  await scope.provision({ tenantId: tenant, name: 'Acme' });
  diskFails = true;
  const lost = await Promise.allSettled([
    scope.assignRole({ principal: anonymous, role: 'guest', by: 'platform' }),
    list(),
  ]);
  expect(lost).toMatchObject([
    { status: 'rejected', reason: { reason: 'commit_failed' } },
    { status: 'rejected', reason: { reason: 'commit_failed' } },
  ]);
  diskFails = false;
  expect((await scope.holdings({ principal: anonymous })).roles).toEqual([]);
  await expect(list()).rejects.toMatchObject({ code: 'permission_denied' });
  database.close();
});
