/**
 * The consent of a member of the roster to a program with a registration or a document of its own: from which host it
 * comes, and what it may do of what the member may. No answer is remembered: it is asked every time.
 */
import {
  type AuthorizationRequest,
  formTargetOf,
  keepQuery,
  keptQuery,
  OAuthError,
  RefusedAuthorization,
  readFormBody,
  redirectKind,
} from '@freehold/auth/programs';
import type { ProgramAccess } from '@freehold/contracts';
import { answerOtherMethod, requireSameOrigin } from '@freehold/contracts/http';
import { type MemberActor, offeredPermissions } from '@freehold/directory';
import type { Context, Hono } from 'hono';
import type { ControlPlaneEnv } from '../http/env.ts';
import { type Html, html, pageResponse } from '../staff/page.ts';
import { signInAddress } from '../staff/sign-in-routes.ts';
import { type StaffOptions, staffOf, wordsOf } from '../staff/staff-options.ts';
import { consenterOf, isProgramClient, type ProgramServer } from './program-server.ts';

const CONSENT_PATH = '/oauth/consent';

export interface ConsentDeps {
  readonly staff: StaffOptions;
  readonly origin: () => string;
  readonly serverOf: ProgramServer;
}

/** Whether the authorization request of an address is of such a program, or the kept one of it. */
export function isProgramRequest({ searchParams }: URL): boolean {
  return searchParams.has('flow') || isProgramClient(searchParams.get('client_id'));
}

/** Answers GET of the authorization endpoint (RFC 6749, section 3.1). */
export async function authorizeProgram(c: Context<ControlPlaneEnv>, deps: ConsentDeps): Promise<Response> {
  const { query, isBack } = keptQuery(c.req.raw);
  if (query === null) return lost();
  const member = await staffOf(deps.staff, c.req.raw);
  if (!member) {
    const { headers } = c.req.raw;
    if (!isBack) return keepQuery(query, { headers, origin: deps.origin(), signInUrl: signInAddress });
    const { pathname, search } = new URL(c.req.url);
    return pageResponse({
      title: 'Sign in first',
      status: 401,
      body: html`<p>You are not signed in yet. <a href="${signInAddress(pathname + search)}">Sign in</a>, and the program can be let in.</p>`,
    });
  }
  try {
    const request = await deps.serverOf(c).readRequest(query);
    if (!(await deps.staff.signIns.programs.admits({ host: request.host })))
      return notAdmittedPage(`${request.client.name} (${request.host})`, deps.serverOf(c).deny(request));
    return consentPage(c, deps, { member, request });
  } catch (error) {
    if (error instanceof RefusedAuthorization) return redirect(error.location);
    if (error instanceof OAuthError) return refusal(error.message);
    throw error;
  }
}

export function mountConsent(app: Hono<ControlPlaneEnv>, deps: ConsentDeps): void {
  app.post(CONSENT_PATH, async (c) => {
    // A cookie rides along on the POST of any page: the consent must come from our own.
    requireSameOrigin(c.req.raw.headers, deps.origin, { pageOnly: true });
    const form = await readFormBody(c.req.raw).catch((error: unknown) => {
      if (error instanceof OAuthError) return null;
      throw error;
    });
    const member = await staffOf(deps.staff, c.req.raw);
    const server = deps.serverOf(c);
    const request = form && member && server.openTicket(form.get('ticket') ?? '', consenterOf(member));
    if (!request) return lost();
    if (form.get('answer') !== 'yes') return redirect(server.deny(request));
    const allowed = readAccess(form, member);
    if (!allowed) return consentPage(c, deps, { member, request, isAgain: true });
    return redirect(await server.letIn(request, consenterOf(member), allowed));
  });
  app.all(CONSENT_PATH, (c) => answerOtherMethod(c.req.raw.method, ['POST']));
}

interface Asked {
  readonly member: MemberActor;
  readonly request: AuthorizationRequest;
  /** Whether the answer chose nothing. */
  readonly isAgain?: boolean;
}

