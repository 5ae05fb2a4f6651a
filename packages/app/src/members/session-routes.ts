/** The caller's own sessions: the list of them, and ending one. For members and non-members alike. */
import type { VerifiedSubject } from '@freehold/auth';
import { PlatformError, parseInput, toTimestamp } from '@freehold/contracts';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { AppContext, AppEnv, Services } from '../declaration/env.ts';
import { callerOf, directoryOf, requireNode, requirePerson, signInException } from '../request/caller.ts';
import { mountRoutes, readBody } from '../request/routes.ts';
import {
  emptyBody,
  type endedOthersResponse,
  type SessionRecord,
  type sessionsResponse,
} from '../wire/wire.ts';

/** Mounts the routes. An id names a session of the caller alone: another caller's is as unknown as none. */
export function mountSessions(app: Hono<AppEnv>, services: Services): void {
  mountRoutes(app, [
    {
      method: 'GET',
      path: '/api/sessions',
      answer: async (c) =>
        c.json({ items: await ownSessions(services, c) } satisfies z.input<typeof sessionsResponse>),
    },
    { method: 'POST', path: '/api/sessions/end-others', answer: (c) => endOthers(services, c) },
    { method: 'POST', path: '/api/sessions/end-all', answer: (c) => endAll(services, c) },
    { method: 'POST', path: '/api/sessions/:id/end', answer: (c) => endOne(services, c) },
  ]);
}

/** The caller's sessions. None for the bearer of a token. @throws HTTPException 401 */
export async function ownSessions(services: Services, c: AppContext): Promise<SessionRecord[]> {
  const { issuer, sub, session } = await requireSubject(services, c);
  // A token stands for no browser, and its bearer need not learn of its subject's sessions.
  if (!session) return [];
  const { items } = await directoryOf(services, c).listSessions({ issuer, sub });
  const { scope } = requireNode(c);
  return items.map(
    ({ sid, scopeId, client, startedMs, expiresMs }): SessionRecord => ({
      id: sid,
      client,
      startedAt: toTimestamp(startedMs),
      expiresAt: toTimestamp(expiresMs),
      current: sid === session.sid,
      here: scopeId === scope,
    }),
  );
}

const sessionId = z.string().min(1).max(128);

async function endOne(services: Services, c: AppContext): Promise<Response> {
  await requireSession(services, c);
  await readBody(c, emptyBody);
  await endOwnSession(services, c, parseInput('The address', sessionId, c.req.param('id')));
  return c.json({});
}

/** Ends one session of the caller. @throws HTTPException 401; PlatformError `forbidden`, reason `no_session` */
export async function endOwnSession(services: Services, c: AppContext, id: string): Promise<void> {
  const { issuer, sub } = await requireSession(services, c);
  // The directory checks the owner of the session: another's session is as unknown as none.
  await directoryOf(services, c).endOwnSession({ issuer, sub, sid: id });
}

async function endOthers(services: Services, c: AppContext): Promise<Response> {
  await requireSession(services, c);
  await readBody(c, emptyBody);
  const ended = await endOtherSessions(services, c);
  return c.json({ ended } satisfies z.input<typeof endedOthersResponse>);
}

/** Ends all sessions of the caller but this one, and returns how many there were. @throws as {@link endOwnSession} does. */
export async function endOtherSessions(services: Services, c: AppContext): Promise<number> {
  const { issuer, sub, session } = await requireSession(services, c);
  const directory = directoryOf(services, c);
  const { items } = await directory.listSessions({ issuer, sub });
  let count = 0;
  for (const { sid } of items) {
    if (sid === session.sid) continue;
    const { ended } = await directory.endOwnSession({ issuer, sub, sid });
    if (ended) count += 1;
  }
  return count;
}

async function endAll(services: Services, c: AppContext): Promise<Response> {
  await requireSession(services, c);
  await readBody(c, emptyBody);
  await endAllSessions(services, c);
  return c.json({});
}

/**
 * Ends everything up to now: this very session too, and also what was begun before sessions were listed.
 * @throws as {@link endOwnSession} does.
 */
export async function endAllSessions(services: Services, c: AppContext): Promise<void> {
  const { issuer, sub } = await requireSession(services, c);
  await directoryOf(services, c).endAllSessions({ issuer, sub, nowMs: services.deps.now() });
}

/** @throws HTTPException 401 */
async function requireSubject(services: Services, c: AppContext): Promise<VerifiedSubject> {
  const { subject, grant } = await callerOf(services, c);
  if (!subject) throw signInException(c);
  requirePerson(grant);
  return subject;
}

/** @throws HTTPException 401; PlatformError `forbidden`, reason `no_session`, for the bearer of a token. */
async function requireSession(
  services: Services,
  c: AppContext,
): Promise<VerifiedSubject & Required<Pick<VerifiedSubject, 'session'>>> {
  const { session, ...subject } = await requireSubject(services, c);
  if (!session)
    throw new PlatformError('forbidden', 'Sign in with a browser to end sessions.', {
      reason: 'no_session',
    });
  return { ...subject, session };
}
