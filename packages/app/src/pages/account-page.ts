/** The reader's account: who they are here, how they sign in, where they are signed in, and how programs connect. */
import { chosen, form, type Html, hidden, html, notice, readForm } from '@freehold/auth/page-kit';
import { PROTECTED_RESOURCE_PATH } from '@freehold/auth/resource-server';
import { endAllSessions, endOtherSessions, endOwnSession, ownSessions } from '../members/session-routes.ts';
import { signInException } from '../request/caller.ts';
import type { SessionRecord } from '../wire/wire.ts';
import { attempt, type Exchange, sentenceOf, show } from './exchange.ts';
import { PATHS, seeOther } from './frame.ts';
import { mcpAddress } from './front-page.ts';
import { button, facts, moment, oneOf, section } from './parts.ts';

export async function accountPage(
  x: Exchange,
  fault?: { readonly sentence: string; readonly status: number },
) {
  const { t, me, query } = x;
  if (!me.subject) throw signInException(x.c);
  const sessions = await ownSessions(x.services, x.c);
  const done = oneOf(t.account.done, query.get('done'));
  return show(x, {
    title: t.account.title,
    failed: fault !== undefined,
    ...(fault === undefined ? {} : { status: fault.status }),
    body: html`${notice(done === null ? undefined : t.account.done[done])}${
      fault !== undefined && html`<p class="alert" role="alert">${fault.sentence}</p>`
    }${section(t.account.who, whoSection(x))}${section(t.account.signIn, signInSection(x))}${section(
      t.account.sessions,
      sessionsSection(x, sessions),
    )}${section(t.account.programs, await programsSection(x))}`,
  });
}

function whoSection({ t, me }: Exchange): Html {
  const { name, email, emailVerified } = me.subject ?? { name: null, email: null, emailVerified: null };
  return facts([
    [t.account.name, name ?? t.account.unknown],
    [
      t.account.email,
      email === null
        ? t.account.unknown
        : html`${chosen(email)}${emailVerified === false && html` <span class="tag">${t.account.unverified}</span>`}`,
    ],
    [
      t.account.roles,
      me.status === 'member'
        ? me.roles.map((role) => role.name).join(', ') || t.frame.roleNone
        : t.account.notMember,
    ],
  ]);
}

function signInSection({ t, me }: Exchange): Html {
  if (!me.signIn) return html``;
  const { mode, securityUrl } = me.signIn;
  return html`<p>${t.account.modes[mode]}</p>${
    securityUrl !== undefined &&
    html`<p class="actions"><a class="button plain" href="${securityUrl}">${t.account.security}</a></p>`
  }`;
}

function sessionsSection(x: Exchange, sessions: readonly SessionRecord[]): Html {
  const { t } = x;
  if (sessions.length === 0) return html`<p class="muted">${t.account.noSessions}</p>`;
  const ordered = sessions.toSorted((a, b) => Number(b.current) - Number(a.current));
  return html`<ul class="items">${ordered.map((session) => sessionItem(x, session))}</ul>
<div class="row controls">${
    sessions.some(({ current }) => !current) && form(PATHS.endOtherSessions, button(t.account.endOthers))
  }${form(PATHS.endAllSessions, button(t.account.endAll))}</div>`;
}

function sessionItem(x: Exchange, { id, client, startedAt, current, here }: SessionRecord): Html {
  const { t } = x;
  const name = client ?? t.account.unknownBrowser;
  return html`<li class="row"><div><p><strong>${chosen(name)}</strong> ${current && html`<span class="tag">${t.account.thisOne}</span>`}</p>
<p class="muted">${t.account.started} ${moment(x, startedAt)}${!here && html` · ${t.account.elsewhere}`}</p></div>
${form(
  PATHS.endSession,
  html`${hidden('session', id)}${button(t.account.end, { about: t.account.endOf(name), look: 'plain small' })}`,
)}</li>`;
}

/** The place of the programs that act for the reader. Here stands how one connects. */
async function programsSection(x: Exchange): Promise<Html> {
  const { t, me, services, c } = x;
  if (!me.signIn) return html``;
  const issuers = (await services.signIn(c)).provider.authorizationServers ?? [];
  return html`<p>${t.account.programsWhat}</p>
<p>${t.account.programsByMode[me.signIn.mode]}</p>
${me.signIn.mode !== 'tokens' && me.status === 'member' && html`<p class="actions"><a class="button plain" href="${PATHS.programs}">${t.programs.title}</a></p>`}
${facts([
  [t.account.mcpAddress, html`<code>${mcpAddress(x)}</code>`],
  ...issuers.map((issuer) => [t.account.issuers, html`<code>${issuer}</code>`] as const),
  ...(issuers.length === 0
    ? []
    : [
        [
          t.account.metadata,
          html`<a href="${PROTECTED_RESOURCE_PATH}">${PROTECTED_RESOURCE_PATH}</a>`,
        ] as const,
      ]),
])}`;
}

export async function endSession(x: Exchange): Promise<Response> {
  const { session } = await readForm(x.c.req.raw, ['session']);
  return onAccountPage(x, `${PATHS.account}?done=ended`, () => endOwnSession(x.services, x.c, session));
}

export async function endOthers(x: Exchange): Promise<Response> {
  await readForm(x.c.req.raw, []);
  return onAccountPage(x, `${PATHS.account}?done=others`, () => endOtherSessions(x.services, x.c));
}

/** Ends every session, and then this browser's cookie. */
export async function endEverywhere(x: Exchange): Promise<Response> {
  await readForm(x.c.req.raw, []);
  const landing = encodeURIComponent(`${PATHS.front}?done=everywhere`);
  return onAccountPage(x, `/api/auth/logout?returnTo=${landing}`, () => endAllSessions(x.services, x.c));
}

async function onAccountPage(x: Exchange, next: string, step: () => Promise<unknown>): Promise<Response> {
  const tried = await attempt(step);
  if ('done' in tried) return seeOther(next);
  return accountPage(x, { sentence: sentenceOf(x, tried.refused), status: tried.refused.status });
}
