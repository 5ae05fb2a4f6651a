/** The long works of a caller: listed, shown, cancelled, and resumed where a copy has halted them. */
import { cutPage, decodeCursor } from '@freehold/contracts';
import type { LongWorkRecord } from '@freehold/kernel';
import type { Hono } from 'hono';
import type { AppContext, AppEnv, Services } from '../declaration/env.ts';
import { actingCaller, scopeOf } from '../request/caller.ts';
import { nameActors } from '../request/people.ts';
import { mountRoutes, readBody, readPage } from '../request/routes.ts';
import { emptyBody, type LongWorkEntry, type LongWorkList } from '../wire/wire.ts';

const LONG_WORKS_PATH = '/api/long-works';

/** Mounts them where the application has long work. */
export function mountLongWorks(app: Hono<AppEnv>, services: Services): void {
  if (Object.keys(services.app.vertical.works ?? {}).length === 0) return;
  const one = `${LONG_WORKS_PATH}/:work`;
  mountRoutes(app, [
    { method: 'GET', path: LONG_WORKS_PATH, answer: async (c) => c.json(await listWorks(services, c)) },
    { method: 'GET', path: one, answer: async (c) => c.json(await change(services, c, 'longWork')) },
    { method: 'POST', path: `${one}/cancel`, answer: (c) => changed(services, c, 'cancelLongWork') },
    { method: 'POST', path: `${one}/resume`, answer: (c) => changed(services, c, 'resumeLongWork') },
  ]);
}

async function listWorks(services: Services, c: AppContext): Promise<LongWorkList> {
  const caller = await actingCaller(services, c);
  const { limit, cursor } = readPage(c);
  const before = cursor === undefined ? {} : { before: decodeCursor(cursor) };
  const found = await scopeOf(services, c).longWorks({ ...caller, ...before, limit: limit + 1 });
  const { items, nextCursor } = cutPage(
    found,
    limit,
    ({ id }) => id,
    (work) => work,
  );
  return { items: await named(services, c, items), nextCursor };
}

async function changed(
  services: Services,
  c: AppContext,
  method: 'cancelLongWork' | 'resumeLongWork',
): Promise<Response> {
  await actingCaller(services, c);
  await readBody(c, emptyBody);
  return c.json(await change(services, c, method));
}

async function change(
  services: Services,
  c: AppContext,
  method: 'longWork' | 'cancelLongWork' | 'resumeLongWork',
): Promise<LongWorkEntry> {
  const caller = await actingCaller(services, c);
  const work = await scopeOf(services, c)[method]({ ...caller, id: c.req.param('work') ?? '' });
  return (await named(services, c, [work]))[0] as LongWorkEntry;
}

async function named(
  services: Services,
  c: AppContext,
  works: readonly LongWorkRecord[],
): Promise<LongWorkEntry[]> {
  const actorOf = await nameActors(
    services,
    c,
    works.map(({ startedBy }) => startedBy),
  );
  return works.map(({ startedBy, ...work }) => ({ ...work, startedBy: actorOf(startedBy) }));
}
