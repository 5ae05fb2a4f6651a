/** The programs that people let in, and their tokens for scripts: seen, made and ended. The owner sees those of all. */
import type { ListedProgram, ProgramReads } from '@freehold/auth';
import {
  checkbox,
  chosen,
  field,
  form,
  type Html,
  hidden,
  html,
  notice,
  readForm,
} from '@freehold/auth/page-kit';
import { PlatformError, PROGRAM_POLICIES, toTimestamp } from '@freehold/contracts';
import type { AppContext } from '../declaration/env.ts';
import { PATHS, seeOther } from '../pages/frame.ts';
import { button, day, facts, moment, oneOf, section, select } from '../pages/parts.ts';
import { MCP_PATH } from '../request/caller.ts';
import { accessChoice, accessFields, offeredPermissions, readAccess } from './access-form.ts';
import { mailOfEntry } from './notice.ts';
import type { ProgramParts } from './parts.ts';
import { type MemberVisit, openMemberVisit, showPage } from './visit.ts';

const DAY_MS = 24 * 3_600_000;
/** Lines of reads of one program. */
const READS_SHOWN = 50;
/** The lives of a token that can be chosen, in days. */
const LIVES = ['7', '30', '90', '366'];

interface Shown {
  readonly fault?: string;
  readonly status?: number;
  /** A token that was just made. */
  readonly token?: string;
}

export async function programsPage(parts: ProgramParts, c: AppContext): Promise<Response> {
  return show(await openMemberVisit(parts, c), {});
}

async function show(visit: MemberVisit, { fault, status, token }: Shown): Promise<Response> {
  const { t, node, principal, c } = visit;
  const directory = directoryOf(visit);
  const isOwner = await isSeatHolder(visit);
  const { items } = await directory.listPrograms({
    scopeId: node.scope,
    principal: isOwner ? null : principal,
  });
  await visit.parts.reads?.write(node);
  const reads = (
    await directory.listProgramReads({ scopeId: node.scope, principal: isOwner ? null : principal })
  ).items;
  const own = items.filter((each) => each.principal === principal);
  const others = items.filter((each) => each.principal !== principal);
  const done = oneOf(t.programs.done, new URL(c.req.url).searchParams.get('done'));
  return showPage(visit, {
    title: t.programs.title,
    failed: fault !== undefined,
    ...(status === undefined ? {} : { status }),
    body: html`${notice(done === null ? undefined : t.programs.done[done])}${
      fault !== undefined && html`<p class="alert" role="alert">${fault}</p>`
    }${token !== undefined && tokenShown(visit, token)}<p>${t.programs.what}</p>
${facts([[t.account.mcpAddress, html`<code>${node.origin}${MCP_PATH}</code>`]])}
${section(t.programs.yours, list(visit, own, reads))}${section(t.programs.newToken, await tokenForm(visit))}${
  isOwner &&
  html`${section(t.programs.ofOthers, list(visit, others, reads))}${section(t.programs.policy, await policyForm(visit))}`
}`,
  });
}

function list(visit: MemberVisit, items: readonly ListedProgram[], reads: readonly ProgramReads[]): Html {
  const { t } = visit;
  if (items.length === 0) return html`<p class="muted">${t.programs.none}</p>`;
  return html`<ul class="items">${items.map((item) =>
    entry(
      visit,
      item,
      reads.filter(({ grantId }) => grantId === item.id),
    ),
  )}</ul>`;
}

function entry(visit: MemberVisit, item: ListedProgram, reads: readonly ProgramReads[]): Html {
  const { t, principal } = visit;
  const { name, host, kind, usedMs, usedFrom } = item;
  return html`<li class="row"><div><p><strong>${chosen(name)}</strong> ${
    kind === 'token' && html`<span class="tag">${t.programs.token}</span>`
  }</p>
${facts([
  ...(item.principal === principal ? [] : [[t.programs.person, item.person ?? t.account.unknown] as const]),
  ...(host === null ? [] : [[t.programs.from, host] as const]),
  [t.programs.mayDo, accessWords(visit, item)],
  [t.programs.since, day(visit, toTimestamp(item.createdMs))],
  [
    t.programs.used,
    usedMs === null
      ? t.programs.neverUsed
      : html`${moment(visit, toTimestamp(usedMs))}${usedFrom !== null && html` · ${t.programs.usedFrom} ${chosen(usedFrom)}`}`,
  ],
  [t.programs.until, day(visit, toTimestamp(item.expiresMs))],
])}${readsOf(visit, reads)}</div>
${form(
  PATHS.endProgram,
  html`${hidden('grant', item.id)}${button(t.programs.end, { about: t.programs.endOf(name), look: 'plain small' })}`,
)}</li>`;
}

/** The reads of the last days, by day and operation. */
function readsOf(visit: MemberVisit, reads: readonly ProgramReads[]): Html {
  if (reads.length === 0) return html``;
  return html`<details><summary>${visit.t.programs.reads}</summary><ul>${reads
    .slice(0, READS_SHOWN)
    .map(
      ({ day: on, operation, calls }) =>
        html`<li>${day(visit, `${on}T00:00:00.000Z`)} · <code>${operation}</code> × ${String(calls)}</li>`,
    )}</ul></details>`;
}

function accessWords({ t, parts }: MemberVisit, { allowed }: ListedProgram): string {
  if (allowed.access !== 'some') return t.programs[allowed.access];
  return allowed.permissions.map((key) => parts.permissions[key] ?? key).join(', ');
}

