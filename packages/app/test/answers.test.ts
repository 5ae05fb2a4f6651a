/** Answers around operations: files without a reader, ids that are numbers, names, and problems for people. */
import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import { operation } from '@freehold/kernel';
import type { BlobStore } from '@freehold/store';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { makeMemoryBlobStore } from '../../engine-node/src/index.ts';
import type { AppDeclaration, WebFile } from '../src/index.ts';
import { declaration, openSmallApp, type Reader } from './small-app.ts';

const room = z.object({ id: z.int() });

/** Rooms have numbers, and files. */
const withRooms: Partial<AppDeclaration> = {
  manifest: {
    ...declaration.manifest,
    entities: {
      ...declaration.manifest.entities,
      room: { read: 'guest.read', attachments: { read: 'guest.read', write: 'guest.write' } },
    },
  },
  operations: {
    ...declaration.operations,
    'room/get': operation({
      summary: 'Show a room',
      input: z.strictObject({ room: z.int() }),
      output: room,
      permission: 'guest.read',
      entity: (input) => ({ type: 'room', id: String(input.room) }),
      http: { method: 'GET', path: '/api/rooms/:room' },
      run: (_ctx, { room: id }) => ({ id }),
    }),
  },
};

/** A store that counts the streams it opened and the ones that were read or cancelled. */
function countingBlobs() {
  const store = makeMemoryBlobStore({ now: () => 0 });
  const counts = { opened: 0, released: 0 };
  const blobs: BlobStore = {
    ...store,
    open: async (digest, range) => {
      const body = await store.open(digest, range);
      if (body === null) return null;
      counts.opened += 1;
      const reader = body.getReader();
      return new ReadableStream<Uint8Array>(
        {
          pull: async (controller) => {
            const { done, value } = await reader.read();
            if (value) controller.enqueue(value);
            if (!done) return;
            counts.released += 1;
            controller.close();
          },
          cancel: async () => {
            counts.released += 1;
            await reader.cancel();
          },
        },
        { highWaterMark: 0 },
      );
    },
  };
  return { blobs, counts };
}

async function openRooms() {
  const { blobs, counts } = countingBlobs();
  const fixture = await openSmallApp({ app: withRooms, services: { blobs: () => blobs } });
  const ada = await fixture.signedIn('ada', 'Ada');
  await ada.open('/');
  const cookie = await fixture.cookieOf('ada', 'Ada');
  const send = (method: string, path: string, body?: string) =>
    fixture.call(
      new Request(`${fixture.at.origin}${path}`, {
        method,
        headers: { cookie, 'content-type': 'image/png' },
        ...(body === undefined ? {} : { body }),
      }),
    );
  return { fixture, ada, send, counts };
}

async function jsonOf<T>(response: Response | Promise<Response>): Promise<T> {
  return (await (await response).json()) as T;
}

test('HEAD of a file says what GET would, and leaves nothing open', async () => {
  const { fixture, send, counts } = await openRooms();
  await using _ = fixture;
  const { id } = await jsonOf<{ id: string }>(send('POST', '/api/rooms/7/attachments?filename=a.png', 'abc'));
  const head = await send('HEAD', `/api/rooms/7/attachments/${id}`);
  expect([head.status, head.headers.get('content-length')]).toEqual([200, '3']);
  expect(counts).toEqual({ opened: 1, released: 1 });
  const whole = await send('GET', `/api/rooms/7/attachments/${id}`);
  expect(await whole.text()).toBe('abc');
});

test('a record whose id is a number has its history and its files, under one spelling', async () => {
  const { fixture, send } = await openRooms();
  await using _ = fixture;
  // 7e0 is the same number, and so the same room.
  await send('POST', '/api/rooms/7e0/attachments?filename=a.png', 'abc');
  const { items } = await jsonOf<{ items: unknown[] }>(send('GET', '/api/rooms/7/attachments'));
  expect(items).toHaveLength(1);
  const history = await jsonOf<{ items: unknown[] }>(send('GET', '/api/rooms/7/history'));
  expect(history.items).toMatchObject([{ type: 'attachment.added', entity: { type: 'room', id: '7' } }]);
  const wrong = await send('GET', '/api/rooms/seven/history');
  expect(await jsonOf(wrong)).toMatchObject({ code: 'validation_failed', errors: [{ path: 'room' }] });
});

test('a person without a name is known by the address to those alone who manage the team', async () => {
  await using fixture = await openSmallApp();
  const ada = await fixture.signedIn('ada', '');
  await ada.open('/');
  const { id } = await jsonOf<{ id: string }>(ada.api('POST', '/api/guests', { name: 'Grace' }));
  const { member } = await fixture.join(ada, 'bo', { role: 'porter', name: 'Bo' });
  const actorFor = async (reader: Reader) => {
    const { items } = await jsonOf<{ items: { actor: { name: string | null } }[] }>(
      reader.api('GET', `/api/guests/${id}/history`),
    );
    return items[0]?.actor.name;
  };
  expect(await actorFor(ada)).toBe('ada@example.org');
  expect(await actorFor(member)).toBeNull();
});

