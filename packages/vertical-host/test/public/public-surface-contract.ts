/** Every sentence of spec 4.6, over HTTP. It asks for nothing but Web APIs, so that it runs in workerd as well. */
import { PlatformError } from '@freehold/contracts';
import { Hono } from 'hono';
import { cors } from 'hono/cors';
import { HTTPException } from 'hono/http-exception';
import { describe, expect, test } from 'vitest';
import { mountPlatformSurface, mountPublicSurface, type PublicActor } from '../../src/index.ts';
import { fuzzPublicSurface } from './public-surface-fuzz.ts';
import {
  type Ask,
  corsOf,
  HOSTILE,
  json,
  openSurface,
  problemOf,
  SHOP,
  type Surface,
  seen,
} from './surface.ts';

const KEY = { 'idempotency-key': 'a-visitor-s-own-key' };

/** One request of each kind, by what comes of it for a listed page. */
const ASKS: readonly (readonly [status: number, path: string, init: Ask])[] = [
  [200, '/public/slots', { origin: SHOP }],
  [200, '/public/slots/2026-01-01', { method: 'HEAD', origin: SHOP }],
  [200, '/public/bookings', json({ day: '2026-01-01' })],
  [200, '/public/bookings/7', { method: 'DELETE', origin: SHOP }],
  [204, '/public/bookings', { method: 'OPTIONS', origin: SHOP }],
  [204, '/public/bookings', preflight('POST')],
  [400, '/public/bookings', json('{')],
  [400, '/public/bookings', json({}, { headers: { 'idempotency-key': '' } })],
  [404, '/public', { origin: SHOP }],
  [404, '/public/', { origin: SHOP }],
  [404, '/public/nothing', { origin: SHOP }],
  [404, '/public/slots/', { origin: SHOP }],
  [404, '/public//slots', { origin: SHOP }],
  [404, '/public/nothing', preflight('POST')],
  [405, '/public/slots', json({})],
  [405, '/public/bookings', { origin: SHOP }],
  [413, '/public/bookings', json({ note: 'x'.repeat(1024 * 1024) })],
  [415, '/public/bookings', json('a=1', { headers: { 'content-type': 'text/plain' } })],
];

function preflight(method: string, headers = 'content-type,idempotency-key'): Ask {
  return {
    method: 'OPTIONS',
    origin: SHOP,
    headers: { 'access-control-request-method': method, 'access-control-request-headers': headers },
  };
}

/** Nothing of the vertical was asked to do anything. */
function expectUntouched({ handled, invoked }: Surface): void {
  expect([handled, invoked]).toEqual([[], []]);
}

