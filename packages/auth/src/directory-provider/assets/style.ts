/** The style sheet of the pages. An application's own sheet, loaded after it, can set every custom property. */
import { type AccentColors, SURFACES } from '../pages/theme.ts';

/** @param accent `#rrggbb` values only: they are written into the sheet as they are. */
export function styleSheet({ light, dark }: AccentColors): string {
  return `:root {
  color-scheme: light dark;
  --auth-page: light-dark(${SURFACES.light.page}, ${SURFACES.dark.page});
  --auth-card: light-dark(${SURFACES.light.card}, ${SURFACES.dark.card});
  --auth-ink: light-dark(#1c1e21, #eceef1);
  --auth-muted: light-dark(#5d6269, #a2a9b3);
  --auth-line: light-dark(#e2e0d9, #32363e);
  --auth-edge: light-dark(#83878e, #7c838e);
  --auth-accent: light-dark(${light.color}, ${dark.color});
  --auth-accent-ink: light-dark(${light.ink}, ${dark.ink});
  --auth-bad: light-dark(#a1261d, #ff9d92);
  --auth-bad-page: light-dark(#fbeceb, #35201f);
  --auth-good-page: light-dark(${SURFACES.light.notice}, ${SURFACES.dark.notice});
  --auth-font: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
  --auth-radius: .75rem;
  --auth-width: 26rem;
}
${RULES}`;
}

const RULES = `*, *::before, *::after { box-sizing: border-box; }
[hidden] { display: none !important; }
body { margin: 0; padding: 2rem 1rem; background: var(--auth-page); color: var(--auth-ink); font: 1rem/1.5 var(--auth-font); }
.page { width: 100%; max-width: var(--auth-width); margin: 0 auto; }
.page.wide { max-width: 42rem; }
.brand { margin: 0 0 1rem; font-weight: 600; }
.brand a { display: inline-flex; align-items: center; gap: .625rem; color: inherit; text-decoration: none; overflow-wrap: anywhere; }
.brand img { display: block; height: 2rem; width: auto; }
.card { padding: 1.75rem; background: var(--auth-card); border: 1px solid var(--auth-line); border-radius: calc(var(--auth-radius) * 1.25); }
h1 { margin: 0 0 1rem; font-size: 1.5rem; line-height: 1.25; text-wrap: balance; overflow-wrap: anywhere; }
h2 { margin: 0 0 .5rem; font-size: 1.0625rem; }
p { margin: 0 0 .75rem; overflow-wrap: anywhere; }
a { color: var(--auth-accent); text-underline-offset: .15em; }
section { margin: 1.5rem 0 0; padding: 1.5rem 0 0; border-top: 1px solid var(--auth-line); }
form { margin: 0; }
.field { margin: 0 0 1rem; }
label { display: block; margin: 0 0 .25rem; font-weight: 550; }
input { width: 100%; padding: .625rem .75rem; border: 1px solid var(--auth-edge); border-radius: var(--auth-radius); background: var(--auth-card); color: inherit; font: inherit; }
input[aria-invalid="true"] { border-color: var(--auth-bad); }
.hint { margin: 0 0 .375rem; color: var(--auth-muted); font-size: .875rem; }
.fault { margin: 0 0 .375rem; color: var(--auth-bad); font-size: .875rem; }
.fault:empty { display: none; }
.alert, .notice { padding: .625rem .875rem; border-radius: var(--auth-radius); background: var(--auth-good-page); }
.alert { background: var(--auth-bad-page); color: var(--auth-bad); }
.actions { display: flex; flex-wrap: wrap; gap: .625rem; margin: 0 0 .75rem; }
.button { display: inline-flex; align-items: center; justify-content: center; min-height: 2.75rem; padding: .5rem 1.125rem; border: 1px solid var(--auth-accent); border-radius: var(--auth-radius); background: var(--auth-accent); color: var(--auth-accent-ink); font: inherit; font-weight: 550; text-decoration: none; cursor: pointer; transition: filter .12s ease; }
.button:hover { filter: brightness(1.08); }
.button.plain { border-color: var(--auth-edge); background: none; color: inherit; }
.button[aria-busy="true"] { opacity: .6; cursor: progress; }
.reveal { margin: .25rem 0 0; padding: .25rem 0; border: 0; background: none; color: var(--auth-accent); font: inherit; font-size: .875rem; text-decoration: underline; text-underline-offset: .15em; cursor: pointer; }
.or { display: flex; align-items: center; gap: .75rem; color: var(--auth-muted); font-size: .875rem; }
.or::before, .or::after { content: ""; flex: 1; border-top: 1px solid var(--auth-line); }
.page:not(.wide) .button { flex: 1; }
.links { margin: 1rem 0 0; padding: 0; list-style: none; font-size: .9375rem; }
.links li { margin: .25rem 0 0; }
.links a { display: inline-block; padding: .25rem 0; }
.items { margin: 0 0 .75rem; padding: 0; list-style: none; }
.items > li { padding: .625rem 0; border-top: 1px solid var(--auth-line); }
.items > li:first-child { border-top: 0; }
.row { display: flex; flex-wrap: wrap; align-items: end; justify-content: space-between; gap: .5rem 1rem; }
.row form { display: flex; flex-wrap: wrap; align-items: end; gap: .5rem; }
.row .field, .row .actions, .row p { margin-bottom: 0; }
.steps { margin: 0; padding-left: 1.25rem; }
.qr { display: block; width: 12rem; height: auto; margin: 0 0 .75rem; border-radius: .5rem; }
.codes { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: .375rem 1rem; margin: 0 0 1rem; padding: 0; list-style: none; }
code { font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; font-size: .9375em; overflow-wrap: anywhere; }
.check { display: flex; align-items: start; gap: .5rem; }
.check input { flex: none; width: 1.5rem; height: 1.5rem; margin: 0; }
.check label { margin: 0; font-weight: inherit; }
.foot { margin: 1rem 0 0; font-size: .875rem; text-align: center; }
.foot a { display: inline-block; padding: .25rem .5rem; }
.hidden { position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
:focus-visible { outline: 3px solid var(--auth-accent); outline-offset: 2px; }
@media (min-width: 40rem) { body { padding-top: 4rem; } }
@media (max-width: 30rem) { .card { padding: 1.25rem 1rem; } }
@media (prefers-reduced-motion: reduce) { *, *::before, *::after { transition: none !important; animation: none !important; } }
@media (forced-colors: active) { .button { border: 2px solid ButtonText; } .alert, .notice { border: 1px solid; } }
`;
