import { PlatformError, problemSchema } from '@freehold/contracts';
import { OPERATION_NAME } from '@freehold/operations';
import fc from 'fast-check';
import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { runs } from '../../testkit/src/index.ts';
import { fakeScope, sampleOperations } from '../test/fixtures.ts';
import { problemResponse } from './lib/problem-response.ts';
import { mountOperations } from './mount-operations.ts';

const PATHS = [
  '/api/op/order/create',
  '/api/orders',
  '/api/orders/export',
  '/api/orders/17',
  '/api/orders/%2F',
  '/api/orders/%ff/lines/3',
  '/api/orders/17/lines/3',
  '/api/orders/17/lines/x',
  '/api/openapi.json',
];

const FIELDS = [
  'id',
  'customer',
  'lines',
  'limit',
  'tags',
  'before',
  'open',
  'status',
  'note',
  'order',
  'number',
];

const path = fc.oneof(
  fc.constantFrom(...PATHS),
  fc.webPath().map((each) => `/api/orders/${encodeURIComponent(each)}`),
);

const fieldName = fc.oneof(fc.constantFrom(...FIELDS, '__proto__', 'constructor'), fc.string());
const text = fc.oneof(fc.string(), fc.constantFrom('1', '-1', '1e400', 'null', 'true', 'new', 'any', ''));
const query = fc.array(fc.tuple(fieldName, text), { maxLength: 4 });

/** Bodies that are close to right, any JSON at all, and any bytes at all. */
const body = fc.oneof(
  fc.dictionary(fieldName, fc.jsonValue()).map((each) => JSON.stringify(each)),
  fc.constantFrom('{"customer":"ada"}', '{"format":"csv"}', '{"note":null}', ''),
  fc.json(),
  fc.uint8Array({ maxLength: 64 }).map((each) => new Uint8Array(each)),
);

/** Characters that a header can hold: the server in front refuses all others. */
const headerValue = fc
  .oneof(
    fc.string(),
    fc.string({ unit: fc.constantFrom('"', ',', 'W/', '*', ' ', 'a', '\\', ';', '=') }),
    fc.constantFrom(
      'application/json',
      'text/plain',
      'same-origin',
      'cross-site',
      '"evt_1"',
      '9'.repeat(400),
    ),
  )
  .map((each) => each.replaceAll(/[^\x20-\x7e]/g, ''));

const headers = fc.dictionary(
  fc.constantFrom(
    'content-type',
    'content-encoding',
    'content-length',
    'idempotency-key',
    'if-match',
    'if-none-match',
    'origin',
    'sec-fetch-site',
    'x-request-id',
    'authorization',
    'cookie',
  ),
  headerValue,
  { maxKeys: 4 },
);

test('no request makes a 5xx, an error that is no problem, or a call that its schema refuses', async () => {
  let handled = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        method: fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'),
        path,
        query,
        headers,
        body,
        asJson: fc.boolean(),
      }),
      async ({ method, path, query, headers, body, asJson }) => {
        const app = new Hono();
        const incidents: unknown[] = [];
        const scope = fakeScope(sampleOperations, () => ({ version: 'evt_1', invocation: 'inv_1' }));
        app.notFound((c) => problemResponse(c, new PlatformError('not_found', 'There is nothing here.')));
        mountOperations(app, sampleOperations, () => scope, {
          onIncident: (error) => void incidents.push(error),
          // It has a property of its own.
          mcp: false,
        });
        const search = new URLSearchParams(query).toString();
        const response = await app.request(`http://localhost${path}${search && `?${search}`}`, {
          method,
          headers: { ...(asJson ? { 'content-type': 'application/json' } : {}), ...headers },
          ...(method === 'GET' || method === 'HEAD' ? {} : { body }),
        });

        expect(incidents).toEqual([]);
        expect(response.status).toBeLessThan(500);
        if (response.status >= 400) {
          expect(response.headers.get('content-type')).toBe('application/problem+json');
          if (method !== 'HEAD')
            expect(problemSchema.parse(await response.json()).status).toBe(response.status);
          expect(scope.calls).toEqual([]);
        }
        for (const call of scope.calls) {
          handled += 1;
          expect(call.operation).toMatch(OPERATION_NAME);
          expect(sampleOperations[call.operation]?.input.safeParse(call.input).success).toBe(true);
          // Nothing that a request says becomes a prototype.
          expect(Object.getPrototypeOf(call.input)).toBe(Object.prototype);
          if (call.idempotencyKey !== undefined) expect(call.idempotencyKey).toMatch(/^[\x21-\x7e]{1,255}$/);
        }
      },
    ),
    { numRuns: runs(1_500, 400) },
  );
  // The generator reaches handlers, and is not all refusals.
  expect(handled).toBeGreaterThan(5);
}, 60_000);

test('what a GET is told in text is what the schema was given in JSON', async () => {
  const app = new Hono();
  const scope = fakeScope(sampleOperations);
  mountOperations(app, sampleOperations, () => scope, { mcp: false });
  const input = fc.record(
    {
      limit: fc.integer({ min: 1, max: 50 }),
      ratio: fc.double({ noNaN: true, noDefaultInfinity: true }).map((each) => each + 0),
      tags: fc.array(fc.constantFrom('new', 'paid'), { minLength: 1, maxLength: 3 }),
      before: fc.option(fc.maxSafeInteger().map((each) => each + 0)),
      open: fc.option(fc.boolean()),
      status: fc.oneof(fc.constant('any'), fc.integer()),
      q: fc.string(),
    },
    { requiredKeys: ['limit'] },
  );
  await fc.assert(
    fc.asyncProperty(input, async (value) => {
      const search = new URLSearchParams(
        Object.entries(value).flatMap(([name, each]) => [each].flat().map((item) => [name, String(item)])),
      );
      const response = await app.request(`/api/orders?${search}`);
      expect(response.status).toBe(200);
      expect(scope.calls.at(-1)?.input).toEqual(value);
    }),
    { numRuns: runs(300, 100) },
  );
});
