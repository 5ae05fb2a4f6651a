/** Photos and documents over HTTP: taken in, listed, handed out as what they are and nothing else, removed. */

import { type AttachmentList, attachmentsResponse, historyResponse } from '@freehold/app/wire';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Fixture, IS_DEPLOYED, joinTeam, openFixture, type Visitor } from './fixture.ts';

let fixture: Fixture;
let ada: Visitor;
let order: string;
beforeEach(async () => {
  fixture = await openFixture();
  ada = await fixture.signedIn(fixture.pipes, 'ada', 'Ada');
  await ada.get('/api/me');
  order = await openOrder();
});
afterEach(async () => {
  const { incidents } = fixture;
  await fixture[Symbol.asyncDispose]();
  expect(incidents).toEqual([]);
});

async function openOrder(customer = 'Müller'): Promise<string> {
  const { id } = await ada.post<{ id: string }>('/api/customers', { name: customer });
  return (await ada.post<{ id: string }>('/api/orders', { customer: id, title: 'Boiler' })).id;
}

const pathOf = (id = order) => `/api/orders/${id}/attachments`;
const upload = (
  visitor: Visitor,
  { name = 'boiler.jpg', type = 'image/jpeg', body = 'bytes', to = order, headers = {} } = {},
) =>
  visitor.request('POST', `${pathOf(to)}?filename=${encodeURIComponent(name)}`, body, {
    'content-type': type,
    ...headers,
  });
const listOf = async (visitor: Visitor, id = order): Promise<AttachmentList> =>
  attachmentsResponse.parse(await visitor.get(pathOf(id)));

describe('a file', () => {
  test.each([
    ['bytes=4-7', 'very', 'bytes 4-7/14'],
    ['bytes=9-', 'bytes', 'bytes 9-13/14'],
    ['bytes=-5', 'bytes', 'bytes 9-13/14'],
    ['bytes=-99', 'the very bytes', 'bytes 0-13/14'],
    ['bytes=9-99', 'bytes', 'bytes 9-13/14'],
    // A server may ignore these, and answer with the whole file.
    ['bytes=14-', 'the very bytes', null],
    ['bytes=7-4', 'the very bytes', null],
    ['bytes=-0', 'the very bytes', null],
    ['bytes=0-1,4-7', 'the very bytes', null],
    ['bytes=-', 'the very bytes', null],
    ['lines=1-2', 'the very bytes', null],
  ])('asked for %s is answered with %j', async (range, body, contentRange) => {
    await upload(ada, { body: 'the very bytes' });
    const [file] = (await listOf(ada)).items;
    const part = await ada.request('GET', `${pathOf()}/${file?.id}`, undefined, { range });
    expect([part.status, await part.text()]).toEqual([contentRange === null ? 200 : 206, body]);
    expect(part.headers.get('content-range')).toBe(contentRange);
    expect(part.headers.get('content-length')).toBe(String(body.length));
    const conditional = { range, 'if-range': '"another"' };
    const whole = await ada.request('GET', `${pathOf()}/${file?.id}`, undefined, conditional);
    expect([whole.status, await whole.text()]).toEqual([200, 'the very bytes']);
  });

  test('has an entity tag, with which it is not sent again, and by which parts are put together', async () => {
    await upload(ada, { body: 'the very bytes' });
    const [file] = (await listOf(ada)).items;
    const address = `${pathOf()}/${file?.id}`;
    const etag = (await ada.request('GET', address)).headers.get('etag') ?? '';
    expect(etag).toMatch(/^"[^"]{32,}"$/);
    const known = await ada.request('GET', address, undefined, { 'if-none-match': etag });
    expect([known.status, known.headers.get('etag'), await known.text()]).toEqual([304, etag, '']);
    const rest = await ada.request('GET', address, undefined, { range: 'bytes=4-', 'if-range': etag });
    expect([rest.status, await rest.text()]).toEqual([206, 'very bytes']);
  });

  test('is attached, listed, handed out byte for byte, and part of the story', async () => {
    const response = await upload(ada, { name: 'Kessel „alt“.jpg', body: 'the very bytes' });
    expect(response.status).toBe(201);
    const { items, bytesMax } = await listOf(ada);
    expect(items).toMatchObject([
      {
        filename: 'Kessel „alt“.jpg',
        mediaType: 'image/jpeg',
        bytes: 14,
        by: { name: 'Ada' },
        image: true,
      },
    ]);
    expect(bytesMax).toBe(50 * 1024 * 1024);
    const file = await ada.request('GET', `${pathOf()}/${items[0]?.id}`);
    expect(await file.text()).toBe('the very bytes');
    expect(file.headers.get('content-disposition')).toBe(
      `attachment; filename="Kessel _alt_.jpg"; filename*=UTF-8''Kessel%20%E2%80%9Ealt%E2%80%9C.jpg`,
    );
    const story = historyResponse.parse(await ada.get(`/api/orders/${order}/history`));
    expect(story.items.at(-1)).toMatchObject({ type: 'attachment.added', actor: { name: 'Ada' } });
    // A name may say something about a person, and is left out.
    expect(JSON.stringify(story)).not.toContain('Kessel');
  });

  test('is removed, and is gone at once', async () => {
    await upload(ada);
    const [file] = (await listOf(ada)).items;
    await ada.post(`${pathOf()}/${file?.id}/remove`);
    expect((await listOf(ada)).items).toEqual([]);
    expect(await ada.refused('GET', `${pathOf()}/${file?.id}`)).toMatchObject({
      status: 404,
      reason: 'unknown_attachment',
    });
  });

  test('may be empty, and may say nothing of its type', async () => {
    expect((await upload(ada, { body: '', type: 'nonsense' })).status).toBe(201);
    expect((await listOf(ada)).items).toMatchObject([
      { bytes: 0, mediaType: 'application/octet-stream', image: false },
    ]);
  });
});

