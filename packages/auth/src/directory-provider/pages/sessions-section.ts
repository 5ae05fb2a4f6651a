/** The section of the account page that lists where somebody is signed in. */
import type { ListedSession } from '../../sessions/operations.ts';
import { authUrl } from './paths.ts';
import { form, hidden } from './fields.ts';
import { type Html, html } from './html.ts';
import { day, section } from './security-sections.ts';

export function sessionsSection(shown: {
  readonly sessions: readonly ListedSession[];
  readonly currentSid: string;
}): Html {
  const { sessions, currentSid } = shown;
  return section(
    'Where you are signed in',
    html`<ul class="items">${sessions.map((session) => sessionItem(session, session.sid === currentSid))}</ul>
${form(authUrl('security/sessions/end-all'), html`<p class="actions"><button class="button plain">Sign out everywhere</button></p>`)}`,
  );
}

function sessionItem({ sid, client, startedMs }: ListedSession, current: boolean): Html {
  const label = client ?? 'Unknown browser';
  return html`<li class="row"><p><strong>${label}</strong>${current && ' (this one)'} <span class="hint">since ${day(startedMs)}</span></p>${form(
    authUrl('security/sessions/end'),
    html`${hidden('sid', sid)}<p class="actions"><button class="button plain">Sign out<span class="hidden"> ${label}</span></button></p>`,
  )}</li>`;
}
