import { readFileSync } from 'node:fs';
import { PROBLEMS } from '@freehold/contracts';
import { type AdminOperation, adminOperations } from '@freehold/directory/declarations';
import { openApiPath, pathParams } from '@freehold/operations';
import type { OpenApiDocument, Part } from '@freehold/operations/openapi';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { sampleOperations } from '../../test/support/sample-operations.ts';
import type { AdminOperationTable } from '../declared/operations.ts';
import { openApiDocument } from './document.ts';
import { counted } from './limits.ts';
import { openApiText, PATH_PARAMETERS, TAG_DESCRIPTIONS } from './parts.ts';
import { SERVICE_TAGS } from './service-paths.ts';

const sample = openApiDocument(sampleOperations);

/** An operation of a document, its parts open for looking into. */
interface OperationObject {
  readonly operationId: string;
  readonly tags: string[];
  readonly parameters?: readonly {
    name: string;
    in: string;
    required: boolean;
    schema: Part;
    $ref?: string;
  }[];
  readonly requestBody?: { required: boolean; content: Record<string, { schema: Part }> };
  readonly responses: Record<string, { description?: string; headers?: Part; content?: Part; $ref?: string }>;
}

/** Successes beside the operations that have nothing to say. */
const SILENT: ReadonlySet<string> = new Set([
  'service.revoke 200',
  'service.backchannel-logout 200',
  'service.mcp 202',
]);

function operationsOf(
  document: OpenApiDocument,
): [path: string, method: string, operation: OperationObject][] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, operation]) =>
        [path, method, operation as unknown as OperationObject] as [string, string, OperationObject],
    ),
  );
}

function operation(id: string): OperationObject {
  const found = operationsOf(sample).find(([, , each]) => each.operationId === id);
  if (!found) throw new Error(`no operation ${id}`);
  return found[2];
}

test('the checked-in document is the one that the declarations make (C-32)', () => {
  const checkedIn = readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8');
  expect(checkedIn).toBe(openApiText(openApiDocument(adminOperations)));
});

