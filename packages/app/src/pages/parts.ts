/** The parts of pages: lists, times, choices and the way to the next page. */
import { chosen, type Html, html } from '@freehold/auth/page-kit';
import type { Exchange } from './exchange.ts';

export interface Choice {
  readonly name: string;
  readonly label: string;
  readonly options: readonly { readonly value: string; readonly label: string }[];
  readonly value?: string | null | undefined;
  readonly fault?: string | undefined;
  /** Precedes the id where one page has the same field twice. */
  readonly prefix?: string;
  /** True where the label is for screen readers alone. */
  readonly isLabelHidden?: boolean;
}

export function select({ name, label, options, value, fault, prefix = '', isLabelHidden }: Choice): Html {
  const id = `${prefix}${name}`;
  return html`<div class="field">
<label for="${id}"${isLabelHidden === true && html` class="hidden"`}>${label}</label>
${fault !== undefined && html`<p class="fault" id="${id}-fault" role="alert">${fault}</p>`}
<select id="${id}" name="${name}"${fault !== undefined && html` aria-invalid="true" aria-describedby="${id}-fault"`}>${options.map(
    (option) =>
      html`<option value="${option.value}"${option.value === value && html` selected`}>${option.label}</option>`,
  )}</select>
</div>`;
}

export function section(heading: string, content: Html): Html {
  return html`<section>
<h2>${heading}</h2>
${content}
</section>`;
}

export function facts(rows: readonly (readonly [term: string, detail: Html | string])[]): Html {
  return html`<dl class="facts">${rows.map(
    ([term, detail]) =>
      html`<dt>${term}</dt><dd>${typeof detail === 'string' ? chosen(detail) : detail}</dd>`,
  )}</dl>`;
}

/** A button of a form of its own, with who or what it is about for those who hear it alone. */
export function button(
  label: string,
  options: { readonly about?: string; readonly look?: string } = {},
): Html {
  const { about, look = 'plain' } = options;
  return html`<p class="actions"><button class="button ${look}"${
    about !== undefined && html` aria-label="${about}"`
  }>${label}</button></p>`;
}

const FORMATS = new Map<string, Intl.DateTimeFormat>();

/** A time. The reader's zone is not known without a script, so that it is UTC, and says so. */
export function moment({ spoken: { tag } }: Pick<Exchange, 'spoken'>, iso: string): Html {
  const text = formatOf(tag, { dateStyle: 'medium', timeStyle: 'short' }).format(new Date(iso));
  return html`<time datetime="${iso}">${text} UTC</time>`;
}

/** The day of a time, in UTC. */
export function day({ spoken: { tag } }: Pick<Exchange, 'spoken'>, iso: string): Html {
  return html`<time datetime="${iso}">${formatOf(tag, { dateStyle: 'medium' }).format(new Date(iso))}</time>`;
}

function formatOf(tag: string, style: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${tag} ${style.timeStyle ?? ''}`;
  const known = FORMATS.get(key);
  if (known) return known;
  // English without a region: the order of day and month that no reader mistakes.
  const format = new Intl.DateTimeFormat(tag === 'en' ? 'en-GB' : tag, { ...style, timeZone: 'UTC' });
  FORMATS.set(key, format);
  return format;
}

/** The way to the next page of a list and back to its first. */
export function pager(
  { t, query }: Pick<Exchange, 't' | 'query'>,
  path: string,
  next: string | null,
  name = 'cursor',
): Html {
  const to = (cursor: string | null) => {
    const search = new URLSearchParams(query);
    search.delete('done');
    search.delete(name);
    if (cursor !== null) search.set(name, cursor);
    return `${path}${search.size === 0 ? '' : `?${search}`}`;
  };
  if (next === null && !query.has(name)) return html``;
  return html`<p class="pager">${query.has(name) && html`<a class="button plain" href="${to(null)}">${t.frame.first}</a>`}${
    next !== null && html`<a class="button plain" href="${to(next)}">${t.frame.more}</a>`
  }</p>`;
}

/** The page of a list that a query asks for. */
export function pageOf(query: URLSearchParams, name = 'cursor'): { limit: number; cursor?: string } {
  const cursor = query.get(name);
  return { limit: 50, ...(cursor === null ? {} : { cursor }) };
}

/** The names of roles, as the manifest has them. */
export function roleNames(
  { services, t }: Pick<Exchange, 'services' | 't'>,
  roles: readonly string[],
): string {
  return roles.map((role) => roleName({ services }, role)).join(', ') || t.frame.roleNone;
}

export function roleName({ services: { manifest } }: Pick<Exchange, 'services'>, role: string): string {
  return (Object.hasOwn(manifest.roles, role) ? manifest.roles[role]?.name : undefined) ?? role;
}

/** The value of `name` where it is one of these keys. */
export function oneOf<Key extends string>(
  table: Readonly<Record<Key, unknown>>,
  value: string | null,
): Key | null {
  return value !== null && Object.hasOwn(table, value) ? (value as Key) : null;
}
