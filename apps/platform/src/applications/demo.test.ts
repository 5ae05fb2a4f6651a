/** The demo's admin is put on an empty roster only. */

import type { ControlPlaneClient } from '@freehold/control-plane/client';
import { expect, test } from 'vitest';
import { ensureDemoAdmin } from './operator.ts';

function withRoster(items: readonly object[]) {
  const put: unknown[] = [];
  const client = {
    staff: { list: async () => ({ items, nextCursor: null }), put: async (call: unknown) => put.push(call) },
  };
  return { put, client: client as unknown as ControlPlaneClient };
}

test('an empty roster gets one of the people of the development issuer', async () => {
  const { put, client } = withRoster([]);
  await ensureDemoAdmin(client);
  expect(put).toEqual([{ body: { email: 'ada@example.test', name: 'Ada Lovelace', role: 'admin' } }]);
});

test('a roster with a member is left as it is', async () => {
  const { put, client } = withRoster([{ id: 'stf_1' }]);
  await ensureDemoAdmin(client);
  expect(put).toEqual([]);
});
