/** The pages of links: an invite, and the claim of the owner seat. Looking changes nothing: mail scanners follow links. */
import { alert, form, type Html, hidden, html, readForm } from '@freehold/auth/page-kit';
import { claimSeat } from '../members/me-routes.ts';
import { attempt, type Exchange, sentenceOf, show } from './exchange.ts';
import { PATHS, type PageContent, seeOther, signInUrl } from './frame.ts';
import { moment, roleName } from './parts.ts';
import { otherAccount, personNow } from './person.ts';

interface Link {
  readonly token: string;
  /** Why the last press of the button did nothing. */
  readonly fault?: string;
  readonly status?: number;
}

export async function invitePage(x: Exchange, link: Link): Promise<Response> {
  const { t, me } = x;
  const found = await attempt(() => x.invites.show(x.c, link.token));
  if ('refused' in found)
    return show(x, {
      ...page(t.links.noLink, html`${alert(sentenceOf(x, found.refused))}${wayOn(x)}`),
      status: found.refused.status,
    });
  const { state, invitedBy, role, email, expiresAt } = found.done;
  if (state !== 'pending')
    return show(x, {
      ...page(t.links.closed, html`<p>${t.links.states[state]}</p>${wayOn(x)}`),
      ...statusOf(link),
    });
  const path = `${PATHS.front}?invite=${encodeURIComponent(link.token)}`;
  const body = html`<p>${t.links.invitedBy(invitedBy ?? t.links.theOwner, me.business, roleName(x, role))}</p>
${email !== null && html`<p class="muted">${t.links.forAddress(email)}</p>`}
<p class="muted">${t.links.goodUntil} ${moment(x, expiresAt)}.</p>
${alert(link.fault)}${actions(x, {
  path,
  signIn: t.links.signInToAccept,
  byProgram: '/api/accept-invite',
  member: t.links.memberAlready,
  nonMember: tokenForm(PATHS.acceptInvite, link.token, t.links.accept),
})}`;
  return show(x, { ...page(t.links.invited, body, link.fault), ...statusOf(link) });
}

export async function acceptInvite(x: Exchange): Promise<Response> {
  const { token } = await readForm(x.c.req.raw, ['token']);
  const accepted = await attempt(() => x.invites.accept(x.c, token));
  if ('done' in accepted) return seeOther(PATHS.front);
  const { refused } = accepted;
  return invitePage(x, { token, fault: sentenceOf(x, refused), status: refused.status });
}

export async function claimPage(x: Exchange, link: Link): Promise<Response> {
  const { t, me, services } = x;
  // While the seat waits for its first sign-in, coming here signed in has claimed it before any button is pressed.
  if (me.roles.some(({ key }) => key === services.manifest.ownerRole))
    return show(
      x,
      page(
        t.links.isOwner,
        html`<p>${t.front.signedInAs(personNow(x))}</p>
<p>${t.links.isOwnerWhat}</p>${goOn(t.links.goOn)}`,
      ),
    );
  const path = `${PATHS.front}?claim=${encodeURIComponent(link.token)}`;
  const body = html`<p>${t.links.claimWhat}</p>
${alert(link.fault)}${actions(x, {
  path,
  signIn: t.links.signInToClaim,
  byProgram: '/api/claim',
  member: t.links.claimAsMember,
  nonMember: tokenForm(PATHS.claim, link.token, t.links.becomeOwner),
})}`;
  return show(x, { ...page(t.links.claim(me.business), body, link.fault), ...statusOf(link) });
}

export async function claim(x: Exchange): Promise<Response> {
  const { token } = await readForm(x.c.req.raw, ['token']);
  const claimed = await attempt(() => claimSeat(x.services, x.c, token));
  if ('done' in claimed) return seeOther(PATHS.front);
  const { refused } = claimed;
  return claimPage(x, { token, fault: sentenceOf(x, refused), status: refused.status });
}

function page(title: string, body: Html, fault?: string): PageContent {
  return { title, body, narrow: true, hasToken: true, failed: fault !== undefined };
}

function statusOf({ status }: Link): Pick<PageContent, 'status'> {
  return status === undefined ? {} : { status };
}

/** The steps that the reader can take with a link that works: they depend on who the reader is here. */
function actions(
  x: Exchange,
  words: {
    readonly path: string;
    readonly signIn: string;
    readonly byProgram: string;
    readonly member: string;
    readonly nonMember: Html;
  },
): Html {
  const { me, t } = x;
  if (me.signIn?.mode === 'tokens')
    return html`<p>${t.front.forPrograms}</p><p>${t.links.byProgram(words.byProgram)}</p>`;
  if (me.status === 'signed_out')
    return html`<p class="actions"><a class="button" href="${signInUrl(words.path)}">${words.signIn}</a></p>`;
  const who = html`<p>${t.front.signedInAs(personNow(x))}</p>`;
  if (me.status === 'stranger') return html`${who}${words.nonMember}${otherAccount(x, words.path)}`;
  return html`${who}<p>${words.member}</p>${goOn(t.links.goOn)}${otherAccount(x, words.path)}`;
}

function wayOn({ me, t }: Exchange): Html {
  if (me.status !== 'signed_out') return goOn(t.links.continueWithout);
  if (me.signIn?.mode === 'tokens') return html`<p>${t.front.forPrograms}</p>`;
  return html`<p class="actions"><a class="button" href="${signInUrl(PATHS.front)}">${t.frame.signIn}</a></p>`;
}

function goOn(label: string): Html {
  return html`<p class="actions"><a class="button plain" href="${PATHS.front}">${label}</a></p>`;
}

function tokenForm(action: string, token: string, label: string): Html {
  return form(
    action,
    html`${hidden('token', token)}<p class="actions"><button class="button">${label}</button></p>`,
  );
}
