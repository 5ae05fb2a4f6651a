/**
 * The way in for programs: the metadata and endpoints of an authorization server for the instance itself, the consent, and
 * the page of what was let in. For a deployed application the platform mounts them in front of it.
 */
import { AUTHORIZATION_SERVER_PATH, makeClientDocuments, OAUTH_PATHS } from '@freehold/auth/programs';
import { mountProtectedResource } from '@freehold/auth/resource-server';
import { answerOtherMethod, requireSameOrigin } from '@freehold/contracts/http';
import type { Hono } from 'hono';
import type { AppContext, AppEnv } from '../declaration/env.ts';
import { colorOf } from '../declaration/look.ts';
import { PATHS } from '../pages/frame.ts';
import { makeLook } from '../pages/style.ts';
import { requireNode } from '../request/caller.ts';
import { authorize, consent } from './consent-page.ts';
import type { ProgramOptions, ProgramParts } from './parts.ts';
import { endProgram, makeToken, programsPage, setPolicy } from './programs-page.ts';
import { resourcesOf, serverOf } from './server.ts';

/** The addresses that are answered here: everything below these. */
export const PROGRAM_BASES: readonly string[] = ['/oauth/', '/.well-known/oauth-'];

type Handler = (parts: ProgramParts, c: AppContext) => Promise<Response>;

const PAGES: readonly { readonly path: string; readonly get?: Handler; readonly post?: Handler }[] = [
  { path: PATHS.authorize, get: authorize },
  { path: PATHS.consent, post: consent },
  { path: PATHS.programs, get: programsPage },
  { path: PATHS.endProgram, post: endProgram },
  { path: PATHS.makeToken, post: makeToken },
  { path: PATHS.programPolicy, post: setPolicy },
];

export function mountPrograms(app: Hono<AppEnv>, options: ProgramOptions): void {
  const { fetch, now, signIn, nameOf } = options;
  const parts: ProgramParts = {
    ...options,
    documents: makeClientDocuments({ fetch, now }),
    pageLook: makeLook(colorOf(options.look ?? {})),
  };

  mountProtectedResource(app, {
    resource: async (c) => {
      const { provider, sessionSecrets } = await signIn(c);
      const node = requireNode(c);
      const servers = sessionSecrets ? [node.origin] : provider.authorizationServers;
      if (!servers) return null;
      const name = await nameOf(node);
      return resourcesOf(node).map((resource) => ({
        resource,
        authorizationServers: servers,
        resourceName: name,
      }));
    },
  });

  const endpoints = [AUTHORIZATION_SERVER_PATH, OAUTH_PATHS.register, OAUTH_PATHS.token, OAUTH_PATHS.revoke];
  for (const path of endpoints)
    app.all(path, async (c: AppContext) => {
      const server = serverOf({ parts, node: requireNode(c), signIn: await signIn(c) });
      const answer = await server.handle(c.req.raw);
      return answer ?? c.notFound();
    });

  for (const { path, get, post } of PAGES) {
    if (get) app.get(path, (c: AppContext) => get(parts, c));
    if (post)
      app.post(path, (c: AppContext) => {
        // A cookie rides along on the POST of any page: only forms of these pages are taken.
        requireSameOrigin(c.req.raw.headers, requireNode(c).origin, { pageOnly: true });
        return post(parts, c);
      });
    const methods = [get && 'GET', post && 'POST'].filter((each) => each !== undefined);
    app.all(path, (c) => answerOtherMethod(c.req.method, methods));
  }
}
