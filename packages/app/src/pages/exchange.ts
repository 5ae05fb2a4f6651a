/** One request for a page: who asks, in which language, and how a refusal is shown where it was met. */

import type { InviteSteps } from '@freehold/auth/invite-routes';
import { PlatformError, type Problem, problemSchema, toProblem } from '@freehold/contracts';
import { getCookie } from 'hono/cookie';
import { HTTPException } from 'hono/http-exception';
import type { AppContext, AppEnv, Services } from '../declaration/env.ts';
import { colorOf } from '../declaration/look.ts';
import { inviteSteps } from '../members/invites.ts';
import { describeCaller } from '../members/me-routes.ts';
import { callerOf, requireNode, requirePerson, scopeOf } from '../request/caller.ts';
import type { Me } from '../wire/wire.ts';
import { PATHS, type PageContent, type Place, pageResponse } from './frame.ts';
import { type Look, makeLook } from './style.ts';
import type { Texts } from './texts/shape.ts';
import { chooseTexts, type Spoken, TEXTS } from './texts/tables.ts';

/** The parts that all pages of an application share. */
export interface Pages {
  readonly services: Services;
  readonly look: Look;
  readonly invites: InviteSteps<AppEnv>;
}

export function makePages(services: Services): Pages {
  return {
    services,
    look: makeLook(colorOf(services.app.look ?? {})),
    invites: inviteSteps(services),
  };
}

export interface Exchange extends Pages {
  readonly c: AppContext;
  readonly me: Me;
  readonly t: Texts;
  readonly spoken: Spoken;
  /** The query of the address. */
  readonly query: URLSearchParams;
}

/** @throws PlatformError `not_found` for a request that reached no instance. */
export async function openExchange(pages: Pages, c: AppContext): Promise<Exchange> {
  const { services } = pages;
  const spoken = spokenFor(services, c);
  const isWired = services.app.authenticatedPrincipal.kind === 'signed-in';
  // Pages are for people: what a program was let in for is checked by the operations alone.
  if (isWired) requirePerson((await callerOf(services, c)).grant);
  const me = isWired ? await describeCaller(services, c) : await anonymousUntilWired(services, c);
  return { ...pages, c, me, spoken, t: spoken.texts, query: new URL(c.req.url).searchParams };
}

/** The cookie with the language that a reader chose. */
const LANGUAGE_COOKIE = 'language';

/** The declared language, else the one that the reader chose, else the one that their browser prefers. */
export function spokenFor({ app }: Services, c: AppContext): Spoken {
  const chosen = getCookie(c, LANGUAGE_COOKIE);
  // A cookie can hold any text, and the language goes into a header.
  const known = chosen !== undefined && Object.hasOwn(TEXTS, chosen) ? chosen : undefined;
  return chooseTexts(app.look?.language ?? known, c.req.header('accept-language'));
}

/** While the declaration lets no person in, a cookie counts for nothing. */
async function anonymousUntilWired(services: Services, c: AppContext): Promise<Me> {
  const { name: business } = await scopeOf(services, c).identify({});
  return {
    status: 'signed_out',
    business,
    subject: null,
    principal: null,
    roles: [],
    permissions: [],
    seat: null,
  };
}

/** The pages that the reader may open, in the order of the navigation. */
export function placesOf({ me, t }: Pick<Exchange, 'me' | 't'>): readonly Place[] {
  if (!me.subject) return [];
  const account = { path: PATHS.account, name: t.frame.account };
  if (me.status !== 'member') return [account];
  const may = (permission: string) => me.permissions.includes(permission);
  return [
    { path: PATHS.front, name: t.frame.home },
    ...(may('team.read') ? [{ path: PATHS.team, name: t.frame.team }] : []),
    ...(may('member.manage') || may('audit.read') ? [{ path: PATHS.log, name: t.frame.log }] : []),
    account,
  ];
}

export function show(x: Exchange, content: PageContent): Promise<Response> {
  const { look, spoken, me, c } = x;
  return pageResponse(
    { look, spoken, business: me.business, places: placesOf(x), path: c.req.path },
    content,
  );
}

export type Attempt<T> = { readonly done: T } | { readonly refused: Problem };

/**
 * Takes a step. A refusal is for the page of the form, beside what was typed; a missing sign-in and a failure are thrown.
 */
export async function attempt<T>(step: () => Promise<T>): Promise<Attempt<T>> {
  try {
    return { done: await step() };
  } catch (error) {
    const refused = await problemOf(error);
    if (refused === null || refused.status === 401 || refused.status >= 500) throw error;
    return { refused };
  }
}

/** The problem of a refusal: the steps of invites refuse with the problem document of their routes. */
async function problemOf(error: unknown): Promise<Problem | null> {
  if (error instanceof PlatformError) return toProblem(error);
  if (!(error instanceof HTTPException) || !error.res) return null;
  const read = problemSchema.safeParse(
    await error.res
      .clone()
      .json()
      .catch(() => null),
  );
  return read.success ? read.data : null;
}

/** The sentence of a problem in the reader's language where it is known, else its own. */
export function sentenceOf({ t }: Pick<Exchange, 't'>, problem: Problem): string {
  return t.problem.sentence(problem) ?? problem.detail;
}

/** The page that was asked for, to come back to after signing in; after a form, the first page. */
export function returnPathOf(c: AppContext): string {
  if (c.req.method !== 'GET') return PATHS.front;
  const { pathname, search } = new URL(c.req.url);
  return `${pathname}${search}`;
}

/** The origin of the instance, as browsers see it. */
export function ownOrigin({ c }: Exchange): string {
  return requireNode(c).origin;
}
