/** What happened: the story of one order for those who may see it, and the refused attempts for the owner. */
import type { EventRecord } from '@freehold/contracts';
import type { Hono } from 'hono';
import { manifest, type PermissionKey } from '../manifest.ts';
import { authenticatedPrincipal, requirePermission } from './caller.ts';
import { type FieldworkContext, type FieldworkEnv, requireNode, type Services, scopeOf } from './env.ts';
import { actorIn, loadMembers } from './people.ts';
import { mountRoutes, readPage } from './routes.ts';
import type { DenialEntry, HistoryEntry } from './wire.ts';

export function mountLogs(app: Hono<FieldworkEnv>, services: Services): void {
  mountRoutes(app, [
    { method: 'GET', path: '/api/orders/:order/history', answer: (c) => orderHistory(services, c) },
    { method: 'GET', path: '/api/denials', answer: (c) => denials(services, c) },
  ]);
}

async function orderHistory(services: Services, c: FieldworkContext): Promise<Response> {
  const principal = await authenticatedPrincipal(services, c);
  const query = readPage(c);
  const order = c.req.param('order') ?? '';
  // Whoever may read the order may read its story; a refusal is recorded like any other.
  await services.host
    .operations(requireNode(c).scope, principal)
    .invoke({ operation: 'order/get', input: { order } });
  const scope = scopeOf(services, c);
  const [page, members] = await Promise.all([
    scope.history({ entity: { type: 'order', id: order }, ...query }),
    loadMembers(services, c),
  ]);
  const items = await Promise.all(
    page.items.map(async (event): Promise<HistoryEntry> => {
      const effects = await scope.effects({ event: event.id });
      return {
        ...happening(event),
        actor: actorIn(members, event.actor),
        effects: effects.items.map(happening),
      };
    }),
  );
  return c.json({ items, nextCursor: page.nextCursor });
}

async function denials(services: Services, c: FieldworkContext): Promise<Response> {
  await requirePermission(services, c, 'audit.read');
  const query = readPage(c);
  const [page, members] = await Promise.all([
    scopeOf(services, c).listDenials(query),
    loadMembers(services, c),
  ]);
  const items = page.items.map(
    ({ actor, ...denial }): DenialEntry => ({
      ...denial,
      actor: actorIn(members, actor),
      wanted: manifest.permissions[denial.permission as PermissionKey] ?? denial.permission,
    }),
  );
  return c.json({ items, nextCursor: page.nextCursor });
}

function happening({ id, type, entity, payload, at }: EventRecord) {
  return { id, type, entity, payload, at };
}
