/** The public surface over sockets, as a service of a real scope (spec D-12, D-13, D-14). */
import { expect, test } from 'vitest';
import { type BookingShop, openBookingShop, owner, ref } from './booking-shop.ts';
import { problemOf, SHOP } from './surface.ts';

const service = 'service:booking';

function book(
  { baseUrl }: BookingShop,
  { day = '2026-05-01', key, origin = SHOP }: { day?: unknown; key?: string; origin?: string } = {},
): Promise<Response> {
  return fetch(`${baseUrl}/bookings`, {
    method: 'POST',
    body: JSON.stringify({ day }),
    headers: {
      origin,
      'content-type': 'application/json',
      cookie: 'sb_session=member',
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    },
  });
}

async function open(): Promise<BookingShop> {
  const shop = await openBookingShop();
  await shop.own('site/set', { origins: [`${SHOP}/`] });
  return shop;
}

test('a booking from a listed page is the service’s, and no other principal’s', async () => {
  await using shop = await open();
  const response = await book(shop);
  const { booking } = (await response.json()) as { booking: string };
  expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([201, SHOP]);
  expect(await shop.own('booking/list', {})).toEqual([{ id: booking, day: '2026-05-01' }]);
  const entity = { type: 'booking', id: booking };
  const { items } = await shop.host.scope(ref.scopeId).history({ entity, limit: 5 });
  expect(items).toMatchObject([{ type: 'booking.requested', actor: service }]);
});

test('a repeated click books once, and says so', async () => {
  await using shop = await open();
  const key = crypto.randomUUID();
  const [first, second] = [await book(shop, { key }), await book(shop, { key })];
  expect([first.status, second.status]).toEqual([201, 201]);
  expect(await second.json()).toEqual(await first.json());
  expect([first, second].map(({ headers }) => headers.get('idempotency-replayed'))).toEqual([null, 'true']);
  const other = await book(shop, { key, day: '2026-05-02' });
  expect(await problemOf(other)).toMatchObject({ code: 'conflict', reason: 'idempotency_key_reused' });
  expect(await shop.own('booking/list', {})).toHaveLength(1);
});

test('two clicks at once book once', async () => {
  await using shop = await open();
  const key = crypto.randomUUID();
  const answers = await Promise.all(
    Array.from({ length: 8 }, async () => (await book(shop, { key })).json()),
  );
  expect(new Set(answers.map((each) => JSON.stringify(each))).size).toBe(1);
  expect(await shop.own('booking/list', {})).toHaveLength(1);
});

test('the service may do what the manifest grants it and nothing else, and the attempt is in the denial log', async () => {
  await using shop = await open();
  await book(shop);
  const response = await fetch(`${shop.baseUrl}/bookings`, { headers: { origin: SHOP } });
  expect(response.headers.get('access-control-allow-origin')).toBe(SHOP);
  expect(await problemOf(response)).toMatchObject({ status: 403, code: 'permission_denied' });
  const { items } = await shop.host.listDenialsLocal({ ...ref, limit: 5 });
  expect(items).toMatchObject([{ actor: service, permission: 'booking.read', operation: 'booking/list' }]);
  const scope = shop.host.scope(ref.scopeId);
  for (const permission of ['booking.read', 'site.write'])
    expect(await scope.explain({ principal: service, permission })).toEqual([]);
  expect((await scope.holdings({ principal: service })).permissions).toEqual([
    'booking.request',
    'site.read',
  ]);
});

test('a site that the owner takes off the list is refused from the next request on', async () => {
  await using shop = await open();
  expect((await book(shop)).status).toBe(201);
  await shop.own('site/set', { origins: ['https://other.example'] });
  expect((await book(shop, { day: '2026-05-02' })).status).toBe(403);
  expect((await book(shop, { day: '2026-05-02', origin: 'https://other.example' })).status).toBe(201);
  expect(await shop.own('booking/list', {})).toHaveLength(2);
});

test('a scope that is not there is refused in the words of a site that is not listed', async () => {
  await using shop = await open();
  const nowhere = { ...shop, baseUrl: shop.baseUrl.replace(ref.scopeId, 'scp_01j00000000000000000000009') };
  const [unknown, unlisted] = await Promise.all(
    [book(nowhere), book(shop, { origin: 'https://evil.example' })].map(async (each) => {
      const { requestId: _, ...problem } = await problemOf(await each);
      return problem;
    }),
  );
  expect(unknown).toEqual(unlisted);
  expect(unknown).toMatchObject({ status: 403, reason: 'origin_not_allowed' });
});

test('what the operation does not take is told with its fields', async () => {
  await using shop = await open();
  const response = await book(shop, { day: 'tomorrow' });
  expect(response.headers.get('access-control-allow-origin')).toBe(SHOP);
  expect(await problemOf(response)).toMatchObject({ status: 400, errors: [{ path: 'day' }] });
  const extra = await fetch(`${shop.baseUrl}/bookings`, {
    method: 'POST',
    body: JSON.stringify({ day: '2026-05-01', principal: owner }),
    headers: { origin: SHOP, 'content-type': 'application/json' },
  });
  expect(await problemOf(extra)).toMatchObject({ status: 400, code: 'validation_failed' });
  expect(await shop.own('booking/list', {})).toEqual([]);
});
