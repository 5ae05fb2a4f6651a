/**
 * The authorization endpoint (RFC 6749, section 4.1; RFC 7636, S256 alone; RFC 9207): a member of the roster is asked,
 * every time, whether a program on their own machine may act for them.
 */
import { describable, OAuthError, type OAuthErrorCode, readFormBody } from '@freehold/auth/programs';
import { answerOtherMethod, requireSameOrigin } from '@freehold/contracts/http';
import type { MemberActor } from '@freehold/directory';
import type { Context, Hono } from 'hono';
import type { ControlPlaneEnv } from '../http/env.ts';
import { html, pageResponse } from '../staff/page.ts';
import { RETURN_BYTES_MAX, signInAddress } from '../staff/sign-in-routes.ts';
import { type StaffOptions, staffOf, wordsOf } from '../staff/staff-options.ts';
import { isOwnResource } from './metadata.ts';
import { authorizeProgram, isProgramRequest, mountConsent } from './program-consent.ts';
import type { ProgramServer } from './program-server.ts';
import { clientName, holdsAnswer, isLoopbackRedirect, parametersOf } from './requests.ts';

const PATH = '/oauth/authorize';
/** The fields that are passed on to the decision. */
const PASSED_ON = [
  'response_type',
  'client_id',
  'redirect_uri',
  'code_challenge',
  'code_challenge_method',
  'state',
  'resource',
] as const;

export interface AuthorizeDeps {
  readonly staff: StaffOptions;
  readonly origin: () => string;
  /** For programs with a registration or a document of their own. */
  readonly serverOf: ProgramServer;
}

/** A request with a known client and a safe address for the answer. */
interface AuthorizationRequest {
  readonly client: string;
  readonly clientName: string;
  readonly redirectUri: string;
  readonly state: string | null;
}

export function mountAuthorize(app: Hono<ControlPlaneEnv>, deps: AuthorizeDeps): void {
  mountConsent(app, deps);
  app.get(PATH, (c) => {
    if (isProgramRequest(new URL(c.req.url))) return authorizeProgram(c, deps);
    const { pathname, search, searchParams } = new URL(c.req.url);
    return answered(c, deps, searchParams, async (request, member) => {
      if (member) {
        if (await admitsTokens(deps)) return consentPage(request, member, searchParams);
        throw new OAuthError('access_denied', NOT_ADMITTED);
      }
      if (pathname.length + search.length > RETURN_BYTES_MAX)
        throw new OAuthError('invalid_request', 'The request is too long: send a shorter state.');
      return redirect(signInAddress(pathname + search), 302);
    });
  });

  app.post(PATH, async (c) => {
    // The consent must come from our own page. Checked before the body is read.
    requireSameOrigin(c.req.raw.headers, deps.origin, { pageOnly: true });
    const form = await readFormBody(c.req.raw).catch(onPage);
    if (form instanceof Response) return form;
    return answered(c, deps, form, async (request, member, challenge) => {
      // The session ended while the question was open: it is asked again.
      if (!member) return redirect(signInAddress(`${PATH}?${passedOn(form)}`), 303);
      if (form.get('decision') !== 'allow') throw new OAuthError('access_denied', 'The member refused.');
      if (!(await admitsTokens(deps))) throw new OAuthError('access_denied', NOT_ADMITTED);
      const { client, redirectUri } = request;
      const { code } = await deps.staff.signIns.orderCode({
        member: member.id,
        client,
        redirectUri,
        challenge,
      });
      return redirect(callback(request, deps, { code }), 303);
    });
  });
  app.all(PATH, (c) => answerOtherMethod(c.req.raw.method, ['GET', 'POST']));
}

const NOT_ADMITTED = 'This control plane admits no programs.';

function admitsTokens({ staff }: AuthorizeDeps): Promise<boolean> {
  return staff.signIns.programs.admits({ host: null });
}

type Decide = (
  request: AuthorizationRequest,
  member: MemberActor | null,
  challenge: string,
) => Promise<Response>;

/**
 * Judges a request. Until client and address are known to be safe, a refusal is a page: an answer to an unchecked
 * address would make this server an open redirector (RFC 6749, section 4.1.2.1).
 */
