/**
 * The consent: a program asks, and the person decides. Nothing is remembered of an earlier answer, so that no program gets in
 * unseen, whatever it knows of another (RFC 8252, section 8.6; RFC 9700, section 4.12).
 */

import { chosen, form, type Html, hidden, html, readForm } from '@freehold/auth/page-kit';
import {
  type AuthorizationRequest,
  formTargetOf,
  keepQuery,
  keptQuery,
  OAuthError,
  RefusedAuthorization,
  redirectKind,
} from '@freehold/auth/programs';
import { PlatformError, type ProgramAccess } from '@freehold/contracts';
import type { AppContext } from '../declaration/env.ts';
import { PATHS, seeOther, signInUrl } from '../pages/frame.ts';
import { facts } from '../pages/parts.ts';
import { accessChoice, accessFields, offeredPermissions, readAccess } from './access-form.ts';
import { mailOfEntry } from './notice.ts';
import type { ProgramParts } from './parts.ts';
import { serverOf } from './server.ts';
import { isMemberVisit, type MemberVisit, notMember, openVisit, showPage, type Visit } from './visit.ts';

/** Answers GET of the authorization endpoint (RFC 6749, section 3.1). */
export async function authorize(parts: ProgramParts, c: AppContext): Promise<Response> {
  const visit = await openVisit(parts, c);
  const server = serverOf(visit);
  const { query, isBack } = keptQuery(c.req.raw);
  if (query === null) return refused(visit, visit.t.programs.lost);
  if (!visit.subject?.session) {
    if (!isBack)
      return keepQuery(query, { headers: c.req.raw.headers, origin: visit.node.origin, signInUrl });
    return message(visit, {
      title: visit.t.programs.signInFirst,
      sentence: visit.t.programs.signInAgain,
      next: { label: visit.t.frame.signIn, url: signInUrl(c.req.path + new URL(c.req.url).search) },
    });
  }
  if (!isMemberVisit(visit))
    return message(visit, { title: visit.t.front.notMember, sentence: notMember(visit) });
  try {
    const request = await server.readRequest(query);
    return await askFor(visit, request);
  } catch (error) {
    if (error instanceof RefusedAuthorization) return seeOther(error.location);
    if (error instanceof OAuthError) return refused(visit, visit.t.programs.unknown, error.message);
    throw error;
  }
}

async function askFor(visit: MemberVisit, request: AuthorizationRequest, fault?: string): Promise<Response> {
  const { t, parts, node } = visit;
  const server = serverOf(visit);
  if (!(await parts.directory(node.tenant).admitsProgram({ scopeId: node.scope, host: request.host })))
    return message(visit, {
      title: t.programs.notAdmitted,
      sentence: t.programs.notAdmittedWhat(request.client.name, request.host),
      next: { label: t.programs.backTo(request.client.name), url: server.deny(request) },
    });
  const { client, host, redirectUri } = request;
  const offered = await offeredPermissions(visit);
  return showPage(visit, {
    title: t.programs.letIn(client.name),
    narrow: true,
    failed: fault !== undefined,
    ...(fault === undefined ? {} : { status: 422 }),
    formTargets: [formTargetOf(redirectUri)],
    body: html`${fault !== undefined && html`<p class="alert" role="alert">${fault}</p>`}
<p>${t.programs.asks(visit.business)}</p>
${facts([
  [t.programs.calls, client.name],
  [t.programs.from, html`${chosen(host)} <span class="muted">${originWords(visit, request)}</span>`],
  [t.programs.you, visit.subject.name ?? visit.subject.email ?? t.account.unknown],
])}
${form(
  PATHS.consent,
  html`${hidden('ticket', server.makeTicket(request, consenterOf(visit)))}
${accessChoice(visit, offered, firstChoice(request, offered))}
<p class="muted">${t.programs.never}</p>
<p class="actions"><button class="button" name="answer" value="yes">${t.programs.allow}</button>
<button class="button plain" name="answer" value="no">${t.programs.decline}</button></p>`,
)}`,
  });
}

/** Says what is known of the sender: a host that was proven, one that will get the answer, or any program of a device. */
function originWords({ t }: Visit, { client, redirectUri }: AuthorizationRequest): Html {
  const kind = client.kind === 'document' ? 'proven' : (redirectKind(redirectUri) ?? 'web');
  const words = t.programs.origins[kind];
  // Where the answer goes elsewhere than the program comes from, the person is told of both.
  const isElsewhere = client.kind === 'document' && redirectKind(redirectUri) !== 'web';
  return html`${words}${isElsewhere && html` ${t.programs.origins[redirectKind(redirectUri) ?? 'loopback']}`}`;
}

/** The permissions that the program asked for are ticked first, if it named permissions; else reading alone. */
function firstChoice(
  { scope }: AuthorizationRequest,
  offered: readonly (readonly [key: string, words: string])[],
): ProgramAccess {
  const permissions = offered.map(([key]) => key).filter((key) => scope.includes(key));
  return permissions.length > 0 ? { access: 'some', permissions } : { access: 'read' };
}

/** Takes the answer of the person. */
export async function consent(parts: ProgramParts, c: AppContext): Promise<Response> {
  const visit = await openVisit(parts, c);
  if (!isMemberVisit(visit)) return refused(visit, visit.t.programs.lost);
  const offered = await offeredPermissions(visit);
  const sent = await readForm(c.req.raw, ['ticket', 'answer', ...accessFields(offered)]);
  const server = serverOf(visit);
  const by = consenterOf(visit);
  const request = server.openTicket(sent.ticket ?? '', by);
  if (!request) return refused(visit, visit.t.programs.lost);
  if (sent.answer !== 'yes') return seeOther(server.deny(request));
  let allowed: ProgramAccess;
  try {
    allowed = readAccess(sent, offered);
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    return askFor(visit, request, visit.t.programs.choose);
  }
  const location = await server.letIn(request, by, allowed);
  await mailOfEntry(visit, request.client.name);
  return seeOther(location);
}

function consenterOf({ subject }: MemberVisit) {
  return { subject: { issuer: subject.issuer, sub: subject.sub }, sid: subject.session.sid };
}

/** A refusal that no program is told of: there is no address that could be trusted with it. */
function refused(visit: Visit, sentence: string, detail?: string): Promise<Response> {
  return showPage(visit, {
    title: visit.t.programs.refused,
    narrow: true,
    failed: true,
    status: 400,
    body: html`<p>${sentence}</p>${detail !== undefined && html`<p class="muted">${detail}</p>`}`,
  });
}

function message(
  visit: Visit,
  {
    title,
    sentence,
    next,
  }: {
    readonly title: string;
    readonly sentence: string;
    readonly next?: { readonly label: string; readonly url: string };
  },
): Promise<Response> {
  return showPage(visit, {
    title,
    narrow: true,
    status: 403,
    body: html`<p>${sentence}</p>${
      next !== undefined &&
      html`<p class="actions"><a class="button plain" href="${next.url}">${next.label}</a></p>`
    }`,
  });
}