describe('what a file says it is', () => {
  test.each([
    ['text/html', '<script>alert(1)</script>'],
    ['image/svg+xml', '<svg onload="alert(1)"/>'],
    ['application/pdf', '%PDF-'],
  ])('%s is never shown by a browser, however it is asked for', async (type, body) => {
    await upload(ada, { type, body });
    const [file] = (await listOf(ada)).items;
    for (const query of ['', '?show=inline']) {
      const { headers } = await ada.request('GET', `${pathOf()}/${file?.id}${query}`);
      expect(headers.get('content-type')).toBe(type);
      expect(headers.get('content-disposition')).toMatch(/^attachment;/);
      expect(headers.get('content-security-policy')).toBe("default-src 'none'; sandbox");
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('cache-control')).toBe('private, no-store');
    }
  });

  test.each(['text/javascript', 'application/x-javascript', 'text/css', 'application/wasm'])(
    '%s is answered as bytes, so that no page can be made to run it',
    async (type) => {
      await upload(ada, { type });
      const [file] = (await listOf(ada)).items;
      const { headers } = await ada.request('GET', `${pathOf()}/${file?.id}`);
      expect(headers.get('content-type')).toBe('application/octet-stream');
    },
  );

  test('a picture is shown in the page, and kept as a file otherwise', async () => {
    await upload(ada, { type: 'image/png' });
    const [file] = (await listOf(ada)).items;
    const shown = await ada.request('GET', `${pathOf()}/${file?.id}?show=inline`);
    expect(shown.headers.get('content-type')).toBe('image/png');
    expect(shown.headers.get('content-disposition')).toMatch(/^inline;/);
    const stored = await ada.request('GET', `${pathOf()}/${file?.id}`);
    expect([stored.headers.get('content-type'), stored.headers.get('content-disposition')]).toEqual([
      'image/png',
      expect.stringMatching(/^attachment;/),
    ]);
  });
});

type Refused = readonly [
  what: string,
  file: Parameters<typeof upload>[1],
  status: number,
  reason: string | undefined,
];

const WRONG_LENGTHS: readonly Refused[] = [
  ['a file that is longer than it said', { headers: { 'content-length': '2' } }, 400, 'length_mismatch'],
  ['a file that is too large', { headers: { 'content-length': '99999999' } }, 413, undefined],
];