async function answered(
  c: Context<ControlPlaneEnv>,
  deps: AuthorizeDeps,
  search: URLSearchParams,
  decide: Decide,
): Promise<Response> {
  let request: AuthorizationRequest;
  try {
    request = recipientOf(search);
  } catch (error) {
    return onPage(error);
  }
  try {
    const challenge = challengeOf(search, deps.origin());
    return await decide(request, await staffOf(deps.staff, c.req.raw), challenge);
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    return redirect(
      callback(request, deps, { error: error.code, error_description: describable(error.message) }),
      c.req.raw.method === 'POST' ? 303 : 302,
    );
  }
}

function recipientOf(search: URLSearchParams): AuthorizationRequest {
  const [client, ...clients] = search.getAll('client_id');
  const [redirectUri, ...others] = search.getAll('redirect_uri');
  const name = clientName(client ?? null);
  if (client === undefined || name === undefined || clients.length > 0)
    throw new OAuthError('invalid_client', 'The program that sent you here is unknown.');
  if (redirectUri === undefined || others.length > 0 || !isLoopbackRedirect(redirectUri))
    throw new OAuthError(
      'invalid_request',
      'The program wants its answer sent to an address that is not on this machine (http://127.0.0.1 or http://[::1]).',
    );
  if (holdsAnswer(redirectUri))
    throw new OAuthError('invalid_request', 'The program’s address already holds a parameter of an answer.');
  const states = search.getAll('state');
  return { client, clientName: name, redirectUri, state: states.length === 1 ? (states[0] ?? null) : null };
}

/** The PKCE challenge of a valid request. */
function challengeOf(search: URLSearchParams, origin: string): string {
  // RFC 8707 lets a client name several resources.
  const parameter = parametersOf(search, ['resource']);
  if (parameter('response_type') !== 'code')
    throw new OAuthError('unsupported_response_type', 'The response_type must be code.');
  if ((parameter('response_mode') ?? 'query') !== 'query')
    throw new OAuthError('invalid_request', 'The response_mode must be query.');
  const challenge = parameter('code_challenge') ?? '';
  if (parameter('code_challenge_method') !== 'S256' || !/^[A-Za-z0-9_-]{43}$/.test(challenge))
    throw new OAuthError('invalid_request', 'A code_challenge with the method S256 is needed.');
  if (!search.getAll('resource').every((resource) => isOwnResource(resource, origin)))
    throw new OAuthError('invalid_target', 'The resource is not one of this server.');
  return challenge;
}

function callback(
  { redirectUri, state }: AuthorizationRequest,
  { origin }: AuthorizeDeps,
  answer: { readonly code: string } | { readonly error: OAuthErrorCode; readonly error_description: string },
): string {
  const added = new URLSearchParams(Object.entries(answer));
  if (state !== null) added.set('state', state);
  added.set('iss', origin());
  // The program's own query stays byte by byte (RFC 6749, section 3.1.2).
  const joint = redirectUri.includes('?') ? '&' : '?';
  return `${redirectUri}${joint}${added}`;
}

function consentPage(
  { clientName, redirectUri }: AuthorizationRequest,
  member: MemberActor,
  search: URLSearchParams,
): Response {
  const { host, origin } = new URL(redirectUri);
  const hidden = [...passedOn(search)].map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  );
  const back = signInAddress(`${PATH}?${passedOn(search)}`, 'switch&');
  return pageResponse({
    title: `${clientName} asks to act for you`,
    body: html`<p>It will be able to do what you can do here, for 30 days or until you revoke it. It runs on this machine and waits at <code>${host}</code>.</p>
<p>Allow it only if you have just started it yourself.</p>
<form method="post" action="${PATH}">${hidden}<button name="decision" value="allow">Allow</button><button name="decision" value="deny">Cancel</button></form>
<p><small>You are ${wordsOf(member)}. <a href="${back}">Use another account</a></small></p>`,
    // Browsers apply this to the redirect after a form too. A policy cannot name an IPv6 address.
    formTargets: host.startsWith('[') ? 'http:' : origin,
  });
}

function passedOn(search: URLSearchParams): URLSearchParams {
  return new URLSearchParams(
    PASSED_ON.flatMap((name) => search.getAll(name).map((value): [string, string] => [name, value])),
  );
}

function onPage(error: unknown): Response {
  if (!(error instanceof OAuthError)) throw error;
  return pageResponse({
    title: 'This request cannot be answered',
    status: 400,
    body: html`<p>${error.message}</p><p><small>Code: <code>${error.code}</code></small></p>`,
  });
}

function redirect(location: string, status: 302 | 303): Response {
  return new Response(null, {
    status,
    headers: { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' },
  });
}
