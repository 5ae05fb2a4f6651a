/** The forms of the team: changing a role, removing a member, handing over the owner seat, inviting, revoking an invite. */
import { createInviteBody } from '@freehold/auth/invite-routes';
import { form, type Html, hidden, html, readForm } from '@freehold/auth/page-kit';
import { PlatformError, type PrincipalId, parseInput, principalId } from '@freehold/contracts';
import { endMembership, giveRole, handOverSeat } from '../members/member-routes.ts';
import { directoryOf, requireNode, requirePermission } from '../request/caller.ts';
import { attempt, type Exchange, show } from './exchange.ts';
import { PATHS, seeOther } from './frame.ts';
import { nameOf, teamPage } from './team-page.ts';

type Done = keyof Exchange['t']['team']['done'];

function backToTeam(done: Done): Response {
  return seeOther(`${PATHS.team}?done=${done}`);
}

/** The answer of a form on the page of the team. */
async function onTeamPage(x: Exchange, done: Done, step: () => Promise<unknown>): Promise<Response> {
  const tried = await attempt(step);
  return 'done' in tried ? backToTeam(done) : teamPage(x, { problem: tried.refused });
}

export async function changeRole(x: Exchange): Promise<Response> {
  const { member, role } = await readForm(x.c.req.raw, ['member', 'role']);
  return onTeamPage(x, 'role', () =>
    giveRole(x.services, x.c, () => ({ principal: toPrincipal(member), role })),
  );
}

export async function revokeInvite(x: Exchange): Promise<Response> {
  const { invite } = await readForm(x.c.req.raw, ['invite']);
  return onTeamPage(x, 'revoked', () => x.invites.revoke(x.c, () => toPrincipal(invite)));
}

/** Makes an invite. Its link is in this answer alone, so that this POST is not followed by a redirect. */
export async function invite(x: Exchange): Promise<Response> {
  const typed = await readForm(x.c.req.raw, ['role', 'email', 'name']);
  const body = {
    role: typed.role,
    ...(typed.email.trim() === '' ? {} : { email: typed.email.trim() }),
    ...(typed.name.trim() === '' ? {} : { name: typed.name.trim() }),
  };
  const made = await attempt(() =>
    x.invites.create(x.c, () => parseInput('The form', createInviteBody, body)),
  );
  if ('refused' in made) return teamPage(x, { problem: made.refused, invite: typed });
  const { t, me } = x;
  const { url } = made.done;
  return show(x, {
    title: t.team.linkMade,
    status: 201,
    hasToken: true,
    body: html`<p>${t.team.linkOnce}</p>
${linkField(t.team.link, url)}
<p class="actions"><a class="button" href="${mailTo(x, { email: body.email ?? '', business: me.business, url })}">${t.team.sendLink}</a>
<a class="button plain" href="${PATHS.team}">${t.frame.back}</a></p>`,
  });
}

/** A field to copy from. */
function linkField(label: string, url: string): Html {
  return html`<div class="field"><label for="link">${label}</label>
<input id="link" type="text" value="${url}" readonly autocomplete="off" spellcheck="false"></div>`;
}

function mailTo(
  { t }: Exchange,
  { email, business, url }: { readonly email: string; readonly business: string; readonly url: string },
): string {
  const part = encodeURIComponent;
  return `mailto:${part(email)}?subject=${part(t.team.mailSubject(business))}&body=${part(t.team.mailBody(business, url))}`;
}

export const confirmRemoval = confirmPage(PATHS.removeMember, (t) => ({
  title: t.removeOf,
  consequences: t.removeWhat,
  label: t.remove,
}));

export async function remove(x: Exchange): Promise<Response> {
  const { member } = await readForm(x.c.req.raw, ['member']);
  return onTeamPage(x, 'removed', () => endMembership(x.services, x.c, () => toPrincipal(member)));
}

export const confirmTransfer = confirmPage(PATHS.transfer, (t) => ({
  title: t.makeOwnerOf,
  consequences: t.makeOwnerWhat,
  label: t.makeOwner,
}));

export async function transfer(x: Exchange): Promise<Response> {
  const { member } = await readForm(x.c.req.raw, ['member']);
  return onTeamPage(x, 'owner', () => handOverSeat(x.services, x.c, () => toPrincipal(member)));
}

interface Question {
  readonly title: (person: string) => string;
  readonly consequences: readonly string[];
  readonly label: string;
}

/** The page that names what follows before a step that a second press does not take back. */
function confirmPage(
  action: string,
  question: (t: Exchange['t']['team']) => Question,
): (x: Exchange) => Promise<Response> {
  return async (x) => {
    const { title, consequences, label } = question(x.t.team);
    const principal = toPrincipal(x.query.get('member') ?? '');
    await requirePermission(x.services, x.c, 'member.manage');
    const scopeId = requireNode(x.c).scope;
    const member = await directoryOf(x.services, x.c).findMember({ scopeId, principal });
    if (!member)
      throw new PlatformError('not_found', 'There is no such member here.', { reason: 'unknown_member' });
    return show(x, {
      title: title(nameOf(x, member)),
      body: html`<ul class="consequences">${consequences.map((each) => html`<li>${each}</li>`)}</ul>
${form(
  action,
  html`${hidden('member', principal)}<p class="actions"><button class="button danger">${label}</button>
<a class="button plain" href="${PATHS.team}">${x.t.frame.cancel}</a></p>`,
)}`,
    });
  };
}

function toPrincipal(value: string): PrincipalId {
  return parseInput('The form', principalId, value);
}
