import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { assembleDocument, type OpenApiSource, type Part } from './document.ts';

const documentOf = (operation: Part, components: Part = {}): OpenApiSource => ({
  openapi: '3.1.0',
  info: { title: 'Sample', version: '1' },
  security: [],
  paths: { '/sample': { post: operation } },
  components: { responses: {}, headers: {}, securitySchemes: {}, ...components },
});

const exchange = (sent: z.ZodType, answered: z.ZodType): Part => ({
  requestBody: { content: { 'application/json': { schema: sent } } },
  responses: { 200: { content: { 'application/json': { schema: answered } } } },
});

interface Exchange {
  readonly requestBody: { readonly content: Record<string, { readonly schema: Part }> };
  readonly responses: Record<string, { readonly content: Record<string, { readonly schema: Part }> }>;
}

function assembled(sent: z.ZodType, answered: z.ZodType) {
  const { paths, components } = assembleDocument(documentOf(exchange(sent, answered)));
  const operation: Part = paths['/sample']?.post ?? {};
  const { requestBody, responses } = operation as unknown as Exchange;
  return {
    sent: requestBody.content['application/json']?.schema,
    answered: responses[200]?.content['application/json']?.schema,
    schemas: components.schemas,
  };
}

describe('named schemas', () => {
  test('that are alike in both forms have one name, even when they name themselves', () => {
    interface Tree {
      leaves: Tree[];
    }
    const tree: z.ZodType<Tree> = z
      .object({
        get leaves() {
          return z.array(tree);
        },
      })
      .meta({ id: 'SampleTree' });
    const { answered, schemas } = assembled(z.object({ tree }), tree);
    expect(Object.keys(schemas)).toEqual(['SampleTree']);
    expect(answered).toEqual({ $ref: '#/components/schemas/SampleTree' });
  });

  test('that differ only through one they refer to keep both names', () => {
    const inner = z.object({ a: z.string().default('x') }).meta({ id: 'SampleInner' });
    const outer = z.object({ inner }).meta({ id: 'SampleOuter' });
    const { schemas } = assembled(outer, outer);
    expect(Object.keys(schemas)).toEqual([
      'SampleInner',
      'SampleInnerInput',
      'SampleOuter',
      'SampleOuterInput',
    ]);
    expect(JSON.stringify(schemas.SampleOuterInput)).toContain('SampleInnerInput');
  });

  test('that are only sent have the plain name', () => {
    const sent = z.object({ a: z.string().default('x') }).meta({ id: 'SampleSent' });
    expect(Object.keys(assembled(sent, z.null()).schemas)).toEqual(['SampleSent']);
  });

  test('of one name are refused when they are two, and one schema is taken any number of times', () => {
    const one = z.object({ a: z.string() }).meta({ id: 'SampleOne' });
    expect(Object.keys(assembled(one, z.array(one)).schemas)).toEqual(['SampleOne']);
    // The same id, as two copies of a package would have it.
    const other = z.object({ b: z.string() }).meta({ id: 'SampleOne' });
    expect(() => assembled(z.null(), z.object({ one, other }))).toThrow(
      expect.objectContaining({
        cause: expect.objectContaining({ message: expect.stringMatching(/Duplicate schema id "SampleOne"/) }),
      }),
    );
  });

  test('without an id that refer to themselves are found under a name', () => {
    const tree: z.ZodType = z.strictObject({
      get leaves() {
        return z.array(tree);
      },
    });
    const forest = z.strictObject({ tree }).meta({ id: 'SampleForest' });
    const { answered, schemas } = assembled(tree, z.object({ tree, forest }));
    const pointers = [...JSON.stringify([answered, schemas]).matchAll(/"\$ref":"([^"]+)"/g)];
    const names = Object.keys(schemas);
    expect(names).toContain('SampleForest');
    expect(pointers.length).toBeGreaterThan(0);
    for (const [, pointer = ''] of pointers) expect(names).toContain(pointer.split('/').at(-1));
  });

  test('are referred to anew, and what only looks like a reference stays as it is', () => {
    const named = z.string().meta({ id: 'SampleName' });
    const schema = z.object({
      default: named,
      $ref: z.string(),
      data: z.unknown().default({ $ref: '#/$defs/SampleName' }),
    });
    expect(assembled(schema, z.null()).sent?.properties).toMatchObject({
      default: { $ref: '#/components/schemas/SampleName' },
      $ref: { type: 'string' },
      data: { default: { $ref: '#/$defs/SampleName' } },
    });
  });
});

test('an answer without a form in JSON is refused by the name of its operation, unless it may be anything', () => {
  const answer = z.object({ at: z.date() });
  const document = documentOf(exchange(z.null(), answer));
  expect(() => assembleDocument(document)).toThrow(/\/sample post/);
  const { paths } = assembleDocument(document, { unrepresentable: 'any' });
  expect(JSON.stringify(paths)).toContain('"properties":{"at":{}}');
  const sent = documentOf(exchange(answer, z.null()));
  expect(() => assembleDocument(sent, { unrepresentable: 'any' })).toThrow(/\/sample post/);
});

test('an answer is open for fields to come, and what is sent is not', () => {
  const strict = z.strictObject({ a: z.string() });
  const { sent, answered } = assembled(strict, z.strictObject({ a: z.string() }));
  expect(sent).toHaveProperty('additionalProperties', false);
  expect(answered).not.toHaveProperty('additionalProperties');
});

test('shared parts that nothing points at are left out, also those that only such a part points at', () => {
  const refused = (name: string): Part => ({ headers: { [name]: { $ref: `#/components/headers/${name}` } } });
  const { components } = assembleDocument(
    documentOf(
      { responses: { 400: { $ref: '#/components/responses/Problem400' } } },
      {
        responses: { Problem400: refused('Kept'), Problem404: refused('Dropped') },
        headers: { Kept: {}, Dropped: {} },
      },
    ),
  );
  expect(Object.keys(components.responses)).toEqual(['Problem400']);
  expect(Object.keys(components.headers)).toEqual(['Kept']);
});
