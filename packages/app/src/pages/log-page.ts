/** Logs: sign-ins and the team, refused attempts, and the history of one record. */
import { chosen, field, type Html, html } from '@freehold/auth/page-kit';
import { type EventRecord, PlatformError, type Problem } from '@freehold/contracts';
import { denials, identityEvents, recordHistory } from '../logs/log-routes.ts';
import type { DenialEntry, HistoryEntry, IdentityEventEntry } from '../wire/wire.ts';
import { kindOfIdentityEvent } from '../wire/wire.ts';
import { attempt, type Exchange, sentenceOf, show } from './exchange.ts';
import { PATHS, seeOther } from './frame.ts';
import { facts, moment, oneOf, pageOf, pager, roleName, select } from './parts.ts';

/** The logs that the reader may see, as tabs. */
function tabs({ me, t, services, c }: Exchange): Html {
  const may = (permission: string) => me.permissions.includes(permission);
  const shown = [
    ...(may('member.manage') ? [{ path: PATHS.log, name: t.log.events }] : []),
    ...(may('audit.read') ? [{ path: PATHS.denials, name: t.log.denials }] : []),
    ...(services.app.records.length > 0 ? [{ path: PATHS.history, name: t.log.history }] : []),
  ];
  return html`<ul class="tabs">${shown.map(
    ({ path, name }) =>
      html`<li><a href="${path}"${path === c.req.path && html` aria-current="page"`}>${name}</a></li>`,
  )}</ul>`;
}

export async function eventsPage(x: Exchange): Promise<Response> {
  const { t, me, query } = x;
  const may = (permission: string) => me.permissions.includes(permission);
  if (!may('member.manage') && may('audit.read')) return seeOther(PATHS.denials);
  const kind = oneOf(t.log.kinds, query.get('kind'));
  const { items, nextCursor } = await identityEvents(x.services, x.c, () => ({
    ...pageOf(query),
    ...(kind === null ? {} : { kind }),
  }));
  return show(x, {
    title: t.log.events,
    body: html`${tabs(x)}
<form class="inline" method="get" action="${PATHS.log}">${select({
      name: 'kind',
      label: t.log.kind,
      value: kind,
      options: [
        { value: '', label: t.log.everything },
        ...Object.entries(t.log.kinds).map(([value, label]) => ({ value, label })),
      ],
    })}
<p class="actions"><button class="button plain">${t.frame.show}</button></p></form>
${list(items, kind === null ? t.log.noneYet : t.log.none, (event) => eventItem(x, event))}
${pager(x, PATHS.log, nextCursor)}`,
  });
}

function list<Item>(items: readonly Item[], none: string, each: (item: Item) => Html): Html {
  if (items.length === 0) return html`<p class="muted">${none}</p>`;
  return html`<ol class="items">${items.map(each)}</ol>`;
}

function eventItem(x: Exchange, { type, at, person, actor, detail }: IdentityEventEntry): Html {
  const { t } = x;
  const names = Object.keys(t.log.facts) as (keyof typeof t.log.facts)[];
  const rows = names.flatMap((name): [string, string][] => {
    const value = detail[name];
    return value === undefined ? [] : [[t.log.facts[name], inWords(x, name, [value].flat())]];
  });
  const who = personIn(x, { type, person });
  return html`<li><p><strong>${t.log.types[type]}</strong></p>
<p class="muted">${moment(x, at)}</p>
${facts([
  ...(who === null ? [] : [[t.log.person, who] as const]),
  ...(actor === null ? [] : [[t.log.by, actor.name ?? t.frame.formerMember] as const]),
  ...rows,
])}${detail.further === 'not_recorded' && html`<p class="muted">${t.log.further}</p>`}</li>`;
}

/** Whom an event is about; null for the platform's own. */
function personIn(
  { t }: Exchange,
  { type, person }: Pick<IdentityEventEntry, 'type' | 'person'>,
): string | null {
  // The person of an open invite without a name is not known.
  if (person?.name === null && type.startsWith('invite_')) return null;
  if (person !== null) return person.name ?? t.frame.formerMember;
  const kind = kindOfIdentityEvent(type);
  return kind === 'sign_ins' || kind === 'accounts' || type.endsWith('_refused') ? t.frame.nonMember : null;
}

function inWords(x: Exchange, name: string, values: readonly string[]): string {
  const { words } = x.t.log;
  return values
    .map((value) =>
      name === 'role' ? roleName(x, value) : Object.hasOwn(words, value) ? words[value] : value,
    )
    .join(', ');
}

