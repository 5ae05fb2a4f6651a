/** Renders the page of the local data window. All content of a copy is escaped. */
import { createHash } from 'node:crypto';
import type { Cell } from '@freehold/contracts';
import { cellText } from '../admin/answer-text.ts';
import type { CopyRows } from './copy.ts';
import type { View } from './window.ts';

/** Ctrl+Enter runs the statement; everything else works without scripts. */
const SCRIPT = `document.querySelector('textarea').addEventListener('keydown',(e)=>{if(e.key==='Enter'&&(e.ctrlKey||e.metaKey))e.target.form.requestSubmit()})`;

/** The Content-Security-Policy source that allows this script and no other. */
export const SCRIPT_HASH = `'sha256-${createHash('sha256').update(SCRIPT).digest('base64')}'`;

const STYLE = `:root{color-scheme:light dark}body{font:15px/1.45 system-ui;margin:0;display:grid;grid-template-columns:minmax(12rem,18rem) 1fr;min-height:100vh}
nav{padding:1rem;border-right:1px solid #8884;overflow:auto}nav ul{list-style:none;margin:0;padding:0}nav a{display:block;padding:.15rem .3rem;overflow-wrap:anywhere}
a[aria-current]{font-weight:600;background:#8883}main{padding:1rem;min-width:0}h1{font-size:1.1rem;overflow-wrap:anywhere;margin:0 0 1rem}
textarea{width:100%;box-sizing:border-box;font:14px/1.4 ui-monospace,monospace;min-height:5rem}button{font:inherit;padding:.3rem 1rem}
.rows{overflow:auto;margin:1rem 0}table{border-collapse:collapse;font:13px/1.4 ui-monospace,monospace}th,td{border:1px solid #8885;padding:.2rem .5rem;text-align:left;vertical-align:top;white-space:pre-wrap;max-width:30rem;overflow-wrap:anywhere}
th{position:sticky;top:0;background:Canvas}.null{opacity:.5}.skip{position:absolute;left:-99rem}.skip:focus{left:1rem;top:1rem;background:Canvas}:focus-visible{outline:2px solid Highlight}`;

/** Access keys: `t` for the tables, `q` for the statement, `n` and `p` for pages. */
export function pageText({ title, base, tables, table, page, sql, rows, fault }: View): string {
  const links = tables.map((name, index) => {
    const current = name === table ? ' aria-current="page"' : '';
    const key = index === 0 ? ' accesskey="t"' : '';
    return `<li><a href="${base}?${escapeHtml(String(new URLSearchParams({ table: name })))}"${current}${key}>${escapeHtml(name)}</a></li>`;
  });
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(table ?? 'Data')} · freehold</title><style>${STYLE}</style></head>
<body><nav aria-label="Tables"><a class="skip" href="#sql">To the statement</a><ul>${links.join('')}</ul></nav>
<main><h1>${escapeHtml(title)}, read-only</h1>
<form action="${base}"><label for="sql">One statement that reads (Ctrl+Enter runs it)</label>
<textarea id="sql" name="sql" accesskey="q" spellcheck="false" autocomplete="off" required${table === null ? ' autofocus' : ''}>${escapeHtml(sql)}</textarea>
<button>Run</button></form>
${fault === null ? '' : `<p role="alert">${escapeHtml(fault)}</p>`}
${rows === null ? '' : `${table === null ? '' : pages({ base, table, page, truncated: rows.truncated })}${rowsHtml(rows)}`}
${rows?.truncated && table === null ? '<p>There are more rows: these are the first.</p>' : ''}
</main><script>${SCRIPT}</script></body></html>
`;
}

function pages({
  base,
  table,
  page,
  truncated,
}: {
  readonly base: string;
  readonly table: string;
  readonly page: number;
  readonly truncated: boolean;
}): string {
  const link = (to: number, text: string, key: string) =>
    `<a href="${base}?${escapeHtml(String(new URLSearchParams({ table, page: String(to) })))}" accesskey="${key}" rel="${key === 'n' ? 'next' : 'prev'}">${text}</a>`;
  const before = page > 1 ? link(page - 1, '← Previous', 'p') : '';
  const after = truncated ? link(page + 1, 'Next →', 'n') : '';
  return `<p>${escapeHtml(table)}, page ${page} ${before} ${after}</p>`;
}

function rowsHtml({ columns, rows }: CopyRows): string {
  const head = columns.map((name) => `<th scope="col">${escapeHtml(name)}</th>`).join('');
  const body = rows.map((row) => `<tr>${row.map(cellHtml).join('')}</tr>`).join('');
  const none = rows.length === 0 ? '<p>There are no rows.</p>' : '';
  return `<div class="rows" tabindex="0" role="region" aria-label="Rows"><table><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table></div>${none}`;
}

function cellHtml(cell: Cell): string {
  if (cell === null) return '<td class="null">null</td>';
  return `<td>${escapeHtml(typeof cell === 'string' ? cell : cellText(cell))}</td>`;
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}
