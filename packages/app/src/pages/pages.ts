/**
 * The supplied pages: what people see of an application that brings no pages of its own. They are made on the server and
 * need no script. Each form posts to a route of its own and is answered by a redirect, or by its page with the fault.
 */
import { answerOtherMethod, requireSameOrigin } from '@freehold/contracts/http';
import type { Hono } from 'hono';
import type { AppContext, AppEnv } from '../declaration/env.ts';
import { notWiredException, requireNode } from '../request/caller.ts';
import { accountPage, endEverywhere, endOthers, endSession } from './account-page.ts';
import { erase, erasePage } from './erase-page.ts';
import { type Exchange, openExchange, type Pages } from './exchange.ts';
import { PATHS } from './frame.ts';
import { frontPage } from './front-page.ts';
import { acceptInvite, claim } from './link-pages.ts';
import { denialsPage, eventsPage, historyPage } from './log-page.ts';
import { settingsPage } from './settings-page.ts';
import { teamPage } from './team-page.ts';
import {
  changeRole,
  confirmRemoval,
  confirmTransfer,
  invite,
  remove,
  revokeInvite,
  transfer,
} from './team-steps.ts';

type Handler = (x: Exchange) => Promise<Response>;

interface PageRoute {
  readonly path: string;
  readonly get?: Handler;
  readonly post?: Handler;
}

const ROUTES: readonly PageRoute[] = [
  { path: PATHS.front, get: frontPage },
  { path: PATHS.acceptInvite, post: acceptInvite },
  { path: PATHS.claim, post: claim },
  { path: PATHS.team, get: (x) => teamPage(x) },
  { path: PATHS.memberRole, post: changeRole },
  { path: PATHS.removeMember, get: confirmRemoval, post: remove },
  { path: PATHS.transfer, get: confirmTransfer, post: transfer },
  { path: PATHS.invite, post: invite },
  { path: PATHS.revokeInvite, post: revokeInvite },
  { path: PATHS.log, get: eventsPage },
  { path: PATHS.denials, get: denialsPage },
  { path: PATHS.history, get: historyPage },
  { path: PATHS.account, get: (x) => accountPage(x) },
  { path: PATHS.endSession, post: endSession },
  { path: PATHS.endOtherSessions, post: endOthers },
  { path: PATHS.endAllSessions, post: endEverywhere },
  { path: PATHS.erase, get: erasePage, post: erase },
  { path: PATHS.settings, get: settingsPage },
];

/**
 * Mounts the pages. The application's own routes at these addresses, which are mounted before, take their place.
 * @param hasOtherFront whether the first page is another one, but for the links of invites and claims.
 */
export function mountPages(
  app: Hono<AppEnv>,
  pages: Pages,
  { hasOtherFront }: { readonly hasOtherFront: boolean },
): void {
  for (const { path, get, post } of ROUTES) {
    if (hasOtherFront && path === PATHS.front) {
      app.get(path, async (c: AppContext, next) =>
        c.req.query('invite') === undefined && c.req.query('claim') === undefined
          ? next()
          : answer(pages, c, { path, handler: frontPage }),
      );
      continue;
    }
    if (get) app.get(path, async (c: AppContext) => answer(pages, c, { path, handler: get }));
    if (post)
      app.post(path, async (c: AppContext) => {
        // A cookie rides along on the POST of any page: only forms of these pages are taken.
        requireSameOrigin(c.req.raw.headers, requireNode(c).origin, { pageOnly: true });
        return answer(pages, c, { path, handler: post });
      });
    const methods = [get && 'GET', post && 'POST'].filter((each) => each !== undefined);
    app.all(path, (c) => answerOtherMethod(c.req.method, methods));
  }
}

async function answer(
  pages: Pages,
  c: AppContext,
  { path, handler }: { readonly path: string; readonly handler: Handler },
): Promise<Response> {
  const { authenticatedPrincipal: seam } = pages.services.app;
  // The first page says what to change; the others are closed like the API.
  if (seam.kind === 'unauthenticated' && path !== PATHS.front) throw notWiredException(c, seam.declaredAt);
  return handler(await openExchange(pages, c));
}
