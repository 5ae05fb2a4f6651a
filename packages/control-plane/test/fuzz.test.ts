/** Property tests over every declared schema: what is valid gets through, what is not is refused as documented. */
import type { AdminResult, OperationEvent } from '@freehold/directory';
import { type AdminOperation, adminOperations } from '@freehold/directory/declarations';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../testkit/src/index.ts';
import { controlPlaneApp } from '../src/app.ts';
import { answersEvents, eventsStatus, isUnsafe, routesOf } from '../src/declared/operations.ts';
import { expectDocumented } from './support/conformance.ts';
import { valuesOf } from './support/from-schema.ts';
import { hostAdminDouble, TOKEN } from './support/host-admin-double.ts';
import { hostileParts, partsOf, requestOf, type ValidInput, validInputs } from './support/requests.ts';
import { violationsOf } from './support/violations.ts';

const table: Readonly<Record<string, AdminOperation>> = adminOperations;
const operations = Object.values(table);

/** An app over a double that answers every call with a value of the declared form. */
function setUp() {
  const answers = new Map(
    operations.map((operation) => [
      operation.name,
      fc.sample(valuesOf(operation.output, 'output'), { numRuns: 1, seed: 1 })[0],
    ]),
  );
  const admin = hostAdminDouble(({ operation, events }) => ({
    status: statusOf(table[operation], events === true),
    value: answers.get(operation),
    ...(table[operation]?.bytes ? { body: new Blob(['bytes']).stream() } : {}),
    ...(events ? { events: eventsOf(answers.get(operation)) } : {}),
    ...(table[operation]?.etag ? { etag: '7' } : {}),
  }));
  const incidents: unknown[] = [];
  let reached: string | null = null;
  const app = controlPlaneApp({
    hostAdmin: admin,
    onIncident: (error) => incidents.push(error),
    onRequest: (line) => {
      reached = line.operation;
    },
    now: () => 0,
    // The clock stands still here, so that no allowance would ever come back.
    rateLimit: null,
    newRequestId: () => 'req_new',
  });
  /** The response, and the operation that the address led to: a hostile path can lead anywhere, or nowhere. */
  const send = async (request: Request) => {
    admin.performed.length = 0;
    const response = await app.fetch(request);
    return { response, operation: reached === null ? null : (table[reached] ?? null) };
  };
  return { admin, incidents, send };
}

function statusOf(operation: AdminOperation | undefined, events: boolean): AdminResult['status'] {
  if (!operation) return 200;
  return events ? (eventsStatus(operation) as AdminResult['status']) : operation.success;
}

/** A beat, then the end. */
function eventsOf(record: unknown): ReadableStream<OperationEvent> {
  const events = [
    { event: 'heartbeat', record },
    { event: 'done', record },
  ] as OperationEvent[];
  return ReadableStream.from(events) as ReadableStream<OperationEvent>;
}

/** One for all: it keeps nothing from one request to the next. */
const { admin, incidents, send } = setUp();

