/** The addresses beside the operations, as the document lists them: open to anybody, and never anything private. */
import { PROBLEMS } from '@freehold/contracts';
import { headerReferences, type Part } from '@freehold/contracts/http';

export function servicePaths(): Record<string, Record<string, Part>> {
  return {
    '/healthz': {
      get: servicePath('service.health', 'Say that the process is alive', { 200: json(statusOf('ok')) }),
    },
    '/readyz': {
      get: servicePath('service.ready', 'Say whether requests can be taken', {
        200: json(statusOf('ready')),
        503: problem(503),
      }),
    },
    '/openapi.json': {
      get: servicePath('service.openapi', 'Get this document', { 200: json({ type: 'object' }) }),
    },
    '/problems/{code}': {
      get: servicePath(
        'service.problem',
        'Explain a problem code',
        { 200: problemPage(), 404: problem(404) },
        [
          {
            name: 'code',
            in: 'path',
            required: true,
            schema: { enum: Object.keys(PROBLEMS), type: 'string' },
          },
        ],
      ),
    },
  };
}

function servicePath(operationId: string, summary: string, responses: Part, parameters: Part[] = []): Part {
  return {
    operationId,
    summary,
    description: `${summary}. Open to anybody.`,
    tags: ['Service'],
    security: [],
    ...(parameters.length === 0 ? {} : { parameters }),
    responses: { ...responses, 500: problem(500) },
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
      status: { type: 'integer' },
      title: { type: 'string' },
    },
    required: ['type', 'code', 'status', 'title'],
  };
  const content = { 'application/json': { schema }, 'text/html': { schema: { type: 'string' } } };
  return { ...json(schema), content };
}

function json(schema: Part): Part {
  return {
    description: 'Done.',
    headers: headerReferences(['X-Request-Id']),
    content: { 'application/json': { schema } },
  };
}

function problem(status: number): Part {
  return { $ref: `#/components/responses/Problem${status}` };
}