async function tokenForm(visit: MemberVisit): Promise<Html> {
  const { t } = visit;
  const offered = await offeredPermissions(visit);
  return html`<p>${t.programs.tokenWhat}</p>
${form(
  PATHS.makeToken,
  html`${field({ name: 'name', label: t.programs.tokenName, autocomplete: 'off', maxLength: 80 })}
${select({
  name: 'days',
  label: t.programs.tokenLife,
  value: '30',
  options: LIVES.map((value) => ({ value, label: t.programs.days(value) })),
})}
${accessChoice(visit, offered, { access: 'read' })}${button(t.programs.makeToken)}`,
)}`;
}

function tokenShown({ t }: MemberVisit, token: string): Html {
  return html`<div class="notice" role="status"><p>${t.programs.tokenOnce}</p><pre>${token}</pre></div>`;
}

async function policyForm(visit: MemberVisit): Promise<Html> {
  const { t, node } = visit;
  const { programs, hosts, callsPerMinute, mails } = await directoryOf(visit).programPolicy({
    scopeId: node.scope,
  });
  return html`<p>${t.programs.policyWhat}</p>
${form(
  PATHS.programPolicy,
  html`${select({
    name: 'programs',
    label: t.programs.policyChoice,
    value: programs,
    options: PROGRAM_POLICIES.map((value) => ({ value, label: t.programs.policies[value] })),
  })}${field({
    name: 'hosts',
    label: t.programs.hosts,
    hint: t.programs.hostsHint,
    autocomplete: 'off',
    value: hosts.join(' '),
    required: false,
  })}${field({
    name: 'callsPerMinute',
    label: t.programs.callsPerMinute,
    hint: t.programs.callsPerMinuteHint,
    autocomplete: 'off',
    inputmode: 'numeric',
    value: callsPerMinute === null ? '' : String(callsPerMinute),
    required: false,
  })}${checkbox({ name: 'mails', label: t.programs.mails, checked: mails })}${button(t.programs.setPolicy)}`,
)}`;
}

export async function endProgram(parts: ProgramParts, c: AppContext): Promise<Response> {
  const visit = await openMemberVisit(parts, c);
  const { grant } = await readForm(c.req.raw, ['grant']);
  const { node, principal } = visit;
  const of = (await isSeatHolder(visit)) ? null : principal;
  return attempt(visit, async () => {
    await directoryOf(visit).endProgram({ scopeId: node.scope, grant, of, by: principal });
    return seeOther(`${PATHS.programs}?done=ended`);
  });
}

/** Makes a token. It is in this answer alone, so that this POST is not followed by a redirect. */
export async function makeToken(parts: ProgramParts, c: AppContext): Promise<Response> {
  const visit = await openMemberVisit(parts, c);
  const { node, subject } = visit;
  const offered = await offeredPermissions(visit);
  const sent = await readForm(c.req.raw, ['name', 'days', ...accessFields(offered)]);
  return attempt(visit, async () => {
    const { token } = await directoryOf(visit).makePersonalToken({
      scopeId: node.scope,
      subject: { issuer: subject.issuer, sub: subject.sub },
      name: sent.name ?? '',
      allowed: readAccess(sent, offered),
      ttlMs: (LIVES.includes(sent.days ?? '') ? Number(sent.days) : 0) * DAY_MS,
    });
    await mailOfEntry(visit, (sent.name ?? '').trim());
    return show(visit, { token });
  });
}

export async function setPolicy(parts: ProgramParts, c: AppContext): Promise<Response> {
  const visit = await openMemberVisit(parts, c);
  const { programs, hosts, callsPerMinute, mails } = await readForm(c.req.raw, [
    ...['programs', 'hosts', 'callsPerMinute', 'mails'],
  ]);
  const { node, principal } = visit;
  if (!(await isSeatHolder(visit)))
    throw new PlatformError('forbidden', 'Only the owner decides which programs are let in.', {
      reason: 'not_seat_holder',
    });
  return attempt(visit, async () => {
    await directoryOf(visit).setProgramPolicy({
      scopeId: node.scope,
      programs: PROGRAM_POLICIES.find((each) => each === programs) ?? 'none',
      hosts: (hosts ?? '').split(/[\s,;]+/).filter((each) => each !== ''),
      callsPerMinute: numberOf(callsPerMinute ?? ''),
      mails: mails === 'yes',
      by: principal,
    });
    return seeOther(`${PATHS.programs}?done=policy`);
  });
}

/** Null for an empty field. A text that is no number is one that the directory refuses. */
function numberOf(text: string): number | null {
  const digits = text.replaceAll(/\s/g, '');
  return digits === '' ? null : Number(digits);
}

/** A refusal is shown on the page of the form. */
async function attempt(visit: MemberVisit, step: () => Promise<Response>): Promise<Response> {
  try {
    return await step();
  } catch (error) {
    if (!(error instanceof PlatformError) || error.status >= 500) throw error;
    const known = visit.t.problem.sentence({ reason: error.reason, detail: error.message });
    return show(visit, { fault: known ?? error.message, status: error.status });
  }
}

function directoryOf({ parts, node }: MemberVisit) {
  return parts.directory(node.tenant);
}

async function isSeatHolder(visit: MemberVisit): Promise<boolean> {
  const { node, principal } = visit;
  const member = await directoryOf(visit).findMember({ scopeId: node.scope, principal });
  return member?.owner === true;
}
