import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { dedupeSchemas } from './dedupe-schemas.ts';
import { makeSchemaCollector } from './schemas.ts';

describe('named schemas', () => {
  const document = (input: z.ZodType, output: z.ZodType) => {
    const collector = makeSchemaCollector();
    const part = { sent: collector.input(input, 'sent'), answered: collector.output(output, 'answered') };
    return dedupeSchemas({ part, components: { schemas: collector.components() } });
  };

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
    const { part, components } = document(z.object({ tree }), tree);
    expect(Object.keys(components.schemas)).toEqual(['SampleTree']);
    expect(part.answered).toEqual({ $ref: '#/components/schemas/SampleTree' });
  });

  test('that differ only through one they refer to keep both names', () => {
    const inner = z.object({ a: z.string().default('x') }).meta({ id: 'SampleInner' });
    const outer = z.object({ inner }).meta({ id: 'SampleOuter' });
    const { components } = document(outer, outer);
    expect(Object.keys(components.schemas)).toEqual([
      'SampleInner',
      'SampleInnerInput',
      'SampleOuter',
      'SampleOuterInput',
    ]);
    expect(JSON.stringify(components.schemas.SampleOuterInput)).toContain('SampleInnerInput');
  });

  test('that are only sent have the plain name', () => {
    const sent = z.object({ a: z.string().default('x') }).meta({ id: 'SampleSent' });
    expect(Object.keys(document(sent, z.null()).components.schemas)).toEqual(['SampleSent']);
  });
});

describe('the collector', () => {
  test('refuses two different schemas of one name, and takes one schema any number of times', () => {
    const collector = makeSchemaCollector();
    const one = z.object({ a: z.string() }).meta({ id: 'SampleOne' });
    for (const name of ['a', 'b']) collector.output(z.array(one), name);
    // The same id, as two copies of a package would have it.
    const other = z.object({ b: z.string() }).meta({ id: 'SampleOne' });
    expect(() => collector.output(z.array(other), 'c')).toThrow(/two schemas have the name SampleOne/);
  });

  test('names what has no id and refers to itself by where it stands', () => {
    const tree: z.ZodType = z.strictObject({
      get leaves() {
        return z.array(tree);
      },
    });
    const forest = z.strictObject({ tree }).meta({ id: 'SampleForest' });
    const collector = makeSchemaCollector();
    collector.output(tree, 'one');
    // The second forest is the first, though zod numbers its tree anew.
    collector.output(z.object({ tree, forest }), 'two');
    collector.output(z.object({ forest }), 'three');
    const pointers = [...JSON.stringify(collector.components()).matchAll(/"\$ref":"([^"]+)"/g)];
    const names = Object.keys(collector.components());
    expect(names).toEqual(expect.arrayContaining(['one', 'SampleForest']));
    for (const [, pointer = ''] of pointers) expect(names).toContain(pointer.split('/').at(-1));
  });

  test('changes references, and nothing that only looks like one', () => {
    const named = z.string().meta({ id: 'SampleName' });
    const schema = z.object({
      default: named,
      $ref: z.string(),
      data: z.unknown().default({ $ref: '#/$defs/SampleName' }),
    });
    expect(makeSchemaCollector().input(schema, 'x').properties).toMatchObject({
      default: { $ref: '#/components/schemas/SampleNameInput' },
      $ref: { type: 'string' },
      data: { default: { $ref: '#/$defs/SampleName' } },
    });
  });

  test('throws on an answer without a form in JSON, unless it may be anything', () => {
    const answer = z.object({ at: z.date() });
    expect(() => makeSchemaCollector().output(answer, 'x')).toThrow();
    const lenient = makeSchemaCollector({ unrepresentable: 'any' });
    expect(lenient.output(answer, 'x').properties).toEqual({ at: {} });
    expect(() => lenient.input(answer, 'x')).toThrow();
  });
});
