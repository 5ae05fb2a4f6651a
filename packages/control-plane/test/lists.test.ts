/** A cursor is good for the list that gave it out: over HTTP, for every list of the control plane. */
import { isList } from '@freehold/operations';
import { expect, test } from 'vitest';
import { openFixture, requestAbout } from './support/fixture.ts';
import { OPERATIONS } from './support/walk.ts';

const LISTS = OPERATIONS.filter(({ input, output }) => isList(input.query, output));

test('every list refuses the cursor of another one', async () => {
  const { send, ours, credentials } = await openFixture();
  expect(LISTS.length).toBeGreaterThanOrEqual(37);
  for (const operation of LISTS) {
    const request = requestAbout(operation, () => ours.names, { credential: credentials.service });
    for (const cursor of ['things.list~MDE', 'MDE']) {
      const url = new URL(request.url);
      url.searchParams.set('cursor', cursor);
      const response = await send(new Request(url, request));
      expect({ name: operation.name, status: response.status, body: await response.json() }).toMatchObject({
        name: operation.name,
        status: 400,
        body: {
          code: 'validation_failed',
          errors: [{ path: 'cursor', message: 'is not one that this list gave out' }],
        },
      });
    }
  }
});
