/** Requests for any declared operation: well-formed ones from its schemas, and hostile ones from nowhere. */

import type { AdminOperation } from '@freehold/directory/declarations';
import { anyCharacter } from '@freehold/testkit';
import fc from 'fast-check';
import { isUnsafe, strictInput } from '../../src/declared/operations.ts';
import { valuesOf } from './from-schema.ts';

export interface RequestParts {
  readonly path: string;
  readonly query: readonly (readonly [name: string, value: string])[];
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | Uint8Array<ArrayBuffer> | null;
}

export interface ValidInput {
  readonly params: Record<string, unknown>;
  readonly query: Record<string, unknown>;
  readonly body: Record<string, unknown> | null;
}

/** Inputs that every schema of an operation accepts. */
export function validInputs(operation: AdminOperation): fc.Arbitrary<ValidInput> {
  const { params, query, body } = strictInput(operation);
  return fc.record({
    params: valuesOf(params, 'input'),
    query: valuesOf(query, 'input'),
    body: operation.input.body ? valuesOf(body, 'input') : fc.constant(null),
  }) as fc.Arbitrary<ValidInput>;
}

/** The request of a valid input. */
export function partsOf(operation: AdminOperation, input: ValidInput): RequestParts {
  return {
    path: operation.path.replaceAll(/:(\w+)/g, (_, name: string) =>
      encodeURIComponent(String(input.params[name])),
    ),
    query: Object.entries(input.query).flatMap(([name, value]) =>
      [value].flat().map((each) => [name, String(each)] as const),
    ),
    ...contentOf(operation, input),
  };
}

function contentOf({ upload }: AdminOperation, { body }: ValidInput): Pick<RequestParts, 'headers' | 'body'> {
  if (upload) return { headers: [['content-type', upload.mediaTypes[0] ?? '']], body: 'bytes' };
  if (body === null) return { headers: [], body: null };
  return { headers: [['content-type', 'application/json']], body: JSON.stringify(body) };
}

/** Names that programs trip over. */
const ODD_NAMES = [
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '',
  'limit',
  'cursor',
  'tenant',
  'a.b',
  'a[]',
  'é',
];
const ODD_TEXT = [
  '',
  ' ',
  '..',
  '.',
  '%',
  '%00',
  '\u0000',
  'null',
  '-0',
  '1e999',
  '99999999999999999999',
  "' OR 1=1 --",
  'é',
  '\ud83d\ude00',
];

/** Text that programs trip over, and any other. */
export const text = fc.oneof(fc.constantFrom(...ODD_TEXT), fc.string({ unit: anyCharacter }), fc.string());
/** The same, as the name of a field. */
export const names = fc.oneof(fc.constantFrom(...ODD_NAMES), fc.string());
/** The values that a header may hold: others are refused before a request exists. */
const headerValue = fc.stringMatching(/^[!-~]([ -~]{0,20}[!-~])?$/);

export const hostileHeaders = fc.array(
  fc.oneof(
    fc.tuple(
      fc.constantFrom(
        'content-type',
        'content-encoding',
        'idempotency-key',
        'if-match',
        'if-none-match',
        'x-request-id',
        'content-length',
        'accept',
        'origin',
        'cookie',
        'range',
        'x-http-method-override',
      ),
      fc.oneof(
        headerValue,
        fc.constantFrom('"a"', '*', 'W/"a"', '"', 'application/json', 'gzip', '-1', '1e9', 'PUT'),
      ),
    ),
  ),
  { maxLength: 4 },
);

export const hostileBodies = fc.oneof(
  fc.constant(null),
  fc.json(),
  fc.dictionary(names, fc.jsonValue()).map((value) => JSON.stringify(value)),
  fc.string({ unit: anyCharacter }),
  fc.uint8Array({ maxLength: 64 }).map((bytes) => new Uint8Array(bytes)),
  fc.constantFrom(
    `${'['.repeat(5000)}${']'.repeat(5000)}`,
    `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`,
    '{"a":"\\ud800"}',
    '{"__proto__":{"x":1}}',
    '\ufeff{}',
    '{"name":1e999}',
  ),
);

/** Requests at an operation's address that keep no rule but those of HTTP itself; half of them with a valid part. */
export function hostileParts(operation: AdminOperation): fc.Arbitrary<RequestParts> {
  const paramNames = [...operation.path.matchAll(/:(\w+)/g)].map((match) => match[1] as string);
  const hostile = fc.record({
    values: fc.array(text, { minLength: paramNames.length, maxLength: paramNames.length }),
    query: fc.array(fc.tuple(names, text), { maxLength: 4 }),
    headers: hostileHeaders,
    body: isUnsafe(operation.method) ? hostileBodies : fc.constant(null),
  });
  return fc
    .tuple(hostile, validInputs(operation), fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }))
    .map(([{ values, query, headers, body }, input, [goodPath, goodQuery, goodBody, goodHeaders]]) => {
      const valid = partsOf(operation, input);
      let index = 0;
      const path = operation.path.replaceAll(/:\w+/g, () =>
        encodeURIComponent((values[index++] ?? '').toWellFormed()),
      );
      return {
        path: goodPath ? valid.path : path,
        query: goodQuery ? valid.query : [...valid.query, ...query],
        headers: goodHeaders ? valid.headers : [...valid.headers, ...headers],
        body: goodBody ? valid.body : body,
      };
    });
}

/** The request itself. */
export function requestOf(method: string, parts: RequestParts, token: string): Request {
  const url = new URL('https://control.example');
  // The setter keeps the escapes, and leaves no way to another host.
  url.pathname = parts.path;
  for (const [name, value] of parts.query) url.searchParams.append(name, value);
  const headers = new Headers({ authorization: `Bearer ${token}` });
  for (const [name, value] of parts.headers) headers.set(name, value);
  return new Request(url, { method, headers, ...(parts.body === null ? {} : { body: parts.body }) });
}
