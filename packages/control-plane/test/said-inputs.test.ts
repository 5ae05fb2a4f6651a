/**
 * Rules that are enforced are said (C-32): for every text of every declared input, the schema in the document refuses what
 * requests are refused for; and a header that an operation takes is a parameter.
 */
import { type AdminOperation, adminOperations } from '@freehold/directory/declarations';
import { openApiPath } from '@freehold/operations';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { strictInput } from '../src/declared/operations.ts';
import { openApiDocument } from '../src/openapi/document.ts';
import { openFixture, requestAbout } from './support/fixture.ts';
import { valuesOf } from './support/from-schema.ts';

type JsonSchema = z.core.JSONSchema.BaseSchema;
type Step = string | number;
type Part = 'params' | 'query' | 'body';
interface Leaf {
  readonly path: readonly Step[];
  readonly schema: JsonSchema;
}

/** Enforced and not said, with the reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {};

const document = openApiDocument(adminOperations);
const schemas = document.components.schemas as Readonly<Record<string, JsonSchema>>;

function resolved(schema: JsonSchema): JsonSchema {
  const name = /^#\/components\/schemas\/(.+)$/.exec(schema.$ref ?? '')?.[1];
  return name === undefined ? schema : resolved(schemas[name] ?? {});
}

/** The texts of a sample with the schema that the document has for each. A choice of forms is left to other tests. */
function textsIn(value: unknown, given: JsonSchema, path: readonly Step[] = []): Leaf[] {
  const schema = resolved(given);
  if (schema.anyOf || schema.oneOf || schema.allOf) return [];
  if (typeof value === 'string') return [{ path, schema }];
  if (Array.isArray(value))
    return value
      .slice(0, 1)
      .flatMap((item) => textsIn(item, (schema.items ?? {}) as JsonSchema, [...path, 0]));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const field = schema.properties?.[name];
    return field === undefined ? [] : textsIn(member, field as JsonSchema, [...path, name]);
  });
}

interface Documented {
  readonly parameters: { $ref?: string; in?: string; name: string; schema: JsonSchema }[];
  readonly requestBody?: { content: Record<string, { schema: JsonSchema }> };
}

function documented({ path, method }: AdminOperation): Documented {
  return document.paths[openApiPath(path)]?.[method.toLowerCase()] as unknown as Documented;
}

/** The document's own schema of one part of a request. */
function saidOf(operation: AdminOperation, part: Part): JsonSchema {
  const said = documented(operation);
  if (part === 'body') return said.requestBody?.content['application/json']?.schema ?? {};
  const place = part === 'params' ? 'path' : 'query';
  const fields = said.parameters.filter((each) => each.in === place);
  return { type: 'object', properties: Object.fromEntries(fields.map(({ name, schema }) => [name, schema])) };
}

function isSaidToBeRefused(schema: JsonSchema, text: string): boolean {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern, enum: values } = schema;
  return (
    text.length < minLength ||
    text.length > maxLength ||
    (pattern !== undefined && !new RegExp(pattern).test(text)) ||
    (values !== undefined && !values.includes(text)) ||
    'const' in schema ||
    schema.format !== undefined ||
    schema.contentMediaType !== undefined
  );
}

function withText(value: unknown, [step, ...rest]: readonly Step[], text: string): unknown {
  if (step === undefined) return text;
  const copy = Array.isArray(value) ? [...value] : { ...(value as object) };
  const members = copy as Record<Step, unknown>;
  members[step] = withText(members[step], rest, text);
  return copy;
}

const PROBES = ['', ' ', 'a b', 'a\u0000b', 'a\nb', 'a\u202eb', '~', '%', 'é', '../x', 'x'.repeat(200_000)];

/** The texts that are refused although the schema does not say so: the place, and the text. */
function unsaid(schema: z.ZodType, said: JsonSchema, place: string): string[] {
  const found = new Set<string>();
  for (const sample of fc.sample(valuesOf(schema, 'input'), { numRuns: 4, seed: 7 })) {
    if (!schema.safeParse(sample).success) continue;
    for (const { path, schema: leaf } of textsIn(sample, said))
      for (const text of PROBES) {
        const issues = schema.safeParse(withText(sample, path, text)).error?.issues ?? [];
        const isRefused = issues.some((issue) => path.every((step, at) => issue.path[at] === step));
        if (isRefused && !isSaidToBeRefused(leaf, text))
          found.add(`${place}.${path.join('.')}: ${JSON.stringify(text.slice(0, 12))}`);
      }
  }
  return [...found];
}

test('every refusal of a text is said by its schema', () => {
  const found = Object.values(adminOperations).flatMap((operation: AdminOperation) => {
    const input = strictInput(operation);
    return (['params', 'query', 'body'] as const).flatMap((part) =>
      operation.input[part] ? unsaid(input[part], saidOf(operation, part), `${operation.name} ${part}`) : [],
    );
  });
  const isKnown = (place: string) => Object.keys(EXCEPTIONS).some((each) => place.startsWith(each));
  expect(found.filter((place) => !isKnown(place))).toEqual([]);
  expect(Object.keys(EXCEPTIONS).filter((each) => !found.some((place) => place.startsWith(each)))).toEqual(
    [],
  );
});

test('a rule that no schema says is found', () => {
  const check = (schema: z.ZodType) =>
    unsaid(
      z.object({ name: schema }),
      z.toJSONSchema(z.object({ name: schema })) as JsonSchema,
      'things.make',
    );
  expect(check(z.string().refine((text) => text.length < 100))).toEqual(['things.make.name: "xxxxxxxxxxxx"']);
  expect(check(z.string().refine((text) => !text.includes('\n')))).toEqual(['things.make.name: "a\\nb"']);
  expect(check(z.string().max(99))).toEqual([]);
});

test('a condition and a key are said exactly where a change takes them; elsewhere they are refused', async () => {
  const { send, nowhere, credentials } = await openFixture();
  const HEADERS = { 'Idempotency-Key': ['key-1', '"open'], 'If-Match': ['"1"', 'a b'] } as const;
  for (const operation of Object.values(adminOperations) as AdminOperation[]) {
    const named = documented(operation).parameters.flatMap(({ $ref }) => $ref ?? []);
    for (const [header, [wellFormed, malformed]] of Object.entries(HEADERS)) {
      const isRefused = async (text: string) => {
        const request = requestAbout(operation, () => nowhere, { credential: credentials.service });
        request.headers.set(header, text);
        const response = await send(request);
        return response.status === 400 && (await response.text()).includes(`"path":"${header}"`);
      };
      const isSaid = named.includes(`#/components/parameters/${header.replace('-', '')}`);
      const isRead = operation.method === 'GET';
      expect([operation.name, await isRefused(wellFormed), await isRefused(malformed)]).toEqual([
        operation.name,
        !isSaid && !isRead,
        !isRead,
      ]);
    }
  }
});