test('the page of a refusal has the request id of its header', async () => {
  await using fixture = await openSmallApp();
  const page = await fixture.reader().open('/account');
  expect(page.status).toBe(401);
  expect(page.text).toContain(`<code>${page.headers.get('x-request-id')}</code>`);
});

const BODY = new TextEncoder().encode('<!doctype html><title>Inn</title>'.repeat(20));
const INDEX: WebFile = {
  body: BODY,
  gzip: new Uint8Array(gzipSync(BODY)),
  contentType: 'text/html; charset=utf-8',
  etag: `"${createHash('sha256').update(BODY).digest('base64url')}"`,
  immutable: false,
};
const openWithPages = (more: Pick<AppDeclaration, 'suppliedPages'> = {}) =>
  openSmallApp({ app: { web: './web', ...more }, services: { webFiles: new Map([['/index.html', INDEX]]) } });

test('an application with pages of its own shows people a page for a refusal of its API, and programs the document', async () => {
  await using fixture = await openWithPages();
  const page = await fixture.reader().open('/api/nothing');
  expect([page.status, page.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
  expect(page.text).toContain('<code>not_found</code>');
  const response = await fixture.reader().api('GET', '/api/nothing');
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  // A missing file is no page.
  expect((await fixture.reader().api('GET', '/assets/gone.js')).status).toBe(404);
  // Its own pages are served as before: the supplied ones take no address of theirs.
  expect((await fixture.reader().open('/team')).text).toBe(new TextDecoder().decode(BODY));
});

test('an application whose pages are not built says so', async () => {
  await using fixture = await openSmallApp({ app: { web: './web' } });
  const page = await fixture.reader().open('/');
  expect([page.status, page.text]).toEqual([200, expect.stringContaining('run npm run build')]);
  expect((await fixture.reader().open('/bookings')).status).toBe(404);
});

test('an application keeps the supplied pages beside its own where it says so', async () => {
  await using fixture = await openWithPages({ suppliedPages: true });
  const own = new TextDecoder().decode(BODY);
  const ada = await fixture.signedIn('ada', 'Ada Lovelace');
  const titleAt = async (path: string) => /<h1>(.*)<\/h1>/.exec((await ada.open(path)).text)?.[1];
  expect([(await ada.open('/')).text, (await ada.open('/bookings')).text]).toEqual([own, own]);
  expect(await titleAt('/team')).toBe('Team');
  expect(await titleAt('/account')).toBe('Your account');
  expect(await titleAt('/?invite=none')).toBe('This link does not work');
  expect(await titleAt('/?claim=none')).toBeDefined();
});

test('a person who is no member is told so at every address, also beside pages of the application’s own', async () => {
  await using fixture = await openWithPages({ suppliedPages: true });
  const own = new TextDecoder().decode(BODY);
  const ada = await fixture.signedIn('ada', 'Ada Lovelace');
  expect((await ada.open('/bookings')).text).toBe(own);
  const eve = await fixture.signedIn('eve', 'Eve');
  for (const path of ['/', '/bookings?day=1', '/team', '/api/docs']) {
    const page = await eve.open(path);
    expect([path, page.status, page.headers.get('cache-control')]).toEqual([path, 403, 'private, no-store']);
    expect(page.text).toContain('<h1>You are not a member here</h1>');
    expect(page.text).toContain(`/api/auth/login?switch&amp;returnTo=${encodeURIComponent(path)}`);
    expect(page.text).toContain('/api/auth/logout');
  }
  // A visitor who is not signed in gets the application's own page, and so does every client that shows no page.
  expect((await fixture.reader().open('/')).text).toBe(own);
  expect(await (await eve.api('GET', '/')).text()).toBe(own);
  // Programs get the problem.
  expect(await jsonOf(eve.api('GET', '/api/guests/1'))).toMatchObject({ reason: 'not_a_member' });
});

test('an application that keeps no supplied pages tells people itself who are no members', async () => {
  await using fixture = await openWithPages();
  await (await fixture.signedIn('ada', 'Ada')).open('/api/me');
  const eve = await fixture.signedIn('eve', 'Eve');
  expect((await eve.open('/')).text).toBe(new TextDecoder().decode(BODY));
  expect(await jsonOf(eve.api('GET', '/api/me'))).toMatchObject({ status: 'stranger' });
  expect((await eve.open('/api/docs')).text).toContain('<h1>You are not a member here</h1>');
});

test('built pages are negotiated as HTTP has it', async () => {
  await using fixture = await openWithPages();
  const get = (headers: Record<string, string>) =>
    fixture.call(new Request(`${fixture.at.origin}/`, { headers }));
  const packed = await get({ 'accept-encoding': 'gzip' });
  expect(gunzipSync(await packed.bytes())).toEqual(Buffer.from(BODY));
  expect((await get({ 'accept-encoding': 'gzip;q=0' })).headers.get('content-encoding')).toBeNull();
  const tag = packed.headers.get('etag') ?? '';
  // One tag for both codings promises no bytes.
  expect(tag).toBe(`W/${INDEX.etag}`);
  for (const known of [tag, INDEX.etag, '*'])
    expect((await get({ 'if-none-match': known })).status).toBe(304);
  expect((await get({ 'if-none-match': `"x${INDEX.etag.slice(1)}` })).status).toBe(200);
});
