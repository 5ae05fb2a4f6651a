/** The parts of an OpenAPI document that every surface shares: problem responses, header parameters, response headers. */
import { PROBLEMS, type ProblemCode, problemSchema } from '@freehold/contracts';
import { z } from 'zod';
import type { Part } from './document.ts';

/** `components.responses`: one a status that a problem can have, listing the codes that go with it. */
export function problemComponents(): Part {
  const byStatus = new Map<number, string[]>();
  for (const [code, { status, title }] of Object.entries(PROBLEMS))
    byStatus.set(status, [...(byStatus.get(status) ?? []), `\`${code}\`: ${title}.`]);
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [`Problem${status}`, problemResponse(status, codes.join(' '))]),
  );
}

/** The responses of an operation that can fail with these codes: a reference per status. */
export function problemReferences(codes: Iterable<ProblemCode>): Part {
  return Object.fromEntries(
    Array.from(codes, (code) => PROBLEMS[code].status).map((status) => [
      status,
      { $ref: `#/components/responses/Problem${status}` },
    ]),
  );
}

/** Response headers of `components.headers`, by their names, as an operation's `headers`. */
export function headerReferences(names: readonly string[]): Part {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/**
 * The fields of a schema as parameters. A description that a field's schema has wins over the one given here.
 * @param meanings what fields mean whose schema does not say it.
 */
export function fieldParameters(
  place: 'path' | 'query',
  { shape }: z.ZodObject,
  meanings: Readonly<Record<string, string>> = {},
): Part[] {
  const { required = [] } = z.toJSONSchema(z.object(shape), { io: 'input' });
  return Object.entries(shape).map(([name, schema]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    ...(Object.hasOwn(meanings, name) ? { description: meanings[name] } : {}),
    schema,
  }));
}

/** `components.parameters`: the headers that a request may bring. */
export const HEADER_PARAMETERS = {
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description:
      'Makes the call safe to repeat for 24 hours: a repeat answers what the first call answered, and the same key with another request is a conflict. Bare, or a quoted string (RFC 8941).',
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!#-~][!-~]*$' },
  },
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    required: false,
    description:
      'The entity tag that the caller has seen, quoted as in `ETag` or bare as in `etag`, or `*` for any. Another one is `precondition_failed`.',
    schema: { type: 'string', pattern: '^(\\*|(?!W/)[!#-+\\--~]+|(W/)?"[!#-~]*"( *, *(W/)?"[!#-~]*")*)$' },
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    required: false,
    description: 'Entity tags that the caller has; the answer is 304 when one of them is the present one.',
    schema: { type: 'string' },
  },
} as const satisfies Part;

/** `components.headers`: the headers that an answer may have on every surface. */
export const RESPONSE_HEADERS = {
  'X-Request-Id': textHeader(
    'The name of this request in every log. It is never the one that the caller sent.',
  ),
  ETag: textHeader('The version of the resource.'),
  Location: textHeader('Where the created resource is.'),
  'Idempotency-Replayed': {
    description: 'Present when this is the stored answer of an earlier call with the same key.',
    schema: { const: 'true' },
  },
  'WWW-Authenticate': textHeader('How to authenticate (RFC 6750).'),
  Allow: textHeader('The methods that this address takes.'),
  'Retry-After': textHeader('When to try again: seconds, or a date.'),
} as const satisfies Part;

/** A response header that is text. */
export function textHeader(description: string, pattern?: string): Part {
  return { description, schema: { type: 'string', ...(pattern === undefined ? {} : { pattern }) } };
}

/** A refusal as most are: RFC 9457. */
export const PROBLEM_CONTENT: Part = { 'application/problem+json': { schema: problemSchema } };

function problemResponse(status: number, description: string): Part {
  const names = ['X-Request-Id', ...(HEADERS_OF_STATUS[status] ?? [])];
  return {
    description,
    headers: headerReferences(names),
    content: PROBLEM_CONTENT,
  };
}

const HEADERS_OF_STATUS: Readonly<Record<number, readonly string[]>> = {
  401: ['WWW-Authenticate'],
  405: ['Allow'],
  412: ['ETag'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};
