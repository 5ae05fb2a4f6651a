/** The open addresses and the consent rounds, in the document. */
import { PLATFORM_SECRET_HEADER, PROBLEMS, type ProblemCode } from '@freehold/contracts';
import { CONNECT_URL_PATH, connectUrlRequest, connectUrlResponse } from '@freehold/contracts/http';
import {
  headerReferences,
  type Part,
  PROBLEM_CONTENT,
  problemReferences,
} from '@freehold/operations/openapi';
import { countedPaths } from './limits.ts';
import { answerOf, json, page, problems, servicePath, textParameter } from './parts.ts';

const tag = 'Service';

/** The groups without an operation. */
export const SERVICE_TAGS = ['Consent rounds', 'Programs', 'Sign-in', tag] as const;

/** Addresses whose answer costs something to make, or to send. */
const COUNTED_PATHS: readonly string[] = ['/openapi.json', '/docs'];

export function servicePaths(): Record<string, Record<string, Part>> {
  return countedPaths(openPaths(), (path) => COUNTED_PATHS.includes(path));
}

const UNCHANGED: Part = { description: 'Unchanged since the version in If-None-Match.' };

function openPaths(): Record<string, Record<string, Part>> {
  return {
    '/healthz': {
      get: servicePath({
        operationId: 'service.health',
        summary: 'Say that the process is alive',
        tag,
        responses: { 200: json(statusOf('ok')) },
      }),
    },
    '/readyz': {
      get: servicePath({
        operationId: 'service.ready',
        summary: 'Say whether requests can be taken',
        tag,
        responses: { 200: json(readyAnswer()), ...problems(503) },
      }),
    },
    '/openapi.json': {
      get: servicePath({
        operationId: 'service.openapi',
        summary: 'Get this document',
        tag,
        responses: { 200: json({ type: 'object' }, headerReferences(['ETag'])), 304: UNCHANGED },
      }),
    },
    '/docs': {
      get: servicePath({
        operationId: 'service.docs',
        summary: 'Read this document as a person',
        tag,
        responses: { 200: page('The reference.', headerReferences(['ETag'])), 304: UNCHANGED },
      }),
    },
    '/problems/{code}': {
      get: servicePath({
        operationId: 'service.problem',
        summary: 'Explain a problem code',
        tag,
        parameters: [
          {
            name: 'code',
            in: 'path',
            required: true,
            description: 'The code of a problem',
            schema: { enum: Object.keys(PROBLEMS), type: 'string' },
          },
        ],
        responses: { 200: problemPage(), ...problems(404) },
      }),
    },
  };
}

function readyAnswer(): Part {
  return {
    type: 'object',
    properties: {
      archive,
      status: { enum: ['ready', 'degraded'], type: 'string' },
      reasons: {
        type: 'array',
        description: 'With degraded: what does not work. The operator’s log and the issues name it.',
        items: {
          type: 'object',
          properties: { reason: { type: 'string' }, detail: { type: 'string' } },
          required: ['reason', 'detail'],
        },
      },
    },
    required: ['status'],
  };
}

function statusOf(status: string): Part {
  return { type: 'object', properties: { status: { const: status } }, required: ['status'] };
}

const count: Part = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER };

/** Absent where nothing is archived. */
const archive: Part = {
  type: 'object',
  description: 'What the archive has yet to receive; absent without an archive.',
  properties: {
    state: { type: 'string', enum: ['current', 'shipping', 'failing', 'refused'] },
    lagSeconds: { type: 'number', minimum: 0, description: 'The age of the oldest change that it lacks.' },
    databases: { ...count, description: 'Databases with such changes.' },
    attachments: { ...count, description: 'Attachments that have not arrived.' },
  },
  required: ['state', 'lagSeconds', 'databases', 'attachments'],
};

function problemPage(): Part {
  const schema = {
    type: 'object',
    properties: {
      type: { type: 'string' },
      code: { type: 'string' },
      status: { type: 'integer', minimum: 400, maximum: 599 },
      title: { type: 'string' },
    },
    required: ['type', 'code', 'status', 'title'],
  };
  return answerOf('Done.', {
    'application/json': { schema },
    'text/html': { schema: { type: 'string' } },
  });
}

