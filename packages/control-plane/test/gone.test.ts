/** A deleted thing is gone: made, deleted and looked for, for every family with the three operations. */
import { type AdminOperation, adminOperations } from '@freehold/directory/declarations';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Fixture, openFixture, requestAbout } from './support/fixture.ts';

const OPERATIONS: readonly AdminOperation[] = Object.values(adminOperations);
const DELETES = OPERATIONS.filter(({ method }) => method === 'DELETE');
const TIMEOUT_MS = 60_000;

/** Things that can still be read after their end, with the reason. */
const STAYS: Readonly<Record<string, string>> = {
  'connections.disconnect': 'The record of a connection stays, as disconnected; its credential is gone.',
  'install-blocks.delete': 'There is always an answer whether a vertical is blocked; afterwards it says no.',
  'email-sender.delete': 'There is always an answer whether a vertical may; afterwards it says no.',
  'tenant-provisioner.delete': 'There is always an answer whether a vertical may; afterwards it says no.',
  'push-tokens.revoke':
    'A token that was revoked is listed as that, and opens nothing (see the access matrix).',
  'service-tokens.revoke':
    'A token that was revoked is listed as that, and opens nothing (see the access matrix).',
  'staff-tokens.revoke': 'A token that was revoked is listed as that, and opens nothing (see its own tests).',
  'connection-grants.delete':
    'It shuts a connection out of a scope, and what is listed is what the scope itself grants.',
};

/** Where one would look for a thing: at its own address, else in the list that it was in. */
function placesOf({ path }: AdminOperation): AdminOperation[] {
  const collection = path.replace(/\/:[^/]+$/, '');
  const at = (address: string) => OPERATIONS.filter((each) => each.method === 'GET' && each.path === address);
  return [...at(path), ...at(collection)];
}

test('there is a place to look for everything that can be deleted, and no exception for what is gone', () => {
  for (const operation of DELETES) expect(placesOf(operation), operation.name).not.toEqual([]);
  const names = DELETES.map(({ name }) => name);
  expect(Object.keys(STAYS).filter((name) => !names.includes(name))).toEqual([]);
});

let fixture: Fixture;
let close: () => Promise<void>;
beforeAll(async () => {
  fixture = await openFixture((closing) => {
    close = closing;
  });
}, TIMEOUT_MS);
afterAll(() => close());

test.each(DELETES.map((operation) => [operation.name, operation] as const))(
  'after %s it cannot be read, listed or deleted again (C-01)',
  async (name, operation) => {
    const { names } = await fixture.build(`gone-${name.replaceAll(/[^a-z]/g, '-')}`);
    const credential = fixture.credentials.service;
    const ask = (what: AdminOperation) => fixture.send(requestAbout(what, () => names, { credential }));
    const look = async () => {
      const seen = [];
      for (const place of placesOf(operation)) {
        const response = await ask(place);
        seen.push({ status: response.status, text: await response.text() });
      }
      return seen;
    };
    const before = await look();
    expect(before.every(({ status }) => status === 200)).toBe(true);
    const response = await ask(operation);
    expect([response.status, await response.text()]).toEqual([operation.success, expect.any(String)]);
    const after = await look();
    if (name in STAYS) return;
    // Its name: the last part of its address.
    const [, called = ''] =
      /([^/]+)$/.exec(
        decodeURIComponent(new URL(requestAbout(operation, () => names, { credential }).url).pathname),
      ) ?? [];
    expect(before.some(({ text }) => text.includes(called))).toBe(true);
    for (const { status, text } of after) {
      if (status !== 404) expect(text).not.toContain(`"${called}"`);
      expect([200, 404]).toContain(status);
    }
    expect((await ask(operation)).status).toBe(404);
  },
  TIMEOUT_MS,
);