export function describePublicSurface(): void {
  describe('D-12 the surface is one service', () => {
    test('the resolver is told which, and where the request is from', async () => {
      const surface = openSurface();
      await surface.ask('/public/slots');
      await surface.ask('/public/slots', { origin: 'http://localhost:5173' });
      expect(surface.asked).toEqual([
        { origin: SHOP, service: 'booking' },
        { origin: 'http://localhost:5173', service: 'booking' },
      ]);
    });

    test('a handler is given its actor, the origin and the body', async () => {
      const surface = openSurface();
      const response = await surface.ask('/public/bookings', json({ day: '2026-01-01', people: 2 }));
      expect([response.status, await response.json()]).toEqual([200, { done: true }]);
      expect(surface.handled).toMatchObject([
        {
          origin: SHOP,
          body: { day: '2026-01-01', people: 2 },
          actor: { allowedOrigins: surface.live.origins },
        },
      ]);
      expect(surface.invoked).toEqual([
        { operation: 'booking/request', input: { day: '2026-01-01', people: 2 }, key: undefined },
      ]);
    });

    test.each<[string, string, Ask]>([
      [
        'a header',
        '/public/bookings',
        json({}, { headers: { 'x-service': 'admin', 'x-principal': 'prn_1' } }),
      ],
      ['the platform’s own header', '/public/bookings', json({}, { headers: { 'x-platform-secret': 'x' } })],
      ['a cookie', '/public/bookings', json({}, { headers: { cookie: 'sb_session=admin; service=admin' } })],
      ['a token', '/public/bookings', json({}, { headers: { authorization: 'Bearer admin' } })],
      ['the query', '/public/bookings?service=admin&principal=prn_1', json({})],
      [
        'a method in disguise',
        '/public/bookings',
        json({}, { headers: { 'x-http-method-override': 'DELETE' } }),
      ],
    ])('no other is selected by %s', async (_, path, init) => {
      const surface = openSurface();
      expect((await surface.ask(path, init)).status).toBe(200);
      expect(surface.asked).toEqual([{ origin: SHOP, service: 'booking' }]);
      expect(surface.invoked).toEqual([{ operation: 'booking/request', input: {}, key: undefined }]);
    });

    test('fields of a body are input and nothing else', async () => {
      const surface = openSurface();
      const body = {
        service: 'admin',
        principal: 'prn_1',
        actor: {},
        origin: 'https://x',
        idempotencyKey: 'k',
      };
      await surface.ask('/public/bookings', json(body));
      expect(surface.asked).toEqual([{ origin: SHOP, service: 'booking' }]);
      expect(surface.invoked).toEqual([{ operation: 'booking/request', input: body, key: undefined }]);
    });

    test.each(['/public/slots', '/public/bookings'])(
      'a signed-in member is an ordinary visitor here: %s',
      async (path) => {
        const told: unknown[] = [];
        const who = (headers: Headers) => [headers.get('cookie'), headers.get('authorization')];
        const surface = openSurface({
          resolveActor: (c): PublicActor => {
            told.push(who(c.req.raw.headers), c.req.header('cookie'));
            return { allowedOrigins: [SHOP], invoke: () => Promise.reject(new Error('unused')) };
          },
          handler: (c) => {
            told.push(who(c.req.raw.headers), c.req.header('authorization'));
            return c.json(Object.keys(c.req.header()).sort());
          },
        });
        const headers = { cookie: 'sb_session=ada', authorization: 'Bearer ada', 'accept-language': 'nb' };
        const init = path === '/public/slots' ? { origin: SHOP, headers } : json({ day: 1 }, { headers });
        const response = await surface.ask(path, init);
        expect(told).toEqual([[null, null], undefined, [null, null], undefined]);
        expect(await response.json()).toEqual(expect.arrayContaining(['accept-language', 'origin']));
      },
    );
  });

  describe('D-13 CORS', () => {
    test.each(ASKS)('a listed page may read a %i (%s)', async (status, path, init) => {
      const surface = openSurface();
      const response = await surface.ask(path, init);
      expect(response.status).toBe(status);
      expect(response.headers.get('access-control-allow-origin')).toBe(SHOP);
      expect(response.headers.has('access-control-allow-credentials')).toBe(false);
      expect(response.headers.get('access-control-expose-headers')).toContain('retry-after');
    });

    test.each(ASKS)(
      'an unlisted page may not read what is a %i to others (%s)',
      async (_status, path, init) => {
        const surface = openSurface();
        surface.live.origins = ['https://elsewhere.example'];
        const response = await surface.ask(path, init);
        expect([response.status, corsOf(response)]).toEqual([403, {}]);
        expectUntouched(surface);
      },
    );

    test.each(ASKS)(
      'the answer to a %i differs by origin, and says so to caches (%s)',
      async (_, path, init) => {
        for (const origin of [SHOP, 'https://evil.example', 'null', undefined]) {
          const response = await openSurface().ask(path, { ...init, origin });
          expect(response.headers.get('vary')).toBe('Origin');
        }
      },
    );

    test('the list is read live: what is taken off it is refused from the next request on', async () => {
      const surface = openSurface();
      const statuses = async () => [
        (await surface.ask('/public/slots')).status,
        (await surface.ask('/public/bookings', preflight('POST'))).status,
        (await surface.ask('/public/bookings', json({}))).status,
      ];
      expect(await statuses()).toEqual([200, 204, 200]);
      surface.live.origins = surface.live.origins.filter((origin) => origin !== SHOP);
      expect(await statuses()).toEqual([403, 403, 403]);
      surface.live.origins.push(SHOP);
      expect(await statuses()).toEqual([200, 204, 200]);
      expect(surface.asked).toHaveLength(9);
    });

    test('the same list, changed in place, is read live as well', async () => {
      const allowedOrigins = [SHOP];
      const invoke = () => Promise.reject(new Error('unused'));
      const surface = openSurface({
        resolveActor: () => ({ allowedOrigins, invoke }),
        handler: (c) => c.text('ok'),
      });
      expect((await surface.ask('/public/slots')).status).toBe(200);
      allowedOrigins[0] = 'https://new.example';
      expect((await surface.ask('/public/slots')).status).toBe(403);
      expect((await surface.ask('/public/slots', { origin: 'https://new.example' })).status).toBe(200);
    });

    test('a resolver that takes its time is waited for', async () => {
      let open: (actor: PublicActor) => void = () => undefined;
      const resolving = new Promise<PublicActor>((resolve) => {
        open = resolve;
      });
      const surface = openSurface({ resolveActor: () => resolving, handler: (c) => c.text('ok') });
      const asking = surface.ask('/public/slots');
      await new Promise((resolve) => setTimeout(resolve, 0));
      expect(surface.handled).toEqual([]);
      open({ allowedOrigins: [SHOP], invoke: () => Promise.reject(new Error('unused')) });
      expect((await asking).status).toBe(200);
    });

    test.each([
      ['/public/slots', 'GET', 'GET, HEAD, OPTIONS'],
      ['/public/slots/2026-01-01', 'GET', 'GET, HEAD, OPTIONS'],
      ['/public/bookings', 'POST', 'OPTIONS, POST'],
      ['/public/bookings/7', 'DELETE, GET, PATCH', 'DELETE, GET, HEAD, OPTIONS, PATCH'],
      // It is also `/bookings/:id`.
      ['/public/bookings/latest', 'DELETE, GET, PATCH, PUT', 'DELETE, GET, HEAD, OPTIONS, PATCH, PUT'],
    ])('the preflight of %s advertises exactly %s', async (path, methods, allow) => {
      const surface = openSurface();
      for (const asked of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'QUERY', 'TRACE']) {
        const response = await surface.ask(path, preflight(asked, 'x-principal,authorization'));
        expect([response.status, await response.text()]).toEqual([204, '']);
        expect(corsOf(response)).toEqual({
          'access-control-allow-origin': SHOP,
          'access-control-allow-methods': methods,
          'access-control-allow-headers': 'content-type, idempotency-key',
          'access-control-max-age': '60',
          'access-control-expose-headers': 'allow, etag, idempotency-replayed, retry-after, x-request-id',
        });
        expect(response.headers.get('allow')).toBe(allow);
      }
      expectUntouched(surface);
    });

    test('what else was written about CORS, cookies and caching does not open it', async () => {
      const careless = {
        'access-control-allow-origin': '*',
        'access-control-allow-credentials': 'true',
        'access-control-expose-headers': 'set-cookie',
        'set-cookie': 'sb_session=ada',
      };
      const handled = openSurface({
        handler: (c) => c.text('ok', 200, { ...careless, vary: 'accept-language' }),
      });
      const caught = openSurface({ onError: (_error, c) => c.text('no', 418, careless) });
      caught.live.origins = [];
      const global = openSurface({
        before: (app) => void app.get('*', cors({ origin: '*', credentials: true })),
      });
      global.live.origins = [];
      const answers = [
        await handled.ask('/public/slots'),
        await caught.ask('/public/slots'),
        await global.ask('/public/slots'),
      ];
      expect(answers.map((each) => each.status)).toEqual([200, 418, 403]);
      expect(answers.map((each) => each.headers.get('access-control-allow-origin'))).toEqual([
        SHOP,
        null,
        null,
      ]);
      expect(corsOf(answers[1] as Response)).toEqual({});
      for (const { headers } of answers.slice(0, 2))
        expect([headers.get('access-control-allow-credentials'), headers.get('set-cookie')]).toEqual([
          null,
          null,
        ]);
      expect(answers[0]?.headers.get('vary')).toBe('accept-language, Origin');
      expect(answers[0]?.headers.get('access-control-expose-headers')).not.toContain('cookie');
    });

    test('a handler says how long its answer may be cached; by default it is not', async () => {
      const surface = openSurface({
        handler: (c) =>
          c.text('ok', 200, c.req.query('keep') ? { 'cache-control': 'max-age=60', vary: '*' } : {}),
      });
      const stored = await surface.ask('/public/slots?keep=1');
      const plain = await surface.ask('/public/slots');
      expect([stored, plain].map(({ headers }) => headers.get('cache-control'))).toEqual([
        'max-age=60',
        'no-store',
      ]);
      expect([stored, plain].map(({ headers }) => headers.get('vary'))).toEqual(['*', 'Origin']);
      expect(plain.headers.get('x-content-type-options')).toBe('nosniff');
      expect(plain.headers.get('x-request-id')).toMatch(/./);
    });

    test('a response that cannot be changed is dressed like any other', async () => {
      const surface = openSurface({ handler: () => Response.redirect('https://elsewhere.example/', 303) });
      const response = await surface.ask('/public/slots');
      expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([303, SHOP]);
      expect(response.headers.get('location')).toBe('https://elsewhere.example/');
    });

    test.each([204, 202])(
      'a response %i without a body, which a handler shares, keeps nothing of a request',
      async (status) => {
        const shared = new Response(null, { status });
        let replayed = true;
        const surface = openSurface({
          handler: async (_c, { actor }) => {
            await actor.invoke('booking/request', {});
            return shared;
          },
          invoke: async () => ({ replayed }),
        });
        const first = await surface.ask('/public/bookings', json({}));
        replayed = false;
        const second = await surface.ask('/public/bookings', json({}, { origin: 'http://localhost:5173' }));
        const told = [first, second].map(({ headers }) => [
          headers.get('access-control-allow-origin'),
          headers.get('idempotency-replayed'),
        ]);
        expect(told).toEqual([
          [SHOP, 'true'],
          ['http://localhost:5173', null],
        ]);
        expect(first.headers.get('x-request-id')).toMatch(/./);
        expect(second.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
        expect([...shared.headers]).toEqual([]);
      },
    );
  });

  describe('D-14 refusal', () => {
    test.each([
      ['none', undefined],
      ['empty', ''],
      ['null', 'null'],
      ['another site', 'https://evil.example'],
      ['another scheme', 'http://shop.example'],
      ['another port', 'https://shop.example:8443'],
      ['the port that is meant anyway', 'https://shop.example:443'],
      ['a subdomain', 'https://www.shop.example'],
      ['a longer name', 'https://shop.example.evil.example'],
      ['a name before it', 'https://evil-shop.example'],
      ['a part of it', 'https://shop'],
      ['capitals in the name', 'https://Shop.example'],
      ['capitals in the scheme', 'HTTPS://shop.example'],
      ['a dot at the end', 'https://shop.example.'],
      ['a slash at the end', 'https://shop.example/'],
      ['a path', 'https://shop.example/widget'],
      ['a query', 'https://shop.example?x'],
      ['a fragment', 'https://shop.example#x'],
      ['a user', 'https://shop.example@evil.example'],
      ['a user before it', 'https://user:pass@shop.example'],
      ['punycode that looks alike', 'https://xn--shp-cka.example'],
      ['percent-encoding', 'https://%73hop.example'],
      ['a backslash', 'https:\\\\shop.example'],
      ['no scheme', 'shop.example'],
      ['only a scheme', 'https://'],
      ['several', 'https://shop.example, https://shop.example'],
      ['several with spaces', 'https://shop.example https://evil.example'],
      ['a star', '*'],
      ['a pattern', 'https://*.example'],
      ['a file', 'file://'],
      ['data', 'data:text/html,x'],
      ['an address', 'https://192.0.2.1'],
      ['an address of version 6', 'https://[2001:db8::1]'],
      ['a very long one', `https://${'a'.repeat(16_000)}.example`],
      ['a very long one that begins like it', `${SHOP}${'.a'.repeat(8_000)}`],
    ])('an Origin that is not listed is refused before any handler: %s', async (_, origin) => {
      const surface = openSurface();
      for (const [, path, init] of ASKS) {
        const response = await surface.ask(path, { ...init, origin });
        expect([response.status, corsOf(response)]).toEqual([403, {}]);
        if (init.method !== 'HEAD')
          expect(await problemOf(response)).toMatchObject({
            code: 'forbidden',
            reason: 'origin_not_allowed',
          });
      }
      expectUntouched(surface);
    });

    test.each([
      'null',
      '*',
      '',
      'https://*.example',
      'https://shop.example/',
      'https://a.example, https://b.example',
    ])('a list with %j lets no page in by it', async (entry) => {
      const surface = openSurface();
      surface.live.origins = [entry];
      for (const origin of [entry, SHOP, 'https://any.example', undefined])
        expect((await surface.ask('/public/slots', { origin })).status).toBe(403);
      expectUntouched(surface);
    });

    test('without an origin of its own, a request is not even looked up', async () => {
      const surface = openSurface();
      for (const origin of [undefined, 'null', '', `https://${'a'.repeat(400)}.example`, `${SHOP}, ${SHOP}`])
        await surface.ask('/public/slots', { origin });
      expect(surface.asked).toEqual([]);
    });

    test('an unlisted origin, an unknown tenant, no origin and null are told the same', async () => {
      for (const [, path, init] of ASKS.filter(([, , { method }]) => method !== 'HEAD')) {
        const refusals = [
          openSurface().ask(path, { ...init, origin: 'https://evil.example' }),
          openSurface({ resolveActor: () => null }).ask(path, init),
          openSurface({ resolveActor: async () => null }).ask(path, init),
          openSurface({
            resolveActor: () => {
              throw new PlatformError('not_found', 'There is no such scope.', { reason: 'unknown_scope' });
            },
          }).ask(path, init),
          openSurface().ask(path, { ...init, origin: undefined }),
          openSurface().ask(path, { ...init, origin: 'null' }),
          openSurface({ onError: null }).ask(path, { ...init, origin: 'https://evil.example' }),
        ];
        const [first, ...others] = await Promise.all(refusals.map(async (each) => seen(await each)));
        for (const other of others) expect(other).toEqual(first);
        expect(first).toMatchObject({ problem: { status: 403 } });
      }
    });

    test('an actor whose list is no list lets no page in', async () => {
      for (const allowedOrigins of [
        `${SHOP}, https://b.example`,
        undefined,
        null,
        { includes: () => true },
      ]) {
        const surface = openSurface({
          resolveActor: () => ({ allowedOrigins: allowedOrigins as never, invoke: () => Promise.reject() }),
        });
        expect((await problemOf(await surface.ask('/public/slots'))).code).toBe('internal');
        expect(surface.incidents).toHaveLength(1);
        expectUntouched(surface);
      }
    });

    test('refusals are thrown, and reach the app’s own error handler as they are', async () => {
      const surface = openSurface();
      await surface.ask('/public/slots', { origin: 'https://evil.example' });
      await surface.ask('/public/nothing');
      await surface.ask('/public/slots', json({}));
      await surface.ask('/public/bookings', json('{'));
      expect(surface.errors.every((each) => each instanceof PlatformError)).toBe(true);
      expect(surface.errors).toMatchObject([
        { code: 'forbidden' },
        { code: 'not_found' },
        { code: 'method_not_allowed' },
        { code: 'validation_failed' },
      ]);
    });

    test('an error handler that is set later is the app’s as well, and the platform’s too', async () => {
      const later = openSurface({ onError: null });
      later.app.onError((error, c) => c.text(`caught ${error.name}`, 418));
      const refused = await later.ask('/public/slots', { origin: 'https://evil.example' });
      expect([refused.status, await refused.text()]).toEqual([418, 'caught PlatformError']);
      expect(refused.headers.get('vary')).toBe('Origin');

      const platform = openSurface({ onError: null });
      mountPlatformSurface(platform.app, {
        platformSecret: () => 'secret',
        hostFor: () => expect.unreachable(),
        roles: {},
        ownerRoleKey: 'owner',
      });
      expect(await problemOf(await platform.ask('/public/slots', { origin: 'null' }))).toMatchObject({
        code: 'forbidden',
      });
      expect(await problemOf(await platform.ask('/public/nothing'))).toMatchObject({ code: 'not_found' });
    });

    test('a refusal of the operation is told to the page that asked', async () => {
      const refusal = new PlatformError('rate_limited', 'Try again in a minute.', {
        headers: { 'retry-after': '60' },
      });
      const surface = openSurface({ invoke: () => Promise.reject(refusal) });
      const response = await surface.ask('/public/bookings', json({}));
      expect(response.headers.get('access-control-allow-origin')).toBe(SHOP);
      expect(response.headers.get('retry-after')).toBe('60');
      expect(await problemOf(response)).toMatchObject({
        code: 'rate_limited',
        detail: 'Try again in a minute.',
      });
      expect(surface.errors).toEqual([refusal]);
      expect(surface.errors[0]).toBe(refusal);
    });

    test('an error with a response of its own keeps it, and the page may read that', async () => {
      for (const onError of [undefined, null]) {
        const surface = openSurface({
          ...(onError === null ? { onError } : {}),
          handler: () => {
            throw new HTTPException(402, { res: new Response('pay first', { status: 402 }) });
          },
        });
        const response = await surface.ask('/public/slots');
        expect([response.status, await response.text()]).toEqual([402, 'pay first']);
        expect(response.headers.get('access-control-allow-origin')).toBe(SHOP);
      }
    });
  });

  describe.each([
    ['an app with an error handler', {}],
    ['an app without one', { onError: null }],
  ])('whatever is thrown in %s', (_name, setup) => {
    test.each(HOSTILE)('%s by the resolver lets no page in and reveals nothing', async (_, thrown) => {
      const surface = openSurface({
        ...setup,
        resolveActor: () => {
          throw thrown;
        },
      });
      for (const init of [{ origin: SHOP }, preflight('GET')]) {
        const response = await surface.ask('/public/slots', init);
        expect(corsOf(response)).toEqual({});
        expect(response.headers.get('vary')).toBe('Origin');
        const problem = await problemOf(response);
        expect(problem.code).toBe('internal');
        expect(JSON.stringify(problem)).not.toContain('hunter2');
      }
      expect(surface.incidents).toHaveLength(2);
      expectUntouched(surface);
    });

    test.each(HOSTILE)('%s by a handler is told to the page as a 500 without a word', async (_, thrown) => {
      const surface = openSurface({
        ...setup,
        handler: () => {
          throw thrown;
        },
      });
      const response = await surface.ask('/public/slots');
      expect(response.headers.get('access-control-allow-origin')).toBe(SHOP);
      const problem = await problemOf(response);
      expect(problem.code).toBe('internal');
      expect(JSON.stringify(problem)).not.toContain('hunter2');
      expect(surface.incidents).toHaveLength(1);
    });

    test.each([
      ['nothing', undefined],
      ['text', 'ok'],
      ['an error of the network', Response.error()],
    ])('a handler that answers %s is a 500', async (_, answer) => {
      const surface = openSurface({ ...setup, handler: () => answer as never });
      const response = await surface.ask('/public/slots');
      expect((await problemOf(response)).code).toBe('internal');
      expect(response.headers.get('access-control-allow-origin')).toBe(SHOP);
      expect(surface.incidents).toHaveLength(1);
    });
  });

  describe('requests', () => {
    test('paths are relative to the base path, parameters have their names', async () => {
      const surface = openSurface({
        basePath: '/shops/:shop/public',
        resolveActor: (c) => ({
          allowedOrigins: c.req.param('shop') === 'a b' ? [SHOP] : [],
          invoke: () => Promise.reject(new Error('unused')),
        }),
        handler: (c) => c.json(c.req.param()),
      });
      const answers = await Promise.all([
        surface.ask('/shops/a%20b/public/slots/2026-01-01'),
        surface.ask('/shops/a%20b/public/bookings/7'),
        surface.ask('/shops/a%20b/public/bookings/7', { method: 'DELETE', origin: SHOP }),
        surface.ask('/shops/a%20b/public/bookings/latest', json({}, { method: 'PUT' })),
      ]);
      expect(await Promise.all(answers.map((each) => each.json()))).toEqual([
        { shop: 'a b', day: '2026-01-01' },
        { shop: 'a b', id: '7' },
        { shop: 'a b', booking: '7' },
        { shop: 'a b' },
      ]);
      expect((await surface.ask('/shops/c/public/slots')).status).toBe(403);
      expect((await surface.ask('/public/slots')).status).toBe(404);
    });

    test('the most literal path answers, whatever the order of registration', async () => {
      const surface = openSurface({
        routes: (route) => {
          route.get('/:any', (c) => c.text('any'));
          route.get('/slots', (c) => c.text('slots'));
          route.get('/', (c) => c.text('root'));
        },
      });
      const texts = ['/public/slots', '/public/x', '/public'].map(async (path) =>
        (await surface.ask(path)).text(),
      );
      expect(await Promise.all(texts)).toEqual(['slots', 'any', 'root']);
    });

    test('405 names what the path takes', async () => {
      const response = await openSurface().ask('/public/bookings/7', json({}));
      expect([response.status, response.headers.get('allow')]).toEqual([
        405,
        'DELETE, GET, HEAD, OPTIONS, PATCH',
      ]);
      expect((await problemOf(response)).code).toBe('method_not_allowed');
    });

    test('HEAD is GET without a body', async () => {
      const surface = openSurface();
      const response = await surface.ask('/public/slots', { method: 'HEAD', origin: SHOP });
      expect([response.status, response.headers.get('content-type'), await response.text()]).toEqual([
        200,
        'application/json',
        '',
      ]);
      expect((await surface.ask('/public/bookings', { method: 'HEAD', origin: SHOP })).status).toBe(405);
    });

    test('OPTIONS that is no preflight says what the path takes', async () => {
      const response = await openSurface().ask('/public/bookings', { method: 'OPTIONS', origin: SHOP });
      expect([response.status, response.headers.get('allow')]).toEqual([204, 'OPTIONS, POST']);
    });

    test('a body that is not JSON, is compressed or too large reaches no handler', async () => {
      const surface = openSurface({ bodyLimitBytes: 64 });
      const ask = async (init: Ask) => (await problemOf(await surface.ask('/public/bookings', init))).code;
      const type = (value: string) => json('{}', { headers: { 'content-type': value } });
      // Types that a form can send without a preflight.
      for (const value of [
        'text/plain',
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=x',
      ])
        expect(await ask(type(value))).toBe('unsupported_media_type');
      expect(await ask(json({}, { headers: { 'content-encoding': 'gzip' } }))).toBe('unsupported_media_type');
      expect(await ask(json({ note: 'x'.repeat(64) }))).toBe('payload_too_large');
      expect(await ask(json({}, { headers: { 'content-length': '65' } }))).toBe('payload_too_large');
      expect(await ask(json('[]'))).toBe('validation_failed');
      expect(await ask(json('{"__proto__":{}}'))).toBe('validation_failed');
      expectUntouched(surface);
    });

    test('the body that was judged can be read again, also one that a middleware has read', async () => {
      for (const before of [
        undefined,
        (app: Hono) =>
          void app.use(async (c, next) => {
            await c.req.text();
            await next();
          }),
      ]) {
        const surface = openSurface({
          ...(before ? { before } : {}),
          handler: async (c, { body }) => c.json([body, await c.req.json()]),
        });
        const headers = { cookie: 'sb_session=ada' };
        const ask = async (init: Ask) => (await surface.ask('/public/bookings', init)).json();
        expect(await ask(json({ day: 'i dag, på norsk' }, { headers }))).toEqual([
          { day: 'i dag, på norsk' },
          { day: 'i dag, på norsk' },
        ]);
        expect(await ask({ method: 'POST', origin: SHOP })).toEqual([{}, {}]);
      }
    });

    test('a handler is not told the length of a body that was written anew', async () => {
      const surface = openSurface({ handler: (c) => c.json(c.req.header('content-length') ?? null) });
      const sent = '{ "day" : 1 }';
      const headers = { 'content-length': String(sent.length) };
      expect(await (await surface.ask('/public/bookings', json(sent, { headers }))).json()).toBeNull();
    });

    test('what an operation refuses in its input is told with its fields', async () => {
      const errors = [{ path: 'shoeSize', message: 'is not a field' }];
      const surface = openSurface({
        invoke: () =>
          Promise.reject(new PlatformError('validation_failed', 'The input is not valid.', { errors })),
      });
      expect(await problemOf(await surface.ask('/public/bookings', json({ shoeSize: 7 })))).toMatchObject({
        errors,
      });
    });

    test('another surface of the same app has its own list and its own service', async () => {
      const surface = openSurface();
      mountPublicSurface(surface.app, {
        service: 'kiosk',
        basePath: '/kiosk',
        resolveActor: (_c, asked) => ({
          allowedOrigins: ['https://kiosk.example'],
          invoke: () => Promise.reject(new Error(asked.service)),
        }),
        routes: (route) => route.get('/hello', (c, { origin }) => c.text(origin)),
      });
      expect((await surface.ask('/kiosk/hello')).status).toBe(403);
      const response = await surface.ask('/kiosk/hello', { origin: 'https://kiosk.example' });
      expect(await response.text()).toBe('https://kiosk.example');
      expect((await surface.ask('/public/slots', { origin: 'https://kiosk.example' })).status).toBe(403);
    });

    test('the rest of the app is not touched', async () => {
      const surface = openSurface({ before: (app) => void app.get('/page', (c) => c.text('page')) });
      surface.app.get('/publicity', (c) => c.text('publicity'));
      for (const path of ['/page', '/publicity']) {
        const response = await surface.ask(path, { origin: undefined });
        expect([response.status, response.headers.get('vary'), corsOf(response)]).toEqual([200, null, {}]);
      }
    });

    test('an app that is mounted under a prefix of another answers alike', async () => {
      const inner = openSurface();
      const outer = new Hono().route('/v1', inner.app);
      const ask = (path: string, method: string) =>
        outer.request(`/v1/public${path}`, { method, headers: { origin: SHOP } });
      expect((await ask('/slots/7', 'GET')).status).toBe(200);
      expect((await ask('/bookings/latest', 'POST')).headers.get('allow')).toBe(
        'DELETE, GET, HEAD, OPTIONS, PATCH, PUT',
      );
      expect((await ask('/nothing', 'GET')).status).toBe(404);
    });
  });

  describe('a repeated click', () => {
    const keysOf = async (...asks: [path: string, init: Ask][]) => {
      const surface = openSurface();
      surface.live.origins.push('https://other.example');
      for (const [path, init] of asks) expect((await surface.ask(path, init)).status).toBe(200);
      return surface.invoked.map(({ key }) => key);
    };

    test('reaches the scope under one key, whichever way the key is written', async () => {
      const [first, second, quoted] = await keysOf(
        ['/public/bookings', json({}, { headers: KEY })],
        ['/public/bookings', json({}, { headers: KEY })],
        ['/public/bookings', json({}, { headers: { 'idempotency-key': `"${KEY['idempotency-key']}"` } })],
      );
      expect(first).toMatch(/^[!-~]{20,255}$/);
      expect([second, quoted]).toEqual([first, first]);
    });

    test('of another visitor is another key: all visitors are one principal to the scope', async () => {
      const keys = await keysOf(
        ['/public/bookings', json({}, { headers: KEY })],
        ['/public/bookings', json({}, { headers: KEY, origin: 'https://other.example' })],
        ['/public/bookings', json({}, { headers: { 'idempotency-key': 'another' } })],
        ['/public/bookings', json({})],
      );
      expect(new Set(keys).size).toBe(4);
      expect(keys[3]).toBeUndefined();
    });

    test('a second call within the request is no repeat of the first', async () => {
      const surface = openSurface({
        handler: async (c, { actor }) => {
          await actor.invoke('seat/take', {});
          await actor.invoke('seat/take', {});
          return c.body(null, 204);
        },
      });
      for (let i = 0; i < 2; i++) await surface.ask('/public/bookings', json({}, { headers: KEY }));
      const [a, b, c, d] = surface.invoked.map(({ key }) => key);
      expect([c, d]).toEqual([a, b]);
      expect(a).not.toBe(b);
    });

    test('a read has no key', async () => {
      expect(await keysOf(['/public/slots', { origin: SHOP, headers: KEY }])).toEqual([undefined]);
    });

    test.each(['', 'two words', '"open', 'k'.repeat(256)])(
      'a key like %j is refused, not dropped',
      async (key) => {
        const surface = openSurface();
        const response = await surface.ask(
          '/public/bookings',
          json({}, { headers: { 'idempotency-key': key } }),
        );
        expect((await problemOf(response)).code).toBe('validation_failed');
        expectUntouched(surface);
      },
    );

    test.each<[string, { replayed?: boolean; invocation?: string | null }[], string | null]>([
      ['what was done before', [{ replayed: true }], 'true'],
      ['what was done before, and a read', [{ replayed: true }, { invocation: null }], 'true'],
      ['what is done now', [{}], null],
      ['what was done only in part', [{ replayed: true }, {}], null],
      ['a read', [{ invocation: null }], null],
    ])('is told of %s', async (_, results, header) => {
      const queue = [...results];
      const surface = openSurface({
        invoke: async () => queue.shift() ?? {},
        handler: async (c, { actor }) => {
          for (const _each of results) await actor.invoke('seat/take', {});
          return c.body(null, 204);
        },
      });
      const response = await surface.ask('/public/bookings', json({}, { headers: KEY }));
      expect(response.headers.get('idempotency-replayed')).toBe(header);
    });
  });

  describe('at mount', () => {
    const mount = (options: Parameters<typeof openSurface>[0]) => () => openSurface(options);
    const ok = () => new Response();

    test.each([
      ['', /must begin with a slash/],
      ['/', /plain words/],
      ['public', /must begin with a slash/],
      ['/public/', /plain words/],
      ['/public/*', /plain words/],
      ['/internal', /belongs to the platform/],
      ['/internal/public', /belongs to the platform/],
    ])('a base path %j is refused', (basePath, reason) => {
      expect(mount({ basePath })).toThrow(reason);
    });

    test.each(['', 'service:booking', 'Booking', 'a b'])('a service %j is refused', (service) => {
      expect(mount({ service })).toThrow();
    });

    test.each(['slots', '/slots/', '/slots/*', '/slots/:id?', '/slots/:id{[0-9]+}', '/:id/:id', '//slots'])(
      'a path %j is refused, by name',
      (path) => {
        expect(mount({ routes: (route) => route.get(path, ok) })).toThrow(/GET \/public.* cannot be mounted/);
      },
    );

    test('two routes that would dispatch identically are refused, naming both', () => {
      const twice = (route: { get(path: string, handler: () => Response): void }) => {
        route.get('/slots/:day', ok);
        route.get('/slots/:slot', ok);
      };
      expect(mount({ routes: twice })).toThrow(
        /GET \/public\/slots\/:day and GET \/public\/slots\/:slot would dispatch identically/,
      );
    });
  });

  fuzzPublicSurface();
}