describe.each([
  ['the sample table', sampleOperations, sample],
  ['the real table', adminOperations, openApiDocument(adminOperations)],
])('the document of %s (C-32)', (_, table, document) => {
  test('has every operation at its address, once', () => {
    const declared = Object.values<AdminOperation>(table).flatMap(({ name, method, path, shortPath }) => [
      `${method.toLowerCase()} ${openApiPath(path)} ${name}`,
      // The second address of an operation has an id of its own.
      ...(shortPath === undefined ? [] : [`${method.toLowerCase()} ${openApiPath(shortPath)} ${name}.short`]),
    ]);
    const described = operationsOf(document).map(
      ([path, method, { operationId }]) => `${method} ${path} ${operationId}`,
    );
    expect(described.filter((line) => !line.includes(' service.')).sort()).toEqual(declared.sort());
    expect(new Set(described.map((line) => line.split(' ')[2])).size).toBe(described.length);
  });

  test('points only at existing parts, and has no part without a reference', () => {
    const pointers = new Set<string>();
    JSON.stringify(document, (key, value) => {
      if (key === '$ref') pointers.add(value);
      return value;
    });
    const targets = Object.entries(document.components).flatMap(([kind, members]) =>
      kind === 'securitySchemes' ? [] : Object.keys(members).map((name) => `#/components/${kind}/${name}`),
    );
    expect([...pointers].filter((pointer) => !targets.includes(pointer))).toEqual([]);
    expect(targets.filter((target) => !pointers.has(target))).toEqual([]);
    expect(JSON.stringify(document)).not.toContain('$defs');
  });

  test('writes a header out once: answers that share one point at it', () => {
    const seen = new Map<string, string>();
    const answers = [
      ...operationsOf(document).flatMap(([path, method, { responses }]) =>
        Object.entries(responses).map(
          ([status, each]) => [`${method} ${path} ${status}`, each.headers] as const,
        ),
      ),
      ...Object.entries(document.components.responses).map(
        ([name, each]) => [name, (each as Part).headers] as const,
      ),
    ];
    for (const [place, headers] of answers)
      for (const [name, header] of Object.entries(headers ?? {})) {
        if ('$ref' in header) continue;
        const written = `${name} ${JSON.stringify(header)}`;
        expect(seen.get(written), `${place}: ${name}`).toBeUndefined();
        seen.set(written, place);
      }
  });

  test('names in each path exactly the parameters that it declares, and describes each field', () => {
    for (const [path, , { parameters = [] }] of operationsOf(document)) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]).sort();
      const declared = parameters.filter((each) => each.in === 'path');
      expect(declared.map(({ name }) => name).sort()).toEqual(inPath);
      expect(declared.every(({ required }) => required)).toBe(true);
      const keys = parameters.map((each) => each.$ref ?? `${each.in} ${each.name}`);
      expect(new Set(keys).size).toBe(keys.length);
    }
  });

  test('asks for each field of a query exactly where its absence is refused', () => {
    const documented = new Map(operationsOf(document).map(([, , each]) => [each.operationId, each]));
    for (const { name, input } of Object.values<AdminOperation>(table)) {
      const parameters = (documented.get(name)?.parameters ?? []).filter((each) => each.in === 'query');
      const fields = Object.entries(input.query?.shape ?? {}) as [string, z.ZodType][];
      const expected = fields.map(([field, schema]) => [field, !schema.safeParse(undefined).success]);
      const shown = parameters.map(({ name: field, required }) => [field, required === true]);
      expect([name, shown.sort()]).toEqual([name, expected.sort()]);
    }
  });

  test('shows a plan beside the thing itself where one status answers either', () => {
    const documented = new Map(operationsOf(document).map(([, , each]) => [each.operationId, each]));
    for (const { name, plan, success } of Object.values<AdminOperation>(table)) {
      if (!plan) continue;
      const content = documented.get(name)?.responses[200]?.content as Record<string, { schema: Part }>;
      const { anyOf } = (content['application/json']?.schema ?? {}) as { anyOf?: Part[] };
      expect([name, anyOf?.length]).toEqual([name, success === 200 ? 2 : undefined]);
    }
  });

  test('asks for a bearer token wherever nothing else is said', () => {
    expect(document.security).toEqual([{ bearer: [] }]);
    const declared = new Set(Object.keys(table));
    for (const [, , { operationId, ...each }] of operationsOf(document))
      if (declared.has(operationId))
        expect([operationId, (each as { security?: Part[] }).security ?? document.security]).toEqual([
          operationId,
          expect.arrayContaining([{ bearer: [] }]),
        ]);
  });

  test('asks for at least one file in a form', () => {
    for (const [, , { operationId, requestBody }] of operationsOf(document)) {
      const form = requestBody?.content['multipart/form-data']?.schema as
        | { properties: { file?: { minItems?: number } }; required?: string[] }
        | undefined;
      if (form?.properties.file)
        expect([operationId, form.properties.file.minItems, form.required]).toEqual([
          operationId,
          1,
          ['meta', 'file'],
        ]);
    }
  });

  test('has tags that are described, and a response of each kind for every operation', () => {
    const tags = (document.tags ?? []).map(({ name }) => name);
    for (const [path, , { operationId, tags: used, responses }] of operationsOf(document)) {
      expect(used.every((tag) => tags.includes(tag))).toBe(true);
      const statuses = Object.keys(responses);
      expect(
        statuses.some((status) => /^[23]/.test(status)),
        operationId,
      ).toBe(true);
      expect(statuses, operationId).toContain('500');
      if (path.includes('{')) expect(statuses, operationId).toContain('404');
      for (const [status, response] of Object.entries(responses)) {
        const hasBody = response.content !== undefined || response.$ref !== undefined;
        expect(hasBody, `${operationId} ${status}`).toBe(
          !['204', '302', '303', '304'].includes(status) && !SILENT.has(`${operationId} ${status}`),
        );
      }
    }
  });

  test('has a schema that is JSON Schema 2020-12 in every place: zod reads each one back', () => {
    const schemas = {
      $defs: JSON.parse(
        JSON.stringify(document.components.schemas).replaceAll('#/components/schemas/', '#/$defs/'),
      ),
    };
    for (const name of Object.keys(document.components.schemas)) {
      const root = { ...schemas, $ref: `#/$defs/${name}` };
      expect(() => z.fromJSONSchema(root as Parameters<typeof z.fromJSONSchema>[0]), name).not.toThrow();
    }
  });
});

