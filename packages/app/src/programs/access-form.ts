/** The choice of what a program may do: everything that the person may do, reading alone, or some permissions. */
import { checkbox, type Html, html } from '@freehold/auth/page-kit';
import { PlatformError, type ProgramAccess } from '@freehold/contracts';
import type { MemberVisit } from './visit.ts';

const PREFIX = 'permission.';

/** Returns the permissions that can be offered to a program of the visitor, with their descriptions. */
export async function offeredPermissions(
  visit: MemberVisit,
): Promise<readonly (readonly [key: string, words: string])[]> {
  const { holdings, permissions } = visit.parts;
  const held = (await holdings?.(visit)) ?? null;
  return Object.entries(permissions).filter(([key]) => held === null || held.includes(key));
}

/** The names of the fields. */
export function accessFields(offered: readonly (readonly [key: string, words: string])[]): string[] {
  return ['access', ...offered.map(([key]) => PREFIX + key)];
}

export function accessChoice(
  { t }: MemberVisit,
  offered: readonly (readonly [key: string, words: string])[],
  chosen: ProgramAccess,
): Html {
  const { access } = chosen;
  const ticked = chosen.access === 'some' ? chosen.permissions : [];
  const option = (value: ProgramAccess['access'], label: string) =>
    html`<p class="check"><input id="access-${value}" name="access" type="radio" value="${value}"${
      access === value && html` checked`
    }> <label for="access-${value}">${label}</label></p>`;
  return html`<fieldset><legend>${t.programs.mayDo}</legend>
${option('read', t.programs.read)}${option('all', t.programs.all)}${
  offered.length > 0 &&
  html`${option('some', t.programs.some)}
<details class="nested"${access === 'some' && html` open`}><summary>${t.programs.permissions}</summary>${offered.map(
    ([key, words]) => checkbox({ name: PREFIX + key, label: words, checked: ticked.includes(key) }),
  )}</details>`
}</fieldset>`;
}

/** Reads the choice of a form. @throws PlatformError `validation_failed` for none. */
export function readAccess(
  form: Readonly<Record<string, string>>,
  offered: readonly (readonly [key: string, words: string])[],
): ProgramAccess {
  const { access } = form;
  if (access === 'all' || access === 'read') return { access };
  const permissions = offered.map(([key]) => key).filter((key) => form[PREFIX + key] === 'yes');
  if (access === 'some' && permissions.length > 0) return { access: 'some', permissions };
  throw new PlatformError('validation_failed', 'Choose what it may do, at least one permission.', {
    reason: 'access_missing',
  });
}