describe('what cannot be attached', () => {
  test.each<Refused>([
    ['a name that leads elsewhere', { name: '../../etc/passwd' }, 400, 'filename_malformed'],
    ['a name with a line break', { name: 'a\nb.jpg' }, 400, 'filename_malformed'],
    ['no name', { name: '' }, 400, undefined],
    // A connection carries no more bytes than its header says: in front of a process, these two cannot be sent.
    ...(IS_DEPLOYED ? [] : WRONG_LENGTHS),
    ['a compressed file', { headers: { 'content-encoding': 'gzip' } }, 415, undefined],
    ['anything from another site', { headers: { origin: 'https://evil.example' } }, 403, 'cross_site'],
  ])('%s is refused in words, and leaves nothing', async (_what, file, status, reason) => {
    const response = await upload(ada, file);
    const problem = (await response.json()) as { reason?: string; detail: string };
    expect([response.status, problem.reason]).toEqual([status, reason]);
    expect(problem.detail).toMatch(/\.$/);
    expect((await listOf(ada)).items).toEqual([]);
  });

  test('a file for an order that is not there, or is another tenant’s', async () => {
    const bob = await fixture.signedIn(fixture.sparks, 'bob');
    await bob.get('/api/me');
    expect((await upload(bob)).status).toBe(404);
    expect(
      (await upload(ada, { to: order.replace(/.$/, (last) => (last === 'z' ? 'y' : 'z')) })).status,
    ).toBe(404);
  });
});

describe('whose files they are', () => {
  test('a technician has those of his own orders, and refusals are on record', async () => {
    const { member: jo, principal } = await joinTeam(fixture, ada, fixture.pipes, 'jo', 'technician');
    await upload(ada);
    const [file] = (await listOf(ada)).items;
    for (const [method, path] of [
      ['GET', pathOf()],
      ['GET', `${pathOf()}/${file?.id}`],
      ['POST', `${pathOf()}/${file?.id}/remove`],
    ] as const)
      expect(await jo.refused(method, path, method === 'POST' ? {} : undefined)).toMatchObject({
        code: 'permission_denied',
      });
    expect((await upload(jo)).status).toBe(403);
    await ada.post(`/api/orders/${order}/assign`, { assignee: principal });
    expect((await upload(jo, { name: 'his.jpg' })).status).toBe(201);
    expect((await listOf(jo)).items.map(({ filename }) => filename)).toEqual(['boiler.jpg', 'his.jpg']);
    const denials = await ada.get<{ items: unknown[] }>('/api/denials');
    expect(denials.items).toHaveLength(4);
  });

  test('a technician adds files to his order and removes none, and a finished order keeps its own', async () => {
    const { member: jo, principal } = await joinTeam(fixture, ada, fixture.pipes, 'jo', 'technician');
    await ada.post(`/api/orders/${order}/assign`, { assignee: principal });
    await upload(jo, { name: 'his.jpg' });
    const [file] = (await listOf(jo)).items;
    const remove = `${pathOf()}/${file?.id}/remove`;
    expect(await jo.refused('POST', remove, {})).toMatchObject({ status: 403, reason: 'order_detach' });
    await ada.post(`/api/orders/${order}/cancel`, {});
    expect(await ada.refused('POST', remove, {})).toMatchObject({
      code: 'immutable',
      reason: 'order_is_cancelled',
    });
    expect((await listOf(ada)).items).toHaveLength(1);
  });

  test('a file of one order is none of another, although both may be seen', async () => {
    const other = await openOrder('Other');
    await upload(ada);
    const [file] = (await listOf(ada)).items;
    expect(await ada.refused('GET', `${pathOf(other)}/${file?.id}`)).toMatchObject({ status: 404 });
    expect(await ada.refused('POST', `${pathOf(other)}/${file?.id}/remove`, {})).toMatchObject({
      status: 404,
    });
    expect((await listOf(ada)).items).toHaveLength(1);
  });

  test('an anonymous caller has none', async () => {
    const anonymous = fixture.visitor(fixture.pipes);
    expect(await anonymous.refused('GET', pathOf())).toMatchObject({ status: 401 });
    expect((await upload(anonymous)).status).toBe(401);
  });
});

test('where there is no place for bytes, attaching says so', async () => {
  await using bare = await openFixture({ blobs: undefined as never });
  const bob = await bare.signedIn(bare.pipes, 'bob');
  await bob.get('/api/me');
  const customer = await bob.post<{ id: string }>('/api/customers', { name: 'Müller' });
  const { id } = await bob.post<{ id: string }>('/api/orders', { customer: customer.id, title: 'x' });
  const response = await upload(bob, { to: id });
  expect([response.status, await response.json()]).toMatchObject([501, { reason: 'no_blob_store' }]);
});
