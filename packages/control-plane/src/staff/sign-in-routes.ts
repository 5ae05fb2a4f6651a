/** Where staff and builders sign in and out on the control plane's own host (spec 4.1), and who they are then. */
import { PlatformError } from '@freehold/contracts';
import { answerOtherMethod } from '@freehold/contracts/http';
import { type Actor, memberBehind, type SignInRefusal } from '@freehold/directory';
import type { RosterRole } from '@freehold/directory/declarations';
import type { Hono } from 'hono';
import type { AdmitActor, ControlPlaneEnv } from '../app.ts';
import { COMMON_HEADERS } from '../http/answer.ts';
import { type Authentication, authenticate } from '../http/authenticate.ts';
import { apiChallenge } from '../oauth/metadata.ts';
import { html, pageResponse } from './page.ts';
import { type StaffOptions, staffOf, wordsOf } from './staff-options.ts';

/** Spec 4.1: the addresses of component B, which its cookies are bound to. */
const SIGN_IN_PATHS = ['/api/auth/login', '/api/auth/callback', '/api/auth/logout'];
const BACKCHANNEL_PATH = '/api/auth/backchannel-logout';
/** The same under the names that people type. */
const SHORT_PATHS = ['/auth/login', '/auth/logout'];

/** What component B keeps of a place to return to, in bytes; one that is longer it leaves out. */
export const RETURN_BYTES_MAX = 512;

/** The address of the sign-in page that leads back to a place on this host. */
export function signInAddress(returnTo: string, extra = ''): string {
  return `/api/auth/login?${extra}${new URLSearchParams({ returnTo })}`;
}

export function mountSignInRoutes(
  app: Hono<ControlPlaneEnv>,
  staff: StaffOptions,
  authentication: Authentication & { readonly admit: AdmitActor },
): void {
  const { signIns: door } = staff;
  const relyingParty = () => {
    const found = staff.relyingParty();
    if (found) return found;
    throw new PlatformError(
      'unavailable',
      'Nobody can sign in here: no issuer is configured for the staff.',
      {
        reason: 'no_issuer',
      },
    );
  };

  for (const path of SIGN_IN_PATHS) {
    app.all(path, async (c) => {
      let refused: SignInRefusal | null = null;
      const response = await relyingParty().handle(c.req.raw, {
        admit: async ({ session, previous, ...arrived }) => {
          const outcome = await door.signIn({ ...session, ...arrived, requestId: c.var.requestId });
          if ('refused' in outcome) refused = outcome.refused;
          else if (previous) await door.signOut({ sid: previous.sid });
          return refused === null;
        },
        signedOut: ({ sid }) => door.signOut({ sid }),
      });
      return refused === null ? response : refusalPage(refused, staff, response);
    });
  }

  app.all(BACKCHANNEL_PATH, (c) =>
    relyingParty().handleBackchannelLogout(c.req.raw, (ended) => door.endSessions(ended)),
  );

  for (const path of SHORT_PATHS) {
    app.all(path, (c) => {
      if (c.req.raw.method !== 'GET') return answerOtherMethod(c.req.raw.method, ['GET']);
      const location = `/api${path}${new URL(c.req.url).search}`;
      return new Response(null, { status: 302, headers: { ...COMMON_HEADERS, location } });
    });
  }

  app.get('/auth/me', async (c) => {
    const challenge = (): string => apiChallenge(authentication.origin);
    const actor = await authenticate(c.req.raw, { ...authentication, challenge });
    authentication.admit(c, actor);
    const { kind, id, name } = actor;
    const role = roleOf(actor);
    const tenant = actor.kind === 'builder' ? actor.tenant : null;
    return Response.json({ kind, id, name, role, tenant }, { headers: COMMON_HEADERS });
  });
  app.all('/auth/me', (c) => answerOtherMethod(c.req.raw.method, ['GET']));

  app.get('/', async (c) => {
    const member = await staffOf(staff, c.req.raw);
    const who = member
      ? html`<p>You are signed in as ${wordsOf(member)}. <a href="/api/auth/logout?federated">Sign out</a></p>`
      : html`<p><a href="/api/auth/login">Sign in</a> as one of the staff, or as a builder of a tenant.</p>`;
    return pageResponse({
      title: 'Control plane',
      body: html`${who}<p><a href="/docs">The API and its reference</a></p><p><a href="/device">Connect a program that shows a code</a></p>`,
    });
  });
  app.all('/', (c) => answerOtherMethod(c.req.raw.method, ['GET']));
}

/**
 * What somebody on the roster is there; of a service token, what its owner is. Null for the operator's own tokens, which
 * may do everything, and for push tokens.
 */
function roleOf(actor: Actor): RosterRole | null {
  if (actor.kind === 'builder') return memberBehind(actor) === null ? null : 'builder';
  return actor.kind === 'staff' || actor.kind === 'service' ? (actor.role ?? null) : null;
}

/** Says whom to ask, and nothing of who is on the roster. The relying party's own answer clears its cookies. */
function refusalPage(
  refused: SignInRefusal,
  { contact = 'an admin of this platform' }: StaffOptions,
  answered: Response,
): Response {
  const why = {
    email_unverified: html`<p>Your identity provider does not say that your e-mail address is verified. Verify it there, then sign in again.</p>`,
    not_on_roster: html`<p>This is for the staff of the platform and the builders of its tenants, and you are not on their roster. Ask ${contact} to put your e-mail address on it.</p>`,
    tenant_not_active: html`<p>Your tenant is not active at the moment. Ask ${contact}.</p>`,
  }[refused];
  const page = pageResponse({
    title: 'You are not signed in',
    status: 403,
    body: html`${why}<p><a href="/api/auth/login?switch">Use another account</a></p><p><small>Code: <code>${refused}</code></small></p>`,
  });
  for (const cookie of answered.headers.getSetCookie()) page.headers.append('set-cookie', cookie);
  return page;
}