describe.each(operations.map((operation) => [operation.name, operation] as const))('%s', (_, operation) => {
  test('takes every valid input, and hands it on as its schemas read it (C-32)', async () => {
    await fc.assert(
      fc.asyncProperty(validInputs(operation), async (input) => {
        // No path can say these two, whose segments are taken out of it (URL standard).
        fc.pre(Object.values(input.params ?? {}).every((value) => value !== '.' && value !== '..'));
        const { response } = await send(requestOf(operation.method, partsOf(operation, input), TOKEN));
        expect(await expectDocumented(operation, response)).toBe(true);
        expect(admin.performed).toHaveLength(1);
        const [call] = admin.performed;
        expect(call?.operation).toBe(operation.name);
        expect(call?.query).toEqual((operation.input.query?.parse(input.query) ?? {}) as object);
        expect(call?.body).toEqual((operation.input.body?.parse(input.body) ?? {}) as object);
      }),
      { numRuns: runs(25) },
    );
    expect(incidents).toEqual([]);
  });

  test('answers anything at all as documented, never with a server error, and performs nothing that it refuses', async () => {
    await fc.assert(
      fc.asyncProperty(hostileParts(operation), async (parts) => {
        const { response, operation: met } = await send(requestOf(operation.method, parts, TOKEN));
        const succeeded = met ? await expectDocumented(met, response) : false;
        if (!met) expect([404, 405]).toContain(response.status);
        expect(response.status).toBeLessThan(500);
        expect(admin.performed).toHaveLength(succeeded ? 1 : 0);
      }),
      { numRuns: runs(60) },
    );
    expect(incidents).toEqual([]);
  });

  const violations = violationsOf(operation);
  if (violations.length > 0)
    test('refuses what breaks its schema, field by field', async () => {
      for (const { what, parts } of violations) {
        const { response, operation: met } = await send(requestOf(operation.method, parts, TOKEN));
        // A body that breaks the limit of a field can break that of a body.
        expect([400, 413], what).toContain(response.status);
        expect(met?.name, what).toBe(operation.name);
        await expectDocumented(operation, response);
        expect(admin.performed, what).toEqual([]);
      }
    });

  if (answersEvents(operation))
    test('answers events to a caller that accepts them', async () => {
      const [input] = fc.sample(validInputs(operation), { numRuns: 1, seed: 1 });
      const parts = partsOf(operation, input as ValidInput);
      const headers = [...parts.headers, ['accept', 'text/event-stream'] as const];
      const { response } = await send(requestOf(operation.method, { ...parts, headers }, TOKEN));
      expect(response.headers.get('content-type')).toBe('text/event-stream');
      expect(await response.clone().text()).toMatch(/^: .*\n\nevent: done\ndata: \{/);
      expect(await expectDocumented(operation, response)).toBe(true);
    });

  test('refuses an undeclared field, wherever it is', async () => {
    await fc.assert(
      fc.asyncProperty(
        validInputs(operation),
        fc.constantFrom('zz', '__proto__', 'constructor'),
        async (input, name) => {
          const parts = partsOf(operation, input);
          const query = { ...parts, query: [...parts.query, [name, 'x'] as const] };
          expect((await send(requestOf(operation.method, query, TOKEN))).response.status).toBe(400);
          expect(admin.performed).toEqual([]);
          if (!isUnsafe(operation.method) || operation.upload) return;
          const body = `{"${name}":1${Object.entries(input.body ?? {})
            .map(([key, value]) => `,${JSON.stringify(key)}:${JSON.stringify(value)}`)
            .join('')}}`;
          const withBody = { ...parts, headers: [['content-type', 'application/json'] as const], body };
          expect((await send(requestOf(operation.method, withBody, TOKEN))).response.status).toBe(400);
          expect(admin.performed).toEqual([]);
        },
      ),
      { numRuns: runs(10) },
    );
  });

  test('answers a stranger 401, valid input or not (C-01)', async () => {
    await fc.assert(
      fc.asyncProperty(hostileParts(operation), async (parts) => {
        const { response, operation: met } = await send(
          requestOf(operation.method, parts, 'fh_svc_stranger'),
        );
        expect(met ? [401] : [404, 405]).toContain(response.status);
        if (met) await expectDocumented(met, response);
        expect(admin.performed).toEqual([]);
      }),
      { numRuns: runs(10) },
    );
  });
});

test('every address names its methods to OPTIONS, and refuses every other one with the same list', async () => {
  for (const byMethod of routesOf(table)) {
    const [{ path } = { path: '' }] = byMethod.values();
    const url = `https://control.example${path.replaceAll(/:\w+/g, 'x')}`;
    const allowed = [...byMethod.keys(), ...(byMethod.has('GET') ? ['HEAD'] : []), 'OPTIONS'].sort();
    const { response: options } = await send(new Request(url, { method: 'OPTIONS' }));
    expect([path, options.status, options.headers.get('allow')]).toEqual([path, 204, allowed.join(', ')]);
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND']) {
      if (allowed.includes(method)) continue;
      const { response } = await send(
        new Request(url, { method, headers: { authorization: `Bearer ${TOKEN}` } }),
      );
      expect([path, method, response.status]).toEqual([path, method, 405]);
      expect(response.headers.get('allow')).toBe(allowed.join(', '));
      expect(admin.performed).toEqual([]);
    }
  }
});
