/** The parts of the document that every operation shares: problem responses, header parameters, response headers. */
import { PROBLEMS } from '@freehold/contracts';
import type { Part } from './document.ts';

/** One response a status that a problem can have, listing the codes that go with it. */
export function sharedResponses(): Part {
  const byStatus = new Map<number, string[]>();
  for (const [code, { status, title }] of Object.entries(PROBLEMS))
    byStatus.set(status, [...(byStatus.get(status) ?? []), `\`${code}\`: ${title}.`]);
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [`Problem${status}`, problemResponse(status, codes.join(' '))]),
  );
}

function problemResponse(status: number, description: string): Part {
  return {
    description,
    headers: {
      'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' },
      ...(status === 401 ? { 'WWW-Authenticate': { $ref: '#/components/headers/WWW-Authenticate' } } : {}),
      ...(status === 405 ? { Allow: { $ref: '#/components/headers/Allow' } } : {}),
      ...(status === 412 ? { ETag: { $ref: '#/components/headers/ETag' } } : {}),
      ...(status === 429 || status === 503
        ? { 'Retry-After': { $ref: '#/components/headers/Retry-After' } }
        : {}),
    },
    content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
  };
}

export function parameterComponents(): Part {
  return {
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
        'The entity tag that the caller has seen, or `*` for any. Another one is `precondition_failed`.',
      schema: { type: 'string', pattern: '^(\\*|(W/)?"[!#-~]*"( *, *(W/)?"[!#-~]*")*)$' },
    },
    IfNoneMatch: {
      name: 'If-None-Match',
      in: 'header',
      required: false,
      description: 'Entity tags that the caller has; the answer is 304 when one of them is the present one.',
      schema: { type: 'string' },
    },
  };
}

export function headerComponents(): Part {
  return {
    'X-Request-Id': header('The name of this request in every log; the caller’s own when it sent one.'),
    ETag: header('The version of the resource.'),
    Location: header('Where the created resource is.'),
    'Idempotency-Replayed': {
      description: 'Present when this is the stored answer of an earlier call with the same key.',
      schema: { const: 'true' },
    },
    'X-Admin-Log-Head': header(
      'The head of the admin log after this call: its sequence and its hash.',
      '^[0-9]+:.+$',
    ),
    'WWW-Authenticate': header('How to authenticate (RFC 6750).'),
    Allow: header('The methods that this address takes.'),
    'Retry-After': header('When to try again: seconds, or a date.'),
  };
}

function header(description: string, pattern?: string): Part {
  return { description, schema: { type: 'string', ...(pattern === undefined ? {} : { pattern }) } };
}
