import type { OperationTable } from '@freehold/operations';
import { contentBlocks } from '@freehold/operations/mcp';
import { Hono } from 'hono';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { declare, fakeScope, sampleOperations } from '../../test/fixtures.ts';
import { mountOperations } from '../mount-operations.ts';
import { mcpToolsOf } from './tools.ts';

const post = (path: string) => ({ method: 'POST', path }) as const;
const nothing = { input: z.strictObject({}), output: z.null() };

function toolOf(declaration: Parameters<typeof declare<z.ZodType, z.ZodType>>[0]) {
  const [tool] = mcpToolsOf({ 'sample/one': declare(declaration) });
  if (!tool) throw new Error('there is no tool');
  return tool;
}

describe('D-11 which operations are tools', () => {
  test('those with an http binding, in the order of declaration, named with underscores', () => {
    expect(mcpToolsOf(sampleOperations).map(({ name, operation }) => [name, operation])).toEqual([
      // order/create declares none.
      ['order_read', 'order/read'],
      ['order_list', 'order/list'],
      ['order_update', 'order/update'],
      ['order_export', 'order/export'],
      ['line_remove', 'line/remove'],
    ]);
  });

  test('an operation with mcp: false is none', () => {
    const operations: OperationTable = {
      'order/open': declare({ ...nothing, http: post('/a') }),
      'order/secret': declare({ ...nothing, http: post('/b'), mcp: false }),
    };
    expect(mcpToolsOf(operations).map(({ name }) => name)).toEqual(['order_open']);
  });

  test('two operations that would be one tool fail at mount, naming both', () => {
    const operations: OperationTable = {
      'order/create': declare({ ...nothing, http: post('/a') }),
      order_create: declare({ ...nothing, http: post('/b') }),
    };
    const both = /order\/create and order_create would be the same tool: order_create/;
    expect(() => mcpToolsOf(operations)).toThrow(both);
    expect(() => mountOperations(new Hono(), operations, () => fakeScope(operations))).toThrow(both);
    // Nothing collides where there are no tools.
    mountOperations(new Hono(), operations, () => fakeScope(operations), { mcp: false });
  });

  test.each(['order/créate', 'order create', `order/${'x'.repeat(130)}`])(
    'a name that no tool can have fails at mount: %s',
    (name) => {
      expect(() => mcpToolsOf({ [name]: declare({ ...nothing, http: post('/a') }) })).toThrow(
        /cannot be a tool/,
      );
    },
  );
});

describe('D-11 what a tool says of itself', () => {
  test('its words come from the declaration', () => {
    expect(toolOf({ ...nothing, http: post('/a') })).toMatchObject({
      title: 'A sample',
      description: 'A sample',
    });
    const told = toolOf({ ...nothing, http: post('/a'), description: 'At length.', mcp: { title: 'Short' } });
    expect(told).toMatchObject({ title: 'Short', description: 'At length.' });
  });

  test.each([
    ['GET', {}, { readOnlyHint: true, destructiveHint: false, idempotentHint: true }],
    ['POST', {}, { readOnlyHint: false, destructiveHint: false, idempotentHint: false }],
    ['POST', { readOnly: true }, { readOnlyHint: true, destructiveHint: false, idempotentHint: true }],
    [
      'POST',
      { mcp: { destructive: true } },
      { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
    ],
    ['PUT', {}, { readOnlyHint: false, destructiveHint: false, idempotentHint: true }],
    ['PATCH', {}, { readOnlyHint: false, destructiveHint: false, idempotentHint: false }],
    ['DELETE', {}, { readOnlyHint: false, destructiveHint: true, idempotentHint: true }],
    [
      'DELETE',
      { mcp: { destructive: false } },
      { readOnlyHint: false, destructiveHint: false, idempotentHint: true },
    ],
    // A read destroys nothing, whatever it claims.
    [
      'GET',
      { mcp: { destructive: true } },
      { readOnlyHint: true, destructiveHint: false, idempotentHint: true },
    ],
  ] as const)('all four hints are set: %s %j', (method, more, hints) => {
    const { annotations } = toolOf({ ...nothing, ...more, http: { method, path: '/a' } });
    expect(annotations).toEqual({ ...hints, openWorldHint: false });
  });

  test('its input is the JSON schema of the operation, an object at the root that refuses unknown fields', () => {
    const [, list] = mcpToolsOf(sampleOperations);
    expect(list?.inputSchema).toMatchObject({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      additionalProperties: false,
      properties: { limit: { type: 'integer', minimum: 1, maximum: 50, default: 10 } },
    });
    const union = z.union([z.strictObject({ a: z.string() }), z.strictObject({ b: z.string() })]);
    expect(toolOf({ input: union, output: z.null(), http: post('/a') }).inputSchema.type).toBe('object');
  });

  test('its output is open for fields to come, and says at the root that it is an object', () => {
    const named = z
      .strictObject({ id: z.string(), parts: z.array(z.strictObject({ n: z.int() })) })
      .meta({ id: 'N' });
    const { outputSchema } = toolOf({ input: z.strictObject({}), output: named, http: post('/a') });
    expect(outputSchema).toMatchObject({ type: 'object', $ref: '#/$defs/N' });
    expect(JSON.stringify(outputSchema)).not.toContain('additionalProperties');
    const nullable = toolOf({ input: z.strictObject({}), output: named.nullable(), http: post('/a') });
    expect(nullable.outputSchema).not.toHaveProperty('type');
  });

  test('it promises no output where the operation says nothing of it', () => {
    expect(toolOf({ ...nothing, output: z.unknown(), http: post('/a') })).not.toHaveProperty('outputSchema');
    expect(toolOf({ ...nothing, output: contentBlocks, http: post('/a') })).not.toHaveProperty(
      'outputSchema',
    );
  });
});