function consentPage(
  c: Context<ControlPlaneEnv>,
  { serverOf }: ConsentDeps,
  { member, request, isAgain = false }: Asked,
): Response {
  const { client, host, redirectUri } = request;
  const ticket = serverOf(c).makeTicket(request, consenterOf(member));
  return pageResponse({
    title: `Let ${client.name} in?`,
    ...(isAgain ? { status: 422 } : {}),
    formTargets: formTargetOf(redirectUri),
    body: html`${isAgain ? html`<p role="alert">Choose what it may do, at least one permission.</p>` : html``}<p>A program wants to use this control plane for you.</p>
<dl><dt>It calls itself</dt><dd>${client.name}</dd><dt>From</dt><dd><code>${host}</code> ${originWords(request)}</dd><dt>It will act for</dt><dd>${wordsOf(member)}</dd></dl>
<form method="post" action="${CONSENT_PATH}"><input type="hidden" name="ticket" value="${ticket}">${accessFields(member, request)}
<p>It can never do more than you may do at that moment. You can end it at any time under <a href="/oauth/programs">Connected programs</a>.</p>
<button name="answer" value="yes">Let it in</button><button name="answer" value="no">Do not</button></form>`,
  });
}

/** The facts about the sender: a host that was proven, one that gets the answer, or any program of a machine. */
function originWords({ client, redirectUri }: AuthorizationRequest): string {
  const kind = redirectKind(redirectUri) ?? 'web';
  const of = {
    web: '(the answer goes to this host; the name has not been checked)',
    loopback: '(a program on this computer; any program here can say that it is this one)',
    scheme: '(an app on this device; any app here can say that it is this one)',
  }[kind];
  if (client.kind !== 'document') return of;
  return kind === 'web' ? '(this host has been checked)' : `(this host has been checked) ${of}`;
}

function accessFields(member: MemberActor, { scope }: AuthorizationRequest): Html {
  const offered = offeredPermissions(roleOf(member));
  const asked = offered.some(([key]) => scope.includes(key))
    ? 'some'
    : scope.includes('all')
      ? 'all'
      : 'read';
  const option = (value: ProgramAccess['access'], words: string): Html =>
    html`<label class="check"><input type="radio" name="access" value="${value}"${asked === value ? html` checked` : html``}> ${words}</label>`;
  const permission = ([key, words]: readonly [string, string]): Html =>
    html`<label class="check nested"><input type="checkbox" name="permission" value="${key}"${scope.includes(key) ? html` checked` : html``}> ${words}</label>`;
  return html`<fieldset><legend>What it may do</legend>${option('read', 'Reading only')}${option('all', 'Everything that you may do')}${
    offered.length > 0 ? html`${option('some', 'Reading, and only this:')}${offered.map(permission)}` : html``
  }</fieldset>`;
}

/** Null where nothing was chosen, or what is not offered to this member. */
function readAccess(form: URLSearchParams, member: MemberActor): ProgramAccess | null {
  const access = form.get('access');
  if (access === 'all' || access === 'read') return { access };
  const offered = offeredPermissions(roleOf(member)).map(([key]) => key as string);
  const permissions = form.getAll('permission').filter((key) => offered.includes(key));
  return access === 'some' && permissions.length > 0 ? { access, permissions } : null;
}

function roleOf(member: MemberActor) {
  return member.kind === 'staff' ? member.role : 'builder';
}

function lost(): Response {
  return refusal('This request has expired, or is not of this browser. Start again in the program.');
}

function refusal(sentence: string): Response {
  return pageResponse({
    title: 'This program cannot be let in',
    status: 400,
    body: html`<p>${sentence}</p><p>Nothing was sent back to the program.</p>`,
  });
}

/** @param back the address that tells the program so. */
export function notAdmittedPage(program: string, back?: string): Response {
  return pageResponse({
    title: 'This program is not admitted here',
    status: 403,
    body: html`<p>The admins of this control plane do not admit ${program}. Ask one of them to list it.</p>${
      back === undefined ? html`` : html`<p><a href="${back}">Back to the program</a></p>`
    }`,
  });
}

function redirect(location: string): Response {
  return new Response(null, {
    status: 303,
    headers: { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' },
  });
}
