/** The script and the page that show a broken save in the browser. */
import { mistakePage } from '@freehold/app/mistakes';
import type { Fault } from '../lib/events.ts';
import { placeOf } from '../lib/events.ts';

export const DEV_PATH = '/__freehold';
export const BANNER_PATH = `${DEV_PATH}/banner.js`;
/** Below it are the pages of mistakes in a declaration, by code. */
export const MISTAKES_PATH = `${DEV_PATH}/mistakes/`;

/** The state that pages show. */
export interface DevStatus {
  /** The version that is served; 0 before the first. */
  readonly version: number;
  /** The faults of the last save; empty when it is served. */
  readonly faults: readonly Fault[];
}

/**
 * Shows a strip at the foot of the page while the last save is broken. It sets styles from code and loads nothing from
 * elsewhere, so that it runs under a content security policy of `default-src 'self'`.
 */
export const BANNER_SCRIPT = `
const strip = document.createElement('a');
strip.href = '${DEV_PATH}/';
strip.target = '_blank';
strip.hidden = true;
strip.setAttribute('role', 'status');
Object.assign(strip.style, {
  position: 'fixed', insetInline: '0', bottom: '0', zIndex: '2147483647', padding: '0.75rem 1rem', margin: '0',
  background: '#7a1020', color: '#fff', font: '14px/1.4 ui-monospace, monospace', textDecoration: 'none',
  whiteSpace: 'pre-wrap',
});
const SHOWN = 5;
const show = ({ faults }) => {
  strip.hidden = faults.length === 0;
  strip.style.display = faults.length === 0 ? 'none' : 'block';
  const lines = faults.slice(0, SHOWN).map(({ file, line, message }) => (file ? file + ':' + line + ': ' : '') + message);
  if (faults.length > SHOWN) lines.push('and ' + (faults.length - SHOWN) + ' more');
  strip.textContent = ['The last save is broken', ...lines].join('\\n');
};
document.documentElement.append(strip);
new EventSource('${DEV_PATH}/events').addEventListener('status', ({ data }) => show(JSON.parse(data)));
`;

/** Puts the script into a page of the application, at the end of its head or of its text. */
export function withBanner(html: string): string {
  const script = `<script src="${BANNER_PATH}" defer></script>`;
  const at = html.search(/<\/head>/i);
  return at < 0 ? `${html}${script}` : `${html.slice(0, at)}${script}${html.slice(at)}`;
}

/** The content security policy of a page with the strip: its script runs and listens, also where a page has no script. */
export function allowBanner(policy: string): string {
  const directives = policy.split(';').map((directive) => directive.trim().split(/\s+/));
  const allowed = ['script-src', 'connect-src'].map((name) => {
    const [, ...sources] = directives.find((directive) => directive[0] === name) ?? [];
    return [name, ...new Set([...sources.filter((source) => source !== "'none'"), "'self'"])];
  });
  const others = directives.filter(([name]) => !allowed.some((directive) => directive[0] === name));
  return [...others, ...allowed].map((directive) => directive.join(' ')).join('; ');
}

/** The page of the last save: `/__freehold/`. */
export function statusPage({ version, faults }: DevStatus): string {
  const serving = version === 0 ? 'No version is served yet.' : `Version ${version} is served.`;
  const keeps = faults.length > 0 && version > 0 ? ' It keeps serving until a save is in order.' : '';
  const title = faults.length === 0 ? 'The last save is in order' : 'The last save is broken';
  return document(title, `<p>${serving}${keeps}</p>\n${faults.map(faultHtml).join('\n')}`);
}

function faultHtml(fault: Fault): string {
  const place = placeOf(fault);
  const part = (text: string | null, tag: string) =>
    text === null ? '' : `<${tag}>${escaped(text)}</${tag}>`;
  return `<section>${part(place, 'h2')}${part(fault.message, 'p')}${mistakeLink(fault)}${part(fault.excerpt, 'pre')}${part(fault.hint, 'p')}${
    fault.stack.length > 1 ? part(fault.stack.join('\n'), 'pre') : ''
  }</section>`;
}

function mistakeLink({ code }: Fault): string {
  return code === undefined ? '' : `<p><a href="${MISTAKES_PATH}${code}">${code}</a></p>`;
}

/** The page of a kind of mistake; null where there is no such kind. */
export function mistakeHtml(code: string): string | null {
  const page = mistakePage(code);
  if (page === null) return null;
  const { title, why, fix, wrong, says, right } = page;
  return document(
    title,
    `<p><code>${code}</code></p>
<p>${withCode(why)}</p>
<p>${withCode(fix)}</p>
<h2>Wrong</h2><pre>${escaped(wrong)}</pre><p>${escaped(says)}</p>
<h2>Right</h2><pre>${escaped(right)}</pre>`,
  );
}

/** Text with `code` between backticks. */
function withCode(text: string): string {
  return escaped(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}

function document(title: string, body: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title} · freehold dev</title><style>${STYLE}</style></head>
<body><main><h1>${title}</h1>
${body}</main></body></html>`;
}

const STYLE =
  ':root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem}h2{font:600 1rem ui-monospace,monospace}pre{overflow:auto;padding:1rem;border:1px solid #8888}';

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
