/**
 * Erasing a customer for good. It is a route because an operation does not reach the key, which is outside of the
 * scope. The key goes first, then the rows, then the note in the history.
 */
import { PlatformError } from '@freehold/contracts';
import type { Hono } from 'hono';
import type { z } from 'zod';
import { requireNode, requirePermission } from './caller.ts';
import type { FieldworkContext, FieldworkEnv, Services } from './env.ts';
import { invokeAsCaller, readCustomer } from './records.ts';
import { mountRoutes, readBody } from './routes.ts';
import { emptyBody, type erasedResponse } from './wire.ts';

export function mountErasure(app: Hono<FieldworkEnv>, services: Services): void {
  mountRoutes(app, [
    { method: 'POST', path: '/api/customers/:customer/erase', answer: (c) => eraseOne(services, c) },
  ]);
}

async function eraseOne(services: Services, c: FieldworkContext): Promise<Response> {
  await requirePermission(services, c, 'customer.erase');
  await readBody(c, emptyBody);
  const { id, openOrders, erasedAt } = await readCustomer(services, c);
  if (erasedAt === null && openOrders > 0)
    throw new PlatformError(
      'conflict',
      'This customer has open orders. Invoice or cancel them first: after the erasure they no longer show whose they are.',
      { reason: 'open_orders' },
    );
  const { tenant: tenantId, scope: scopeId } = requireNode(c);
  const receipt: z.input<typeof erasedResponse> = await services.host.shredSubjectLocal({
    tenantId,
    scopeId,
    subject: id,
  });
  await invokeAsCaller(services, c, 'customer/note-erasures', {});
  return c.json(receipt);
}
