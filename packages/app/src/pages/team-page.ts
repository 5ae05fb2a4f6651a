/** The team: members with their roles, and the open invites. What a member may not do is not shown. */

import type { InviteRecord } from '@freehold/auth/invite-routes';
import { alert, chosen, field, form, type Html, hidden, html, notice } from '@freehold/auth/page-kit';
import type { Problem } from '@freehold/contracts';
import { listMembers } from '../members/member-routes.ts';
import { isWithin } from '../members/memberships.ts';
import type { MemberRecord } from '../wire/wire.ts';
import { type Exchange, sentenceOf, show } from './exchange.ts';
import { PATHS } from './frame.ts';
import { button, day, oneOf, pageOf, pager, roleName, roleNames, section, select } from './parts.ts';

/** The typed fields of the form of an invite. */
export interface TypedInvite {
  readonly role: string;
  readonly email: string;
  readonly name: string;
}

/** A form of the page that was refused. */
export interface TeamFault {
  readonly problem: Problem;
  readonly invite?: TypedInvite;
}

export async function teamPage(x: Exchange, fault?: TeamFault): Promise<Response> {
  const { t, me, query } = x;
  const members = await listMembers(x.services, x.c, () => pageOf(query));
  const manages = me.permissions.includes('member.manage');
  const done = oneOf(t.team.done, query.get('done'));
  const above = fault && fieldOf(fault) === null ? sentenceOf(x, fault.problem) : undefined;
  return show(x, {
    title: t.frame.team,
    failed: fault !== undefined,
    ...(fault === undefined ? {} : { status: fault.problem.status }),
    body: html`${notice(done === null ? undefined : t.team.done[done])}${alert(above)}${section(
      t.team.members,
      html`<ul class="items">${members.items.map((member) => memberItem(x, member, { manages, members: members.items }))}</ul>
${pager(x, PATHS.team, members.nextCursor)}`,
    )}${manages && html`${inviteSection(x, fault)}${await invitesSection(x)}`}`,
  });
}

/** The roles that the reader may give and take. */
function rolesWithin({ services: { manifest }, me }: Exchange): string[] {
  return Object.keys(manifest.roles).filter((role) => isWithin(manifest, role, me.permissions));
}

export function nameOf(
  { t }: Pick<Exchange, 't'>,
  person: { name: string | null; email: string | null },
): string {
  return person.name ?? person.email ?? t.frame.unnamed;
}

function memberItem(
  x: Exchange,
  member: MemberRecord,
  { manages, members }: { readonly manages: boolean; readonly members: readonly MemberRecord[] },
): Html {
  const { t } = x;
  const name = nameOf(x, member);
  const isSeatHolder = members.some(({ you, owner }) => you && owner);
  const mayTransfer = manages && isSeatHolder && !member.owner;
  return html`<li><p><strong>${chosen(name)}</strong> ${member.you && html`<span class="tag">${t.team.you}</span>`}${
    member.owner && html`<span class="tag">${t.team.owner}</span>`
  }</p>
<p class="muted">${roleNames(x, member.roles)}${
    member.email !== null && member.name !== null && html` · ${chosen(member.email)}`
  } · ${t.team.since} ${day(x, member.since)}</p>
${
  (mayChange(x, member, manages) || mayTransfer) &&
  html`<div class="row controls">${mayChange(x, member, manages) && changes(x, member, name)}${
    mayTransfer &&
    html`<p class="actions"><a class="button plain small" aria-label="${t.team.makeOwner}: ${name}" href="${PATHS.transfer}?member=${member.principal}">${t.team.makeOwner}</a></p>`
  }</div>`
}</li>`;
}

/** The scope refuses to take what the reader does not hold, and the holder of the owner seat stays. */
function mayChange(x: Exchange, member: MemberRecord, manages: boolean): boolean {
  const { manifest } = x.services;
  return (
    manages &&
    !member.you &&
    !member.owner &&
    member.roles.every((role) => isWithin(manifest, role, x.me.permissions))
  );
}

function changes(x: Exchange, { principal, roles }: MemberRecord, name: string): Html {
  const { t } = x;
  const options = rolesWithin(x).map((role) => ({ value: role, label: roleName(x, role) }));
  return html`${form(
    PATHS.memberRole,
    html`${hidden('member', principal)}${select({
      name: 'role',
      prefix: `${principal}-`,
      label: t.team.roleOf(name),
      isLabelHidden: true,
      options,
      value: roles[0],
    })}
${button(t.team.changeRole, { about: `${t.team.changeRole}: ${name}`, look: 'plain small' })}`,
  )}<p class="actions"><a class="button plain small" aria-label="${t.team.removeOf(name)}" href="${PATHS.removeMember}?member=${principal}">${t.team.remove}</a></p>`;
}

const FIELDS = ['role', 'email', 'name'] as const;

/** The field that a refused invite names, or null. */
function fieldOf({ invite, problem }: TeamFault): (typeof FIELDS)[number] | null {
  if (!invite) return null;
  return FIELDS.find((each) => problem.errors?.some(({ path }) => path === each)) ?? null;
}

function inviteSection(x: Exchange, fault: TeamFault | undefined): Html {
  const { t } = x;
  const typed = fault?.invite;
  const wrong = fault ? fieldOf(fault) : null;
  const faultOf = (name: (typeof FIELDS)[number]) => (wrong === name ? t.team.faults[name] : undefined);
  return section(
    t.team.invite,
    html`<p>${t.team.inviteWhat}</p>
${form(
  PATHS.invite,
  html`${select({
    name: 'role',
    label: t.team.role,
    options: rolesWithin(x).map((role) => ({ value: role, label: roleName(x, role) })),
    value: typed?.role ?? rolesWithin(x).at(-1),
    fault: faultOf('role'),
  })}${field({
    name: 'email',
    label: t.team.email,
    type: 'email',
    inputmode: 'email',
    autocomplete: 'off',
    required: false,
    hint: t.team.emailHint,
    value: typed?.email,
    fault: faultOf('email'),
    autofocus: wrong === 'email',
  })}${field({
    name: 'name',
    label: t.team.name,
    autocomplete: 'off',
    required: false,
    value: typed?.name,
    fault: faultOf('name'),
    autofocus: wrong === 'name',
  })}
<p class="actions"><button class="button">${t.team.makeLink}</button></p>`,
)}`,
  );
}

async function invitesSection(x: Exchange): Promise<Html> {
  const { t, query } = x;
  const { items, nextCursor } = await x.invites.list(x.c, () => pageOf(query, 'invites'));
  const open = items.filter(({ state }) => state === 'pending');
  return section(
    t.team.pending,
    html`${
      open.length === 0
        ? html`<p class="muted">${t.team.noneHere}</p>`
        : html`<ul class="items">${open.map((invite) => inviteItem(x, invite))}</ul>`
    }${pager(x, PATHS.team, nextCursor, 'invites')}`,
  );
}

function inviteItem(x: Exchange, { principal, name, email, role, expiresAt }: InviteRecord): Html {
  const { t } = x;
  const who = name ?? email ?? t.team.anyone;
  return html`<li class="row"><div><p><strong>${chosen(who)}</strong></p>
<p class="muted">${roleName(x, role)}${name !== null && email !== null && html` · ${chosen(email)}`} · ${t.team.until} ${day(x, expiresAt)}</p></div>
${form(
  PATHS.revokeInvite,
  html`${hidden('invite', principal)}${button(t.team.revoke, { about: t.team.revokeOf(who), look: 'plain small' })}`,
)}</li>`;
}
