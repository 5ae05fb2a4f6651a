/** A small vertical to test the mounts with: its operations, and a scope that judges input as the kernel does. */
import {
  type InvokeRequest,
  type InvokeResult,
  type OperationStub,
  PlatformError,
  parseInput,
} from '@freehold/contracts';
import type { OperationDeclaration, OperationTable } from '@freehold/operations';
import { z } from 'zod';

/** Keeps the types of one declaration, with `run` left to the fake scope. */
export function declare<I extends z.ZodType, O extends z.ZodType>(
  declaration: Omit<OperationDeclaration<unknown, I, O>, 'run' | 'summary' | 'permission'>,
): OperationDeclaration<unknown, I, O> {
  return {
    summary: 'A sample',
    permission: 'order.use',
    ...declaration,
    run: () => {
      throw new Error('the fake scope runs nothing');
    },
  };
}

const orderEntity = (input: { readonly id: string }) => ({ type: 'order', id: input.id });

export const sampleOperations: OperationTable = {
  'order/create': declare({
    input: z.strictObject({ customer: z.string().min(1), lines: z.array(z.unknown()).optional() }),
    output: z.object({ id: z.string() }),
  }),
  'order/read': declare({
    input: z.strictObject({ id: z.string(), verbose: z.boolean().optional() }),
    output: z.unknown(),
    entity: orderEntity,
    http: { method: 'GET', path: '/api/orders/:id' },
  }),
  'order/list': declare({
    input: z.strictObject({
      limit: z.int().min(1).max(50).default(10),
      ratio: z.number().optional(),
      tags: z.array(z.enum(['new', 'paid'])).optional(),
      before: z.int().nullable().optional(),
      open: z.boolean().nullable().optional(),
      status: z.union([z.literal('any'), z.int()]).optional(),
      q: z.string().nullable().optional(),
    }),
    output: z.unknown(),
    http: { method: 'GET', path: '/api/orders' },
  }),
  'order/update': declare({
    input: z.strictObject({ id: z.string(), note: z.string().nullable() }),
    output: z.unknown(),
    entity: orderEntity,
    http: { method: 'PATCH', path: '/api/orders/:id' },
  }),
  'order/export': declare({
    input: z.strictObject({ format: z.enum(['csv', 'json']) }),
    output: z.unknown(),
    http: { method: 'POST', path: '/api/orders/export' },
  }),
  'line/remove': declare({
    input: z.strictObject({ order: z.string(), number: z.int().positive(), reason: z.string().optional() }),
    output: z.null(),
    http: { method: 'DELETE', path: '/api/orders/:order/lines/:number' },
  }),
};

export type Handler = (request: InvokeRequest) => Partial<InvokeResult> | Promise<Partial<InvokeResult>>;

export interface FakeScope extends OperationStub {
  /** Every call that the schema let through to the handler. */
  readonly calls: InvokeRequest[];
}

/** A scope that parses input as the kernel does and then answers what the handler says. */
export function fakeScope(operations: OperationTable, handler: Handler = () => ({})): FakeScope {
  const calls: InvokeRequest[] = [];
  return {
    calls,
    invoke: async (request) => {
      const operation = operations[request.operation];
      if (!operation) throw new PlatformError('not_found', 'There is no such operation.');
      const input: unknown = parseInput('The input', operation.input, request.input);
      calls.push({ ...request, input });
      return {
        output: { input },
        invocation: null,
        version: null,
        replayed: false,
        ...(await handler(request)),
      };
    },
  };
}
