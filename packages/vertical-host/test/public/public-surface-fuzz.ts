/** Improbable requests against the public surface. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../testkit/src/runs.ts';
import { corsOf, openSurface, problemOf, SHOP } from './surface.ts';

const path = fc.oneof(
  fc.constantFrom(
    '/public/slots',
    '/public/slots/2026-01-01',
    '/public/bookings',
    '/public/bookings/7',
    '/public/bookings/latest',
    '/public/bookings/%ff',
    '/public/bookings/%2F',
    '/public/%73lots',
    '/%70ublic/slots',
    '/public',
    '/public/../public/slots',
    '/public//slots',
  ),
  fc.webPath().map((each) => `/public${each}`),
);

/** Origins close to the listed one, lists of several, and any text that a header can hold. */
const origin = fc.oneof(
  { weight: 4, arbitrary: fc.constant<string | undefined>(SHOP) },
  fc.constantFrom(
    undefined,
    'null',
    '',
    `${SHOP}/`,
    `${SHOP}:443`,
    `${SHOP}, ${SHOP}`,
    'https://shop.example.',
  ),
  fc
    .tuple(fc.constantFrom(SHOP, 'https://shop', ''), fc.string())
    .map(([start, end]) => sendable(start + end)),
  fc.webUrl().map(sendable),
);

const name = fc.constantFrom(
  'content-type',
  'content-encoding',
  'content-length',
  'idempotency-key',
  'if-match',
  'access-control-request-method',
  'access-control-request-headers',
  'x-request-id',
  'x-principal',
  'x-platform-secret',
  'x-http-method-override',
  'authorization',
  'cookie',
  'sec-fetch-site',
);
const value = fc
  .oneof(
    fc.string(),
    fc.constantFrom('application/json', 'text/plain', 'DELETE', 'cross-site', '9'.repeat(400)),
  )
  .map(sendable);

const body = fc.oneof(
  fc
    .dictionary(fc.oneof(fc.constantFrom('__proto__', 'service', 'principal'), fc.string()), fc.jsonValue())
    .map((each) => JSON.stringify(each)),
  fc.json(),
  fc.uint8Array({ maxLength: 64 }).map((each) => new Uint8Array(each)),
);

/** Characters that a header can hold: the server in front refuses all others. */
function sendable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '');
}

export function fuzzPublicSurface(): void {
  test('no request makes a 5xx, an error that is no problem, or a call that was not let in', async () => {
    const reached = { handled: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          method: fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'),
          path,
          origin,
          headers: fc.dictionary(name, value, { maxKeys: 4 }),
          body,
          asJson: fc.boolean(),
        }),
        async ({ method, path, origin, headers, body, asJson }) => {
          const surface = openSurface();
          const hasBody = method !== 'GET' && method !== 'HEAD';
          const response = await surface.ask(path, {
            method,
            origin,
            headers: { ...(asJson ? { 'content-type': 'application/json' } : {}), ...headers },
            ...(hasBody ? { body } : {}),
          });

          expect(surface.incidents).toEqual([]);
          expect(response.status).toBeLessThan(500);
          expect(response.headers.has('access-control-allow-credentials')).toBe(false);
          if (response.status >= 400 && method !== 'HEAD') await problemOf(response);
          if (response.status >= 400) expect(surface.invoked).toEqual([]);
          // A path with dots in it may lead out of the surface, where there is nothing.
          if (surface.asked.length === 0 && response.status === 404) return;
          expect(response.headers.get('vary')).toBe('Origin');
          if (origin?.trim() === SHOP) {
            expect(response.status).not.toBe(403);
            expect(response.headers.get('access-control-allow-origin')).toBe(SHOP);
          } else {
            expect([response.status, corsOf(response)]).toEqual([403, {}]);
            expect([surface.handled, surface.invoked]).toEqual([[], []]);
            reached.refused += 1;
          }
          for (const { service } of surface.asked) expect(service).toBe('booking');
          for (const { operation, key } of surface.invoked) {
            expect(operation).toBe('booking/request');
            if (key !== undefined) expect(key).toMatch(/^[!-~]{1,255}$/);
            reached.handled += 1;
          }
        },
      ),
      { numRuns: runs(1_000, 500) },
    );
    // The generator reaches both sides.
    expect(reached.handled).toBeGreaterThan(20);
    expect(reached.refused).toBeGreaterThan(20);
  }, 60_000);
}
