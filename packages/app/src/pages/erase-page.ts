/** Erasing a person: the record that stands for them is named, looked at, and erased on a page that says what follows. */
import {
  alert,
  checkbox,
  field,
  form,
  type Html,
  hidden,
  html,
  notice,
  readForm,
} from '@freehold/auth/page-kit';
import { PlatformError, type Problem, toProblem } from '@freehold/contracts';
import type { ErasablePerson } from '../declaration/app.ts';
import type { AddressedRecord } from '../declaration/records.ts';
import { erasePerson } from '../erasure/erasure-routes.ts';
import { requirePermission } from '../request/caller.ts';
import { readRecord } from '../request/records.ts';
import { attempt, type Exchange, sentenceOf, show } from './exchange.ts';
import { PATHS, seeOther } from './frame.ts';
import { select } from './parts.ts';

interface Erasable {
  readonly record: AddressedRecord;
  readonly person: ErasablePerson;
}

/** The kinds of records that stand for a person and that the reader may erase. */
export function erasableTypes({
  services: { app },
  me,
}: Pick<Exchange, 'services' | 'me'>): readonly Erasable[] {
  return app.records.flatMap((record) => {
    const person = app.erasure?.persons?.[record.type];
    return person && me.permissions.includes(person.permission) ? [{ record, person }] : [];
  });
}

/** Asks for the record, or shows the one that the address names. */
export async function erasePage(x: Exchange): Promise<Response> {
  const { query } = x;
  const type = query.get('type') ?? '';
  const id = (query.get('id') ?? '').trim();
  if (type === '' || id === '') return askPage(x, { type, id });
  return confirmPage(x, { type, id });
}

async function askPage(
  x: Exchange,
  { type, id, refused }: { readonly type: string; readonly id: string; readonly refused?: Problem },
): Promise<Response> {
  const { t } = x;
  const types = erasableTypes(x);
  await requireOne(x, types);
  return show(x, {
    title: t.erase.title,
    failed: refused !== undefined,
    ...(refused === undefined ? {} : { status: refused.status }),
    body: html`${notice(x.query.get('done') === 'erased' ? t.erase.done : undefined)}<p>${t.erase.what}</p>
<form method="get" action="${PATHS.erase}" novalidate>${select({
      name: 'type',
      label: t.erase.type,
      value: type,
      options: types.map(({ record }) => ({ value: record.type, label: record.type })),
    })}${field({
      name: 'id',
      label: t.erase.id,
      autocomplete: 'off',
      value: id,
      hint: t.erase.idHint,
      fault: refused === undefined ? undefined : sentenceOf(x, refused),
      autofocus: refused !== undefined,
    })}
<p class="actions"><button class="button plain">${t.erase.next}</button></p></form>`,
  });
}

/** A member without any such permission is refused, and the attempt is in the log. */
async function requireOne({ services, c }: Exchange, types: readonly Erasable[]): Promise<void> {
  if (types.length > 0) return;
  const [person] = Object.values(services.app.erasure?.persons ?? {});
  if (!person) throw new PlatformError('not_found', 'No record of this application stands for a person.');
  await requirePermission(services, c, person.permission);
}

async function confirmPage(
  x: Exchange,
  {
    type,
    id,
    fault,
    refused,
  }: { readonly type: string; readonly id: string; readonly fault?: string; readonly refused?: Problem },
): Promise<Response> {
  const { t, services, c } = x;
  const { record, person } = await requireErasable(x, type);
  const found = await attempt(() => readRecord(services, c, record, id));
  if ('refused' in found) return askPage(x, { type, id, refused: found.refused });
  const { output } = found.done;
  const stands = person.refuse?.(output) ?? null;
  const problem = refused ?? (stands === null ? undefined : toProblem(stands));
  return show(x, {
    title: t.erase.confirmTitle,
    failed: fault !== undefined || refused !== undefined,
    status: refused?.status ?? (fault === undefined ? 200 : 422),
    body: html`${alert(problem && sentenceOf(x, problem))}<p>${t.erase.record}: ${type} <bdi>${id}</bdi></p>
<pre>${JSON.stringify(output, null, 2)}</pre>
${stands === null && confirmation(x, { type, id, fault })}
<p class="actions"><a class="button plain" href="${PATHS.erase}">${t.frame.cancel}</a></p>`,
  });
}

function confirmation(
  { t }: Exchange,
  { type, id, fault }: { readonly type: string; readonly id: string; readonly fault: string | undefined },
): Html {
  return html`<ul class="consequences">${t.erase.consequences.map((each) => html`<li>${each}</li>`)}</ul>
${form(
  PATHS.erase,
  html`${hidden('type', type)}${hidden('id', id)}${
    fault !== undefined && html`<p class="fault" id="understood-fault" role="alert">${fault}</p>`
  }${confirmBox(t.erase.understood, fault !== undefined)}
<p class="actions"><button class="button danger">${t.erase.erase}</button></p>`,
)}`;
}

function confirmBox(label: string, isMissing: boolean): Html {
  if (!isMissing) return checkbox({ name: 'understood', label });
  return html`<p class="check"><input id="understood" name="understood" type="checkbox" autocomplete="off" value="yes" aria-invalid="true" aria-describedby="understood-fault" autofocus> <label for="understood">${label}</label></p>`;
}

export async function erase(x: Exchange): Promise<Response> {
  const { type, id, understood } = await readForm(x.c.req.raw, ['type', 'id', 'understood']);
  const { record, person } = await requireErasable(x, type);
  if (understood !== 'yes') return confirmPage(x, { type, id, fault: x.t.erase.mustConfirm });
  const erased = await attempt(() => erasePerson(x.services, x.c, { record, person, readId: () => id }));
  if ('refused' in erased) return confirmPage(x, { type, id, refused: erased.refused });
  return seeOther(`${PATHS.erase}?done=erased`);
}

/** @throws PlatformError `not_found` for a type that stands for no person; `permission_denied`, with its row in the denial log. */
async function requireErasable({ services, c }: Exchange, type: string): Promise<Erasable> {
  const { records, erasure } = services.app;
  const record = records.find((each) => each.type === type);
  const persons = erasure?.persons ?? {};
  const person = Object.hasOwn(persons, type) ? persons[type] : undefined;
  if (!record || !person) throw new PlatformError('not_found', 'No record of this kind stands for a person.');
  await requirePermission(services, c, person.permission);
  return { record, person };
}
