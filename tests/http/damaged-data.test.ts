/** A platform whose data was damaged: what its people and its operator are told. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Caller } from '../support/http.ts';
import { signIn } from '../support/sign-in.ts';
import { type EmbeddedPlatform, openEmbeddedPlatform } from './embedded-platform.ts';

interface Made {
  readonly id: string;
}

async function newOrder(ada: Caller, { app }: EmbeddedPlatform): Promise<string> {
  await signIn(ada, app, 'ada');
  const customer = (await ada.ask(`${app}/api/customers`, { json: { name: 'Mrs Harper' } })).json<Made>().id;
  const order = { customer, title: 'Leaking tap' };
  return (await ada.ask(`${app}/api/orders`, { json: order })).json<Made>().id;
}

function blobsOf({ place, scope }: EmbeddedPlatform): string[] {
  const root = join(place.dataDirectory, 'blobs', scope.scopeId);
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map((each) => join(each.parentPath, each.name));
}

test('a damaged photo is refused before its first byte, and is an issue', async () => {
  await using opened = await openEmbeddedPlatform();
  using ada = new Caller();
  const path = `${opened.app}/api/orders/${await newOrder(ada, opened)}/attachments`;
  const photo = { form: { photo: 'x'.repeat(2_000) }, headers: { 'content-type': 'image/jpeg' } };
  const { id } = (await ada.ask(`${path}?filename=tap.jpg`, photo)).json<Made>();
  const [file = ''] = blobsOf(opened);
  const bytes = readFileSync(file);
  bytes[1_000] = 0;
  writeFileSync(file, bytes);
  const refused = await ada.ask(`${path}/${id}`);
  expect(refused.status).toBe(503);
  expect(refused.json()).toMatchObject({
    reason: 'blob_damaged',
    detail: expect.stringContaining('damaged in the store'),
  });
  expect(opened.incidents).toEqual([
    [
      { kind: 'fieldwork', key: opened.scope.scopeId, method: 'openAttachment' },
      expect.objectContaining({ message: expect.stringContaining(`Attachment ${id} of scope`) }),
    ],
  ]);
  const authorization = `Bearer ${opened.token}`;
  const issues = () =>
    ada
      .ask(`${opened.platform.apiOrigin}/issues`, { headers: { authorization } })
      .then((answer) => answer.json<{ items: unknown[] }>().items);
  await expect
    .poll(issues)
    .toEqual([
      expect.objectContaining({ message: expect.stringContaining('The bytes of this file are damaged') }),
    ]);
});

test('a vault that is gone beside sealed data is named, nothing about people is stored, and all else goes on', async () => {
  const before = await openEmbeddedPlatform();
  using ada = new Caller();
  const order = await newOrder(ada, before);
  await before.platform.close();
  const folder = join(before.place.dataDirectory, 'vault');
  for (const name of readdirSync(folder)) rmSync(join(folder, name));

  await using opened = await openEmbeddedPlatform({}, before.place);
  expect(opened.platform.warnings).toEqual([
    expect.stringMatching(`^The vault of tenant ${opened.scope.tenantId} is gone`),
  ]);
  const ready = await ada.ask(`${opened.place.url('localhost')}/readyz`);
  expect([ready.status, ready.json()]).toEqual([
    200,
    expect.objectContaining({
      status: 'degraded',
      reasons: [{ reason: 'vault_missing', detail: expect.stringContaining('1 vault is gone') }],
    }),
  ]);
  const add = await ada.ask(`${opened.app}/api/customers`, { json: { name: 'Mr Finch' } });
  expect([add.status, add.json()]).toEqual([503, expect.objectContaining({ reason: 'vault_missing' })]);
  expect(opened.incidents[0]).toEqual([
    { kind: 'vault', key: opened.scope.tenantId, method: 'open' },
    expect.objectContaining({ message: expect.stringContaining('Stop the platform and put the file back') }),
  ]);
  for (const path of ['/api/me', '/api/orders', '/api/customers', `/api/orders/${order}`])
    expect([path, (await ada.ask(`${opened.app}${path}`)).status]).toEqual([path, 200]);
  expect(readdirSync(folder)).toEqual([]);
});
