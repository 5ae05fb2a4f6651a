/** Any input to any operation: an answer of the contract, never a 5xx, and no write by a refusal. */

import { problemSchema } from '@freehold/contracts';
import { httpBinding, isReadOnly } from '@freehold/operations';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { anyCharacter } from '../../../packages/testkit/src/index.ts';
import { operations } from '../src/vertical/operations.ts';
import { type Fixture, openFixture, type Visitor } from './fixture.ts';

let fixture: Fixture;
let ada: Visitor;
const known: Record<string, string> = {};

beforeAll(async () => {
  fixture = await openFixture();
  ada = await fixture.signedIn(fixture.pipes, 'ada', 'Ada');
  await ada.get('/api/me');
  known.customer = (await ada.post<{ id: string }>('/api/customers', { name: 'Müller' })).id;
  known.order = (
    await ada.post<{ id: string }>('/api/orders', { customer: known.customer, title: 'Boiler' })
  ).id;
});
afterAll(async () => {
  await fixture[Symbol.asyncDispose]();
});

/** Values that a hostile or clumsy caller might put into a field. */
const anyValue = (field: string): fc.Arbitrary<unknown> =>
  fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.string({ unit: anyCharacter, maxLength: 40 }),
    fc.constantFrom(
      known[field] ?? 'x',
      '',
      ' ',
      '\u0000',
      '\ud800',
      '../..',
      '%',
      '-1',
      '1e999',
      '2026-02-30T00:00:00.000Z',
    ),
    fc.constantFrom(-1, 0, 0.5, 2 ** 53, Number.MAX_VALUE, null, true, [], {}, '__proto__'),
  );

/** Records of the operation's own fields, some left out, some beside it. */
function anyInput(fields: readonly string[]): fc.Arbitrary<Record<string, unknown>> {
  const own = Object.fromEntries(fields.map((field) => [field, anyValue(field)]));
  return fc
    .tuple(
      fc.record(own, { requiredKeys: [] }),
      fc.dictionary(fc.string({ maxLength: 12 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 2 }),
    )
    .map(([record, more]) => ({ ...more, ...record }));
}

async function snapshot(): Promise<string> {
  const paths = [
    '/api/customers',
    '/api/sites',
    '/api/orders',
    '/api/invoices',
    '/api/rates',
    `/api/orders/${known.order}/history`,
  ];
  return JSON.stringify(
    await Promise.all(paths.map(async (path) => (await ada.request('GET', path)).text())),
  );
}

test.each(Object.keys(operations))(
  '%s takes any input without a fault',
  async (name) => {
    const operation = operations[name as keyof typeof operations];
    const { method, path } = httpBinding(name, operation);
    const fields = Object.keys(
      (z.toJSONSchema(operation.input, { io: 'input', unrepresentable: 'any' }).properties ?? {}) as object,
    );
    let before = await snapshot();

    await fc.assert(
      fc.asyncProperty(anyInput(fields), fc.boolean(), async (input, addressed) => {
        const values = addressed ? { ...input, ...known } : input;
        const rest: Record<string, unknown> = { ...input };
        const address = path.replaceAll(/:([a-z]+)/g, (_, field: string) => {
          delete rest[field];
          const value = values[field];
          return encodeURIComponent(
            typeof value === 'string' && value.isWellFormed() && value !== '' ? value : 'x',
          );
        });
        const query =
          method === 'GET'
            ? `?${new URLSearchParams(Object.entries(rest).map(([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)]))}`
            : '';
        const response = await ada.request(method, `${address}${query}`, method === 'GET' ? undefined : rest);
        const text = await response.text();
        if (response.ok) {
          // An accepted input had the declared form, and so has its answer.
          expect(operation.output.safeParse(JSON.parse(text)).success, text).toBe(true);
          if (!isReadOnly(operation)) before = await snapshot();
          return;
        }
        expect([400, 403, 404, 405, 409, 412], `${method} ${address} ${text}`).toContain(response.status);
        expect(response.headers.get('content-type')).toBe('application/problem+json');
        expect(problemSchema.parse(JSON.parse(text)).status).toBe(response.status);
      }),
      { numRuns: 60 },
    );
    expect(await snapshot()).toBe(before);
    expect(fixture.incidents).toEqual([]);
  },
  60_000,
);
