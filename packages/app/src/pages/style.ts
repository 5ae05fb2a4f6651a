/** The look of the pages: the style sheet of the sign-in pages in the declared colour, and what these pages need beyond it. */
import { ACCENT_DEFAULT, type AccentColors, accentColors, styleSheet } from '@freehold/auth/page-kit';

export interface Look {
  readonly css: string;
  /** The source of the style sheet for a content security policy: its hash. */
  readonly styleSource: () => Promise<string>;
  /** A mark in the colour, as an address: a browser would otherwise ask for `/favicon.ico`. */
  readonly icon: string;
}

/** @param color `#rrggbb`. Default: that of the sign-in pages. */
export function makeLook(color: string = ACCENT_DEFAULT): Look {
  const accent = accentColors(color);
  const css = `${styleSheet(accent)}${RULES}`;
  let source: Promise<string> | undefined;
  return {
    css,
    icon: iconOf(accent),
    // Made with the first page: a worker may not do such work while it is loaded.
    styleSource: () => (source ??= hashOf(css)),
  };
}

/** Returns the source of an inline style for a content security policy. */
export async function hashOf(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return `'sha256-${btoa(String.fromCharCode(...new Uint8Array(digest)))}'`;
}

function iconOf({ light: { color, ink } }: AccentColors): string {
  const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="${color}"/><circle cx="8" cy="8" r="3" fill="${ink}"/></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(icon)}`;
}

const RULES = `body { padding-top: 1rem; }
.page.wide, .top, .foot { max-width: 48rem; }
.top { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: .5rem 1.5rem; margin: 0 auto 1.5rem; }
.top .brand { margin: 0; }
.top ul { display: flex; flex-wrap: wrap; gap: .25rem; margin: 0 -.625rem; padding: 0; list-style: none; }
.top nav a { display: inline-flex; align-items: center; min-height: 2.75rem; padding: .25rem .625rem; border-radius: var(--auth-radius); color: inherit; text-decoration: none; }
.top nav a:hover { text-decoration: underline; }
.top nav a[aria-current] { background: color-mix(in srgb, var(--auth-accent) 14%, transparent); font-weight: 550; }
.skip { position: absolute; left: 1rem; top: -10rem; z-index: 1; padding: .75rem 1rem; border-radius: var(--auth-radius); background: var(--auth-accent); color: var(--auth-accent-ink); }
.skip:focus { top: .5rem; }
main:focus { outline: none; }
h1 + section { margin-top: 0; padding-top: 0; border-top: 0; }
h2 { margin-top: 0; overflow-wrap: anywhere; }
h3 { margin: 1rem 0 .25rem; font-size: 1rem; }
select { width: 100%; min-height: 2.75rem; padding: .5rem .75rem; border: 1px solid var(--auth-edge); border-radius: var(--auth-radius); background: var(--auth-card); color: inherit; font: inherit; }
select[aria-invalid="true"] { border-color: var(--auth-bad); }
.tabs { display: flex; flex-wrap: wrap; gap: .25rem; margin: 0 0 1.25rem; padding: 0; border-bottom: 1px solid var(--auth-line); list-style: none; }
.tabs a { display: inline-flex; align-items: center; min-height: 2.75rem; padding: .25rem .75rem; border-bottom: 3px solid transparent; color: inherit; text-decoration: none; }
.tabs a[aria-current] { border-color: var(--auth-accent); font-weight: 550; }
.items p { margin: 0 0 .25rem; }
.items .row { align-items: center; }
.items .row > div { flex: 1 1 14rem; min-width: 0; }
.row select { width: auto; max-width: 100%; min-height: 2.5rem; padding-block: .25rem; }
.small { min-height: 2.5rem; padding: .25rem .875rem; }
.row.controls { justify-content: start; gap: .5rem; margin: .5rem 0 0; }
.button.danger { border-color: var(--auth-bad); background: none; color: var(--auth-bad); }
.tag { display: inline-block; margin-right: .375rem; padding: 0 .5rem; border: 1px solid var(--auth-line); border-radius: 1rem; color: var(--auth-muted); font-size: .8125rem; font-weight: normal; white-space: nowrap; }
.muted { color: var(--auth-muted); font-size: .875rem; }
.facts { display: grid; grid-template-columns: minmax(6rem, auto) 1fr; gap: .25rem 1rem; margin: 0 0 .75rem; }
.facts dt { color: var(--auth-muted); }
.facts dd { margin: 0; overflow-wrap: anywhere; min-width: 0; }
.items .facts { grid-template-columns: 6rem 1fr; gap: .125rem .75rem; }
.inline { display: flex; flex-wrap: wrap; align-items: end; gap: .5rem 1rem; margin: 0 0 1rem; }
.inline .field { flex: 1 1 12rem; margin: 0; }
.inline .actions { margin: 0; }
details { margin: .25rem 0 0; }
summary { min-height: 1.5rem; color: var(--auth-muted); font-size: .875rem; cursor: pointer; }
pre { margin: .375rem 0 .75rem; padding: .75rem; border: 1px solid var(--auth-line); border-radius: var(--auth-radius); background: var(--auth-page); font: .8125rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
.pager { display: flex; flex-wrap: wrap; gap: .625rem; margin: 1rem 0 0; }
.places { display: grid; gap: .75rem; margin: 1rem 0 0; padding: 0; list-style: none; }
.places a.place { display: block; height: 100%; padding: .875rem 1rem; border: 1px solid var(--auth-line); border-radius: var(--auth-radius); color: inherit; text-decoration: none; }
.places a.place:hover { border-color: var(--auth-accent); }
.places strong { display: block; color: var(--auth-accent); }
.places span { color: var(--auth-muted); font-size: .9375rem; }
fieldset { margin: 0 0 1rem; padding: 0; border: 0; min-width: 0; }
legend { padding: 0; margin: 0 0 .5rem; font-weight: 550; }
.nested { margin: 0 0 1rem 2rem; }
.nested summary { margin: 0 0 .5rem; }
.consequences { margin: 0 0 1rem; padding-left: 1.25rem; }
.consequences li { margin: 0 0 .375rem; }
@media (min-width: 40rem) { body { padding-top: 1.5rem; } .top { margin-bottom: 2rem; } .places { grid-template-columns: 1fr 1fr; } .page:not(.wide) { margin-top: 4rem; } }
@media (max-width: 30rem) { section > .facts { grid-template-columns: 1fr; gap: 0; } section > .facts dd { margin: 0 0 .5rem; } }
`;
