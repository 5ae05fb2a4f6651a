/** Names are one line that can be seen, and notes keep their line ends: over HTTP, for every field that people read. */
import { expect, test } from 'vitest';
import { openFixture } from './support/fixture.ts';
import { OPERATIONS, prepare } from './support/walk.ts';

const NAMES = ['name', 'title', 'label'];
const NOTES = ['note', 'reason', 'summary', 'description'];
/** Every operation with such a field in its body, and the field. */
const FIELDS = OPERATIONS.flatMap((operation) =>
  Object.keys(operation.input.body?.shape ?? {})
    .filter((field) => [...NAMES, ...NOTES].includes(field))
    .map((field) => ({ operation, field })),
);

test('no name and no note takes a control character, a sign that turns text around, or a blank', async () => {
  const fixture = await openFixture();
  expect(FIELDS.length).toBeGreaterThan(15);
  for (const { operation, field } of FIELDS) {
    const request = (await prepare(operation, fixture, { tenantFixture: fixture.ours }))();
    const body = (await request.clone().json()) as object;
    const mayBeEmpty = operation.name === 'listings.put' && field !== 'title';
    const refused = [
      'a\u0000b',
      'a\u001b[2Jb',
      'a\u202eb',
      'a\u2066b',
      ...(mayBeEmpty ? [] : ['', ' ', '\u200b']),
    ];
    for (const text of [...refused, ...(NAMES.includes(field) ? ['a\nb', 'a\tb'] : [])]) {
      const response = await fixture.send(
        new Request(request.clone(), { body: JSON.stringify({ ...body, [field]: text }) }),
      );
      const { errors } = (await response.json()) as { errors?: unknown };
      expect([operation.name, text, response.status, errors]).toMatchObject([
        operation.name,
        text,
        400,
        [{ path: field }],
      ]);
    }
  }
});

test('a note comes back with the line ends that it was sent with', async () => {
  const { send, ours, credentials } = await openFixture();
  const url = `https://control.example/verticals/${ours.names.slug}`;
  for (const reason of ['one\ntwo\n', 'one\r\n\r\ntwo\r\n', '\tone']) {
    const headers = { ...credentials.service, 'content-type': 'application/json' };
    const put = await send(
      new Request(`${url}/install-block`, { method: 'PUT', headers, body: JSON.stringify({ reason }) }),
    );
    expect(put.status).toBe(200);
    const got = await send(new Request(`${url}/install-block`, { headers: credentials.service }));
    expect(await got.json()).toMatchObject({ reason });
  }
});
