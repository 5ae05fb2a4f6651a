/** The addresses beside the operations, as the document lists them: open to anybody, and never anything private. */
import { PROBLEMS } from '@freehold/contracts';
import type { Part } from '@freehold/operations/openapi';
import { countedPaths } from './rate-limit-headers.ts';
import { answerOf, json, page, problems, servicePath } from './service-parts.ts';

const tag = 'Service';

/** The groups that no operation is in. */
export const SERVICE_TAGS = ['Consent rounds', 'Programs', 'Sign-in', tag] as const;

/** What costs something to make, or to send. */
const COUNTED_PATHS: readonly string[] = ['/openapi.json', '/docs', '/docs/script.js'];

export function servicePaths(): Record<string, Record<string, Part>> {
  return countedPaths(openPaths(), (path) => COUNTED_PATHS.includes(path));
}

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
        responses: { 200: json(statusOf('ready')), ...problems(503) },
      }),
    },
    '/openapi.json': {
      get: servicePath({
        operationId: 'service.openapi',
        summary: 'Get this document',
        tag,
        responses: { 200: json({ type: 'object' }) },
      }),
    },
    '/docs': {
      get: servicePath({
        operationId: 'service.docs',
        summary: 'Read this document as a person',
        tag,
        responses: { 200: page('The reference.') },
      }),
    },
    '/docs/script.js': {
      get: servicePath({
        operationId: 'service.docs-script',
        summary: 'Get what renders the reference',
        tag,
        responses: {
          200: answerOf('A script.', { 'text/javascript': { schema: { type: 'string' } } }),
          304: { description: 'Unchanged since the version in If-None-Match.' },
        },
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

function statusOf(status: string): Part {
  return { type: 'object', properties: { status: { const: status } }, required: ['status'] };
}

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