export async function denialsPage(x: Exchange): Promise<Response> {
  const { t, query } = x;
  const { items, nextCursor } = await denials(x.services, x.c, () => pageOf(query));
  return show(x, {
    title: t.log.denials,
    body: html`${tabs(x)}${list(items, t.log.noneYet, (denial) => denialItem(x, denial))}
${pager(x, PATHS.denials, nextCursor)}`,
  });
}

/** "Ada, through Claude Desktop": the end of it. */
function through({ t }: Exchange, program: HistoryEntry['program']): Html {
  return html`${program !== undefined && html`, ${t.log.through} ${chosen(program.name)}`}`;
}

function denialItem(x: Exchange, { at, actor, wanted, operation, entity, program }: DenialEntry): Html {
  const { t } = x;
  return html`<li><p><strong>${t.log.wanted}${chosen(wanted)}</strong></p>
<p class="muted">${moment(x, at)}</p>
${facts([
  [t.log.person, html`${chosen(actor.name ?? actor.principal)}${through(x, program)}`],
  ...(operation === null ? [] : [[t.log.operation, operation] as const]),
  ...(entity === null ? [] : [[t.log.record, `${entity.type} ${entity.id}`] as const]),
])}</li>`;
}

/** The history of a record that the reader names. */
export async function historyPage(x: Exchange): Promise<Response> {
  const { t, query, services } = x;
  const type = query.get('type') ?? '';
  const id = (query.get('id') ?? '').trim();
  const record = services.app.records.find((each) => each.type === type);
  if (services.app.records.length === 0)
    throw new PlatformError('not_found', 'No record of this application has an address.');
  if (!record || id === '') return showHistory(x, { type, id });
  const found = await attempt(() => recordHistory(services, x.c, { record, id, query: pageOf(query) }));
  if ('refused' in found) return showHistory(x, { type, id, refused: found.refused });
  const { items, nextCursor, withheld } = found.done;
  return showHistory(x, {
    type,
    id,
    story: html`<section><h2>${type} <bdi>${id}</bdi></h2>
${list(items as HistoryEntry[], t.log.noneYet, (entry) => historyItem(x, entry))}${withheld && html`<p class="muted">${t.log.withheld}</p>`}
${pager(x, PATHS.history, nextCursor)}</section>`,
  });
}

function showHistory(
  x: Exchange,
  asked: { readonly type: string; readonly id: string; readonly refused?: Problem; readonly story?: Html },
): Promise<Response> {
  const { t, services } = x;
  const { type, id, refused, story } = asked;
  return show(x, {
    title: t.log.history,
    failed: refused !== undefined,
    ...(refused === undefined ? {} : { status: refused.status }),
    body: html`${tabs(x)}
<form class="inline" method="get" action="${PATHS.history}" novalidate>${select({
      name: 'type',
      label: t.log.recordType,
      value: type,
      options: services.app.records.map((record) => ({ value: record.type, label: record.type })),
    })}${field({
      name: 'id',
      label: t.log.recordId,
      autocomplete: 'off',
      value: id,
      hint: t.log.recordIdHint,
      fault: refused === undefined ? undefined : sentenceOf(x, refused),
      autofocus: refused !== undefined,
    })}
<p class="actions"><button class="button plain">${t.log.showHistory}</button></p></form>
${story}`,
  });
}

function historyItem(x: Exchange, entry: HistoryEntry): Html {
  const { t } = x;
  return html`<li><p><strong>${entry.type}</strong></p>
<p class="muted">${moment(x, entry.at)} · ${t.log.by} ${chosen(entry.actor.name ?? entry.actor.principal)}${through(x, entry.program)}</p>
${payload(x, entry)}${
  entry.effects.length > 0 &&
  html`<details><summary>${t.log.effects}</summary><ul class="items">${entry.effects.map(
    (effect) => html`<li><p>${effect.type}</p>${payload(x, effect)}</li>`,
  )}</ul></details>`
}${entry.withheld && html`<p class="muted">${t.log.withheld}</p>`}</li>`;
}

function payload({ t }: Exchange, { payload: value }: Pick<EventRecord, 'payload'>): Html {
  return html`<details><summary>${t.log.details}</summary><pre>${JSON.stringify(value, null, 2)}</pre></details>`;
}
