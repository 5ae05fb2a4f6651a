/**
 * The sign-in and sign-out of staff and builders on the control plane's own host (spec 4.1), and the pages of
 * refusals.
 */
import { PlatformError } from '@freehold/contracts';
import { answerOtherMethod, wantsPage } from '@freehold/contracts/http';
import { type Actor, memberBehind, type SignInRefusal } from '@freehold/directory';
import type { RosterRole } from '@freehold/directory/declarations';
import type { Hono } from 'hono';
import type { AdmitActor, ControlPlaneEnv } from '../http/env.ts';
import { type Authentication, authenticate, COMMON_HEADERS } from '../http/serve.ts';
import { html, pageResponse } from './page.ts';
import { type StaffOptions, staffOf, wordsOf } from './staff-options.ts';

/** Spec 4.1: the addresses of component B, to which its cookies are bound. */
const SIGN_IN_PATHS = ['/api/auth/login', '/api/auth/callback', '/api/auth/logout'];
const BACKCHANNEL_PATH = '/api/auth/backchannel-logout';
/** The same as short addresses for people. */
const SHORT_PATHS = ['/auth/login', '/auth/logout'];

/** The bound of component B on a return address, in bytes; it leaves out a longer one. */
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
  const { signIns } = staff;
  const relyingParty = () => {
    const found = staff.relyingParty();
    if (found) return found;
    throw new PlatformError(
      'unavailable',
      'There is no sign-in here: no issuer is configured for the staff.',
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
          const outcome = await signIns.signIn({ ...session, ...arrived, requestId: c.var.requestId });
          if ('refused' in outcome) refused = outcome.refused;
          else if (previous) await signIns.signOut({ sid: previous.sid });
          return refused === null;
        },
        signedOut: ({ sid }) => signIns.signOut({ sid }),
      });
      return refused === null ? response : refusalPage(refused, staff, response);
    });
  }

  app.all(BACKCHANNEL_PATH, (c) =>
    relyingParty().handleBackchannelLogout(c.req.raw, (ended) =>
      signIns.endSessions({ ...ended, requestId: c.var.requestId }),
    ),
  );

  for (const path of SHORT_PATHS) {
    app.all(path, (c) => {
      if (c.req.raw.method !== 'GET') return answerOtherMethod(c.req.raw.method, ['GET']);
      const location = `/api${path}${new URL(c.req.url).search}`;
      return new Response(null, { status: 302, headers: { ...COMMON_HEADERS, location } });
    });
  }

  app.get('/auth/me', async (c) => {
    const actor = await authenticate(c.req.raw, authentication);
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
      ? html`<p>You are signed in as ${wordsOf(member)}. <a href="/api/auth/logout?federated">Sign out</a></p><p><a href="/oauth/programs">Connected programs</a></p>`
      : html`<p><a href="/api/auth/login">Sign in</a> as one of the staff, or as a builder of a tenant.</p>`;
    return pageResponse({
      title: 'Control plane',
      body: html`${who}<p><a href="/docs">The API and its reference</a></p><p><a href="/device">Connect a program that shows a code</a></p>`,
    });
  });
  app.all('/', (c) => answerOtherMethod(c.req.raw.method, ['GET']));
}

/**
 * The role of a member of the roster; of a service token, that of its owner. Null for the operator's own tokens, which
 * may do everything, and for push tokens.
 */
function roleOf(actor: Actor): RosterRole | null {
  if (actor.kind === 'builder') return memberBehind(actor) === null ? null : 'builder';
  return actor.kind === 'staff' || actor.kind === 'service' ? (actor.role ?? null) : null;
}

/** Names the contact, and nothing of the roster. The relying party's own answer clears its cookies. */
function refusalPage(
  refused: SignInRefusal,
  { contact = 'an admin of this platform', secondFactor = 'acr or amr' }: StaffOptions,
  answered: Response,
): Response {
  const why = {
    email_unverified: html`<p>Your identity provider does not say that your e-mail address is verified. Verify it there, then sign in again.</p>`,
    not_on_roster: html`<p>This is for the staff of the platform and the builders of its tenants, and you are not on their roster. Ask ${contact} to put your e-mail address on it.</p>`,
    second_factor: html`<p>Your identity provider does not say that you signed in with a second factor: its ID token has to have <code>${secondFactor}</code>. Set up a second factor there, then sign in again. Where you have one, ask ${contact} to have the provider send that claim.</p>`,
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

/**
 * The page of a 401 with a link to the sign-in, because a browser cannot answer a challenge for a bearer token; the
 * header stays for other clients (RFC 9110, section 15.5.2). A link and no redirect: a person who comes back from the
 * issuer without a valid session would be redirected in a loop.
 * @returns null for software, for a token that was refused, for other methods, and without a sign-in.
 */
export function signInPage(
  request: Request,
  error: PlatformError,
  staff: StaffOptions | undefined,
): Response | null {
  const { method, headers, url } = request;
  if (error.code !== 'unauthenticated' || (method !== 'GET' && method !== 'HEAD') || !wantsPage(headers))
    return null;
  if (headers.has('authorization') || !staff?.relyingParty()) return null;
  const { pathname, search } = new URL(url);
  const back = pathname.length + search.length > RETURN_BYTES_MAX ? '/' : pathname + search;
  return withHeaders(
    pageResponse({
      title: 'Sign in first',
      status: error.status,
      body: html`<p>This is for the staff of the platform and the builders of its tenants. <a href="${signInAddress(back)}">Sign in</a> to go on.</p><p><small>A program sends a token instead: <code>Authorization: Bearer …</code>. <a href="/docs">The reference</a> says more.</small></p>`,
    }),
    error,
  );
}

/** The page of a 429; null for software. */
export function tooManyPage(request: Request, error: PlatformError): Response | null {
  if (!wantsPage(request.headers)) return null;
  return withHeaders(
    pageResponse({
      title: 'Too many requests',
      status: error.status,
      body: html`<p>${error.message} All requests from your network address are counted together.</p>`,
    }),
    error,
  );
}

function withHeaders(page: Response, { headers = {} }: PlatformError): Response {
  for (const [name, value] of Object.entries(headers)) page.headers.set(name, value);
  return page;
}
