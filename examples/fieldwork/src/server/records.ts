/** The record that an address names, read as the caller may read it: for what is around a record and no operation. */
import type { z } from 'zod';
import type { operations } from '../vertical/operations.ts';
import { authenticatedPrincipal, requireNode } from './caller.ts';
import type { FieldworkContext, Services } from './env.ts';

type Output<Name extends keyof typeof operations> = z.output<(typeof operations)[Name]['output']>;

/** @throws PlatformError `not_found`; `permission_denied`, with its row in the denial log. */
export async function readOrder(services: Services, c: FieldworkContext): Promise<Output<'order/get'>> {
  const order = c.req.param('order') ?? '';
  return (await invokeAsCaller(services, c, 'order/get', { order })) as Output<'order/get'>;
}

/** @throws as {@link readOrder} */
export async function readCustomer(services: Services, c: FieldworkContext): Promise<Output<'customer/get'>> {
  const customer = c.req.param('customer') ?? '';
  return (await invokeAsCaller(services, c, 'customer/get', { customer })) as Output<'customer/get'>;
}

/** Runs an operation as the caller, and returns its output. */
export async function invokeAsCaller(
  services: Services,
  c: FieldworkContext,
  operation: keyof typeof operations,
  input: unknown,
): Promise<unknown> {
  const principal = await authenticatedPrincipal(services, c);
  const stub = services.host.operations(requireNode(c).scope, principal);
  return (await stub.invoke({ operation, input })).output;
}