/** `components.securitySchemes`: the secret of a vertical. */
export const PLATFORM_SECRET_SCHEME: Part = {
  type: 'apiKey',
  in: 'header',
  name: PLATFORM_SECRET_HEADER,
  description:
    'The secret that the platform gave to a vertical: fh_vrt_, its slug, an underscore, and 64 hexadecimal digits. Each vertical has its own.',
};

const tags = ['Consent rounds'];

export function connectPaths(): Record<string, Record<string, Part>> {
  return {
    [CONNECT_URL_PATH]: {
      post: {
        operationId: 'service.connect-url',
        summary: 'Issue a consent URL',
        description:
          'For verticals, each for its own scopes: another’s is not there. The vertical is derived from the directory’s record of the scope, now and again when the provider answers. Refused with `validation_failed`: more than 900 seconds, and (as `reason`) `unknown_provider`, `no_consent_round`, `return_url_invalid`, `return_url_not_https`, `return_url_unbound`.',
        tags,
        security: [{ platformSecret: [] }],
        requestBody: {
          required: true,
          content: { 'application/json': { schema: connectUrlRequest } },
        },
        responses: {
          200: {
            description: 'Send the browser there. The URL works once, until it expires.',
            headers: headerReferences(['X-Request-Id']),
            content: { 'application/json': { schema: connectUrlResponse } },
          },
          ...problemReferences([
            'validation_failed',
            'forbidden',
            'not_found',
            'invalid_transition',
            'payload_too_large',
            'unsupported_media_type',
            'rate_limited',
            'internal',
            'unavailable',
          ]),
        },
      },
    },
    '/connect/{ticket}': {
      get: browserStep({
        operationId: 'service.connect-start',
        summary: 'Send a browser to the provider’s consent page',
        description:
          'The address of a consent URL. It works once: then the round belongs to this browser, by a cookie.',
        parameters: [textParameter('path', 'ticket', { description: 'The last part of the consent URL' })],
      }),
    },
    '/connect/callback/{provider}': {
      get: browserStep({
        operationId: 'service.connect-callback',
        summary: 'Take the provider’s answer',
        description:
          'Register this address at the provider as the redirect URI. The browser is sent on to the `returnUrl` with `connection` and `subjectRef`, or with `error` and `subjectRef`: `consent_denied`, `provider_refused`, `provider_unavailable`, `provider_answer`, `issuer_mismatch`, `expired`, `account_connected` or `unavailable`.',
        parameters: [
          textParameter('path', 'provider', { description: 'The provider’s name' }),
          ...['state', 'code', 'error', 'iss'].map((name) =>
            textParameter('query', name, {
              description: 'As RFC 6749, section 4.1.2, and RFC 9207 have it',
              required: name === 'state',
            }),
          ),
        ],
      }),
    },
  };
}

/** A redirect, or a refusal: a page for a browser, a problem document for software. */
function browserStep(about: Part): Part {
  return {
    ...about,
    tags,
    security: [],
    responses: {
      303: {
        description: 'Go on there.',
        headers: {
          ...headerReferences(['X-Request-Id', 'Location']),
          'Set-Cookie': { $ref: '#/components/headers/RoundCookie' },
        },
      },
      ...Object.fromEntries(STEP_PROBLEMS.map((code) => [PROBLEMS[code].status, refused(code)])),
    },
  };
}

const STEP_PROBLEMS = ['forbidden', 'not_found', 'conflict', 'internal', 'unavailable'] as const;

function refused(code: ProblemCode): Part {
  const headers = headerReferences(['X-Request-Id', ...(code === 'unavailable' ? ['Retry-After'] : [])]);
  const content = {
    'text/html': { schema: { type: 'string' } },
    ...PROBLEM_CONTENT,
  };
  return { description: `${PROBLEMS[code].title}.`, headers, content };
}
