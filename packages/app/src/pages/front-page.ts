/** The first page: signed out, not a member, or what there is for a member; and what to change while sign-in is not wired. */
import { alert, type Html, html, notice } from '@freehold/auth/page-kit';
import type { AppContext } from '../declaration/env.ts';
import { callerOf } from '../request/caller.ts';
import { erasableTypes } from './erase-page.ts';
import { type Exchange, openExchange, ownOrigin, type Pages, returnPathOf, show } from './exchange.ts';
import { PATHS, SIGN_OUT, signInUrl } from './frame.ts';
import { claimPage, invitePage } from './link-pages.ts';
import { oneOf } from './parts.ts';
import { otherAccount, personNow } from './person.ts';

export async function frontPage(x: Exchange): Promise<Response> {
  const { services, query, me } = x;
  if (services.app.authenticatedPrincipal.kind === 'unauthenticated')
    return notWiredPage(x, services.app.authenticatedPrincipal.declaredAt);
  const invite = query.get('invite');
  if (invite !== null) return invitePage(x, { token: invite });
  const claim = query.get('claim');
  if (claim !== null) return claimPage(x, { token: claim });
  if (me.status === 'signed_out') return signedOutPage(x);
  return me.status === 'stranger' ? nonMemberPage(x) : memberPage(x);
}

/**
 * Returns what stands in the place of the application's own page for a signed-in person who is no member; null for all
 * others. A sign-in that does not answer changes nothing: the page holds no data, and asks for it itself.
 */
export async function pageOfNonMember(pages: Pages, c: AppContext): Promise<Response | null> {
  if (pages.services.app.authenticatedPrincipal.kind === 'unauthenticated') return null;
  const caller = await callerOf(pages.services, c).catch(() => null);
  return caller?.subject && !caller.principal ? nonMemberPage(await openExchange(pages, c)) : null;
}

function notWiredPage(x: Exchange, declaredAt: string | null): Promise<Response> {
  const { t } = x;
  return show(x, {
    title: t.front.notWired,
    narrow: true,
    body: html`<p>${t.front.notWiredWhat(declaredAt ?? 'src/app.ts')}</p>
<p>${t.front.notWiredThen}</p>`,
  });
}

function signedOutPage(x: Exchange): Promise<Response> {
  const { t, me, query } = x;
  const code = query.get('error');
  const isOutEverywhere = query.get('done') === 'everywhere';
  const failure = code === null ? undefined : t.front.failures[oneOf(t.front.failures, code) ?? 'other'];
  const mode = me.signIn?.mode;
  return show(x, {
    title: t.front.welcome(me.business),
    narrow: true,
    body: html`${alert(failure)}${notice(isOutEverywhere ? t.front.signedOutEverywhere : undefined)}${
      mode === 'tokens'
        ? html`<p>${t.front.forPrograms}</p>`
        : html`<p>${t.front.signInFirst}</p>
<p class="actions"><a class="button" href="${signInUrl(code === null && !isOutEverywhere ? returnPathOf(x.c) : PATHS.front)}">${t.frame.signIn}</a></p>`
    }${
      isOutEverywhere &&
      mode === 'hosted' &&
      html`<p class="actions"><a class="button plain" href="/api/auth/logout?federated">${t.front.alsoAtIssuer}</a></p>`
    }`,
  });
}

/** For a person who is signed in and no member, at any address of the application. */
export function nonMemberPage(x: Exchange): Promise<Response> {
  const { t, me, c } = x;
  const reason = me.seat?.reason ?? null;
  return show(x, {
    title: t.front.notMember,
    status: 403,
    narrow: true,
    body: html`<p>${t.front.signedInAs(personNow(x))}</p>
<p>${reason === null ? t.front.notMemberWhat(me.business) : t.front.seats[reason]}</p>
${otherAccount(x, returnPathOf(c))}
<p class="actions"><a class="button plain" href="${SIGN_OUT}">${t.frame.signOut}</a></p>`,
  });
}

function memberPage(x: Exchange): Promise<Response> {
  const { t, me, services } = x;
  const may = (permission: string) => me.permissions.includes(permission);
  const sees = (permission: string, place: Html) => (may(permission) ? [place] : []);
  const logs = may('member.manage') || may('audit.read');
  return show(x, {
    title: t.front.welcome(me.business),
    body: html`<p>${t.front.signedInAs(personNow(x))} ${t.front.yourRoles(
      me.roles.map(({ name }) => name).join(', ') || t.frame.roleNone,
    )}</p>
<h2>${t.front.whatIsHere}</h2>
<ul class="places">${[
      ...sees('team.read', place(PATHS.team, t.frame.team, t.front.teamWhat)),
      ...(logs ? [place(PATHS.log, t.frame.log, t.front.logWhat)] : []),
      ...(services.app.records.length > 0
        ? [place(PATHS.history, t.front.history, t.front.historyWhat)]
        : []),
      ...(erasableTypes(x).length > 0 ? [place(PATHS.erase, t.front.erase, t.front.eraseWhat)] : []),
      ...sees('member.manage', place(PATHS.settings, t.settings.title, t.front.settingsWhat)),
      place(PATHS.account, t.frame.account, t.front.accountWhat),
      place('/api/docs', t.front.apiDocs, t.front.apiDocsWhat),
    ]}</ul>
<section>
<h2>${t.front.mcp}</h2>
<p>${t.front.mcpWhat}</p>
<p><code>${mcpAddress(x)}</code></p>
</section>`,
  });
}

function place(path: string, name: string, what: string): Html {
  return html`<li><a class="place" href="${path}"><strong>${name}</strong> <span>${what}</span></a></li>`;
}

/** Where an agent uses the application. */
export function mcpAddress(x: Exchange): string {
  return `${ownOrigin(x)}/api/mcp`;
}
