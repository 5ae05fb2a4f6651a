/** The one stylesheet of all pages. It is inlined, and allowed by its hash in the content security policy. */

export const stylesheet = `
:root {
  color-scheme: light dark;
  --page: light-dark(#f4f3ef, #14161a);
  --card: light-dark(#ffffff, #1d2026);
  --ink: light-dark(#1c1e21, #eceef1);
  --muted: light-dark(#5d6269, #a2a9b3);
  --line: light-dark(#e2e0d9, #32363e);
  --hover: light-dark(#f7f6f2, #262a31);
  --accent: light-dark(#1f5f4a, #7fd1b0);
  --accent-ink: light-dark(#ffffff, #0e1f19);
  --note: light-dark(#fbf3dc, #2d2716);
  --note-ink: light-dark(#6b4e0c, #e8cf8e);
  --bad: light-dark(#a1261d, #ff9d92);
}
*, *::before, *::after { box-sizing: border-box; }
body {
  margin: 0;
  min-height: 100dvh;
  display: grid;
  place-items: center;
  padding: 2rem 1rem;
  background: var(--page);
  color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
}
main { width: 100%; max-width: 27rem; }
.card {
  background: var(--card);
  border: 1px solid var(--line);
  border-radius: 1rem;
  padding: 2rem;
  box-shadow: 0 1px 2px rgb(0 0 0 / 4%), 0 12px 32px rgb(0 0 0 / 6%);
}
.mark { display: flex; align-items: center; gap: .5rem; margin: 0 0 1.5rem; color: var(--muted); font-size: .875rem; }
.mark svg { width: 1.375rem; height: 1.375rem; color: var(--accent); }
h1 { margin: 0; font-size: 1.5rem; line-height: 1.25; font-weight: 650; letter-spacing: -.01em; text-wrap: balance; overflow-wrap: anywhere; }
h2 { margin: 1.75rem 0 .625rem; font-size: .875rem; font-weight: 600; color: var(--muted); }
.lead { margin: .375rem 0 0; color: var(--muted); overflow-wrap: anywhere; }
.people { list-style: none; margin: 0; padding: 0; border: 1px solid var(--line); border-radius: .75rem; overflow: hidden; }
.people li + li { border-top: 1px solid var(--line); }
.person {
  display: grid;
  grid-template-columns: auto 1fr auto;
  align-items: center;
  gap: .875rem;
  width: 100%;
  padding: .75rem .875rem;
  border: 0;
  background: none;
  color: inherit;
  font: inherit;
  text-align: left;
  cursor: pointer;
}
.person:hover { background: var(--hover); }
.people li:first-child .person { border-radius: .6875rem .6875rem 0 0; }
.people li:last-child .person { border-radius: 0 0 .6875rem .6875rem; }
.person:focus-visible { outline-offset: -3px; }
.person .line { display: flex; flex-wrap: wrap; align-items: center; gap: 0 .5rem; }
.person .name { font-weight: 550; }
.person .email { color: var(--muted); font-size: .875rem; overflow-wrap: anywhere; }
.person .chevron { width: 1rem; height: 1rem; color: var(--muted); opacity: .7; transition: transform .12s ease; }
.person:hover .chevron { transform: translateX(2px); }
.avatar {
  display: grid;
  place-items: center;
  width: 2.5rem;
  height: 2.5rem;
  border-radius: 50%;
  font-size: .8125rem;
  font-weight: 600;
  letter-spacing: .02em;
}
.tone-0 { background: light-dark(#e3efe9, #1f3a31); color: light-dark(#1f5f4a, #9fdcc3); }
.tone-1 { background: light-dark(#e6e9f8, #272d4b); color: light-dark(#36438f, #b7c0f5); }
.tone-2 { background: light-dark(#f8e8dc, #43301f); color: light-dark(#8a4a17, #f0c39c); }
.tone-3 { background: light-dark(#f5e4ee, #43253a); color: light-dark(#8c2b66, #efb3d6); }
.tone-4 { background: light-dark(#e2eef5, #1d3644); color: light-dark(#1d5877, #a5d5ee); }
.badge {
  padding: 0 .4375rem;
  border-radius: 1rem;
  background: var(--note);
  color: var(--note-ink);
  font-size: .75rem;
  font-weight: 500;
  white-space: nowrap;
}
.badge.calm { background: light-dark(#e3efe9, #1f3a31); color: light-dark(#1f5f4a, #9fdcc3); }
.field { display: flex; flex-wrap: wrap; align-items: stretch; gap: .5rem; }
.input { flex: 1 1 14.5rem; display: flex; align-items: center; min-width: 0; border: 1px solid light-dark(#8d9198, #6d747f); border-radius: .625rem; background: var(--card); }
.input:focus-within { outline: 2px solid var(--accent); outline-offset: 2px; }
.input input { flex: 1; min-width: 0; width: 100%; padding: .625rem 0 .625rem .75rem; border: 0; outline: 0; background: none; color: inherit; font: inherit; }
.input input::placeholder { color: var(--muted); opacity: .8; }
.suffix { padding-right: .75rem; color: var(--muted); font-size: .875rem; white-space: nowrap; }
.field .button { flex-grow: 1; }
.button {
  padding: .625rem 1.125rem;
  border: 1px solid var(--accent);
  border-radius: .625rem;
  background: var(--accent);
  color: var(--accent-ink);
  font: inherit;
  font-weight: 550;
  text-decoration: none;
  cursor: pointer;
}
.button:hover { filter: brightness(1.08); }
.button.plain { border-color: var(--line); background: none; color: inherit; }
.button.plain:hover { background: var(--hover); filter: none; }
.actions { display: flex; flex-wrap: wrap; gap: .625rem; margin: 1.5rem 0 0; }
.problem { margin: .5rem 0 0; color: var(--bad); font-size: .875rem; }
.link { padding: .25rem .375rem; border: 0; border-radius: .375rem; background: none; color: var(--muted); font: inherit; font-size: .875rem; text-decoration: underline; text-underline-offset: .2em; cursor: pointer; }
.link:hover { color: var(--ink); }
.cancel { margin: 1.25rem 0 0; text-align: center; }
.note { margin: 1rem 0 0; padding: .625rem .875rem; border-radius: .75rem; background: var(--note); color: var(--note-ink); font-size: .8125rem; line-height: 1.45; }
code { font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; font-size: .875em; overflow-wrap: anywhere; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.hidden { position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
@media (max-width: 30rem) {
  body { padding: 1rem .75rem; place-items: start center; }
  .card { padding: 1.375rem 1.125rem; }
}
@media (prefers-reduced-motion: reduce) { * { transition: none !important; } }
@media (forced-colors: active) { .avatar, .badge { border: 1px solid; } }
`;