describe('an operation in the document', () => {
  test('lists the statuses that it can answer, and no other', () => {
    expect(Object.keys(operation('things.get').responses)).toEqual([
      '200',
      '304',
      '400',
      '401',
      '403',
      '404',
      '429',
      '500',
      '503',
    ]);
    expect(Object.keys(operation('things.rename').responses)).toEqual([
      ...['200', '400', '401', '403', '404', '409', '412', '413', '415', '429', '500', '503'],
    ]);
    expect(Object.keys(operation('things.delete').responses)).toContain('204');
    expect(Object.keys(operation('things.delete').responses)).not.toContain('412');
  });

  test('says that a vertical may show its own secret instead of a token where one is admitted, and nowhere else', () => {
    const { paths, components } = openApiDocument(adminOperations);
    const all = Object.values(paths).flatMap((methods) => Object.values(methods));
    const admitting = all.filter(({ security }) => JSON.stringify(security ?? []).includes('platformSecret'));
    expect(admitting.map(({ operationId, security }) => [operationId, security])).toEqual([
      ['tenants.create', [{ bearer: [] }, { platformSecret: [] }]],
      ['service.connect-url', [{ platformSecret: [] }]],
    ]);
    expect(paths['/tenants']?.post?.description).toContain('verticals with the grant tenant-provisioner');
    expect(components.securitySchemes).toHaveProperty('platformSecret');
  });

  test('takes its fields as parameters, with their types and whether they are required', () => {
    const { parameters = [] } = operation('things.list');
    expect(parameters.find(({ name }) => name === 'limit')).toMatchObject({
      in: 'query',
      required: false,
      schema: { type: 'integer', minimum: 1, maximum: 200, default: 20 },
    });
    expect(operation('things.get').parameters?.[0]).toMatchObject({
      name: 'thing',
      in: 'path',
      required: true,
    });
  });

  test('takes the headers that it honours', () => {
    const headers = (id: string) =>
      operation(id).parameters?.flatMap(({ $ref }) => $ref?.split('/').at(-1) ?? []);
    expect(headers('things.list')).toEqual([]);
    expect(headers('things.get')).toEqual(['IfNoneMatch']);
    expect(headers('things.rename')).toEqual(['IdempotencyKey', 'IfMatch']);
    expect(headers('things.delete')).toEqual(['IdempotencyKey']);
  });

  test('refuses unknown fields of a body, and requires a body exactly where an empty object is refused', () => {
    const create = operation('things.create').requestBody;
    expect(create?.required).toBe(true);
    expect(create?.content['application/json']?.schema).toMatchObject({
      additionalProperties: false,
      required: ['tenant', 'name'],
    });
    expect(operation('things.rename').requestBody?.required).toBe(false);
    expect(operation('things.delete').requestBody).toBeUndefined();
  });

  test('leaves its answers open for fields to come', () => {
    expect(JSON.stringify(operation('things.list').responses)).not.toContain('additionalProperties');
    expect(sample.components.schemas.SampleThing).not.toHaveProperty('additionalProperties');
  });

  test('lists the headers of its answers', () => {
    const headers = (id: string, status: number) =>
      Object.keys(operation(id).responses[status]?.headers ?? {});
    expect(headers('things.create', 201)).toEqual([
      ...[
        'X-Request-Id',
        'RateLimit',
        'RateLimit-Policy',
        'ETag',
        'Location',
        'Idempotency-Replayed',
        'X-Admin-Log-Head',
      ],
    ]);
    expect(headers('things.create', 200)).not.toContain('Location');
    expect(headers('things.list', 200)).toEqual(['X-Request-Id', 'RateLimit', 'RateLimit-Policy']);
  });

  test('shares one problem response a status, which lists its codes', () => {
    const { responses } = sample.components;
    for (const [code, { status }] of Object.entries(PROBLEMS)) {
      const response = responses[`Problem${status}`];
      if (response) expect(JSON.stringify(response)).toContain(`\`${code}\``);
    }
    expect(Object.keys(responses)).toContain('Problem409');
    expect(Object.keys(responses)).not.toContain('Problem502');
    expect(JSON.stringify(responses.Problem401)).toContain('WWW-Authenticate');
    for (const [name, { content }] of Object.entries<Part>(counted(responses) as Record<string, Part>))
      expect([name, Object.keys(content ?? {})]).toEqual([name, ['application/problem+json']]);
  });
});

test('a named schema has a second name for the request form exactly where it differs', () => {
  expect(sample.components.schemas.SampleLabel?.required).toEqual(['text', 'lang']);
  expect(sample.components.schemas.SampleLabelInput?.required).toEqual(['text']);
  const body = operation('things.create').requestBody?.content['application/json']?.schema;
  expect(JSON.stringify(body)).toContain('#/components/schemas/SampleLabelInput');
  expect(JSON.stringify(operation('things.get'))).not.toContain('Input');
});

test('every tag and every parameter of a path has a description, and no description is unused', () => {
  const table: AdminOperationTable = adminOperations;
  const operations = Object.values(table);
  const tags = new Set([...operations.map(({ tag }) => tag), ...SERVICE_TAGS]);
  expect(Object.keys(TAG_DESCRIPTIONS).sort()).toEqual([...tags].sort());
  const parameters = new Set(operations.flatMap(({ path }) => pathParams(path)));
  expect(Object.keys(PATH_PARAMETERS).sort()).toEqual([...parameters].sort());
});

test('a page has no more items than may be asked for', () => {
  const list = operation('things.list').responses[200]?.content?.['application/json'] as { schema: Part };
  expect(list.schema).toMatchObject({ properties: { items: { maxItems: 200 } } });
});

test('a tag without a description is refused', () => {
  const get = { ...sampleOperations['things.get'], tag: 'Unheard of' };
  expect(() => openApiDocument({ 'things.get': get })).toThrow(/Unheard of/);
});

test('every media type of a request has a schema: generators leave out an operation without one', () => {
  const { paths } = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8'));
  const bodies = Object.entries<Record<string, { requestBody?: { content: object } }>>(paths).flatMap(
    ([path, methods]) =>
      Object.values(methods).map(({ requestBody }) => [path, requestBody?.content ?? {}] as const),
  );
  for (const [path, content] of bodies)
    for (const [type, described] of Object.entries(content))
      expect([path, type, Object.keys(described.schema ?? {}).length > 0]).toEqual([path, type, true]);
});
