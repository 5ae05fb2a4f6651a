/** The pages of the outbox. They work without scripts, by keyboard, and on a phone. */
import { createHash } from 'node:crypto';
import { Html, html } from './html.ts';
import type { OutboxMessage } from './outbox.ts';

const style = `
:root { color-scheme: light dark; font: 1rem/1.55 system-ui, sans-serif;
  --line: light-dark(#d5d9dd, #3b4148); --calm: light-dark(#566069, #a2acb5); --link: light-dark(#0b57b8, #8ab8ff); }
body { margin: 0; }
main { max-width: 46rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.4rem; line-height: 1.3; margin: 0 0 .5rem; overflow-wrap: anywhere; }
h2 { font-size: 1rem; margin: 2rem 0 .5rem; }
p, dl { margin: .5rem 0; }
a { color: var(--link); }
.calm { color: var(--calm); }
ol { list-style: none; margin: 1.25rem 0 0; padding: 0; border-top: 1px solid var(--line); }
li { border-bottom: 1px solid var(--line); padding: .75rem 0; }
li a { font-weight: 600; overflow-wrap: anywhere; }
li p { margin: .15rem 0 0; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; }
dt { color: var(--calm); }
dd { margin: 0; overflow-wrap: anywhere; }
pre { font: inherit; white-space: pre-wrap; overflow-wrap: anywhere; margin: 0; padding: 1rem; border: 1px solid var(--line); border-radius: .5rem; }
iframe { width: 100%; height: 32rem; border: 1px solid var(--line); border-radius: .5rem; background: #fff; box-sizing: border-box; }
`;

/** The one stylesheet, for a content security policy that allows no other. */
export const styleHash = `sha256-${createHash('sha256').update(style).digest('base64')}`;

export function listPage(messages: readonly OutboxMessage[], basePath: string): string {
  const items = messages.map(
    (message) => html`<li><a href="${basePath}/${message.id}">${message.subject || '(no subject)'}</a>
<p class="calm">To ${message.to}, ${time(message.sentAtMs)}</p></li>`,
  );
  return frame(
    'Outbox',
    html`<h1>Outbox</h1>
<p class="calm">Mail that this platform would have sent, newest first. It is kept until the platform stops.</p>
<p><a href="${basePath}">Look again</a></p>
${items.length === 0 ? html`<p>Nothing has been sent yet.</p>` : html`<ol>${items}</ol>`}`,
  );
}

export function messagePage(message: OutboxMessage, basePath: string): string {
  const { id, to, subject, text, sentAtMs } = message;
  return frame(
    subject || 'Message',
    html`<p><a href="${basePath}">All messages</a></p>
<h1>${subject || '(no subject)'}</h1>
<dl><dt>To</dt><dd>${to}</dd><dt>Sent</dt><dd>${time(sentAtMs)}</dd></dl>
<h2>As text</h2>
<pre>${withLinks(text)}</pre>
${
  message.html === null
    ? ''
    : html`<h2>As HTML</h2>
<iframe src="${basePath}/${id}/html" title="The message as HTML" sandbox="allow-popups allow-popups-to-escape-sandbox allow-top-navigation-by-user-activation"></iframe>`
}`,
  );
}

export function missingPage(basePath: string): string {
  return frame(
    'No such message',
    html`<h1>There is no such message</h1>
<p>Messages are kept until the platform stops, and the oldest go first. <a href="${basePath}">All messages</a></p>`,
  );
}

/** A message's HTML whose links lead the whole window, and not the frame, to where they point. */
export function framedHtml(source: string): string {
  return source.replace(/^\s*(?:<!doctype[^>]*>)?/i, (start) => `${start}<base target="_top">`);
}

/** Addresses in a text as links. Only http and https: nothing else is a place to go to. */
function withLinks(text: string): Html[] {
  return text.split(/(https?:\/\/[^\s<>"]*[^\s<>"'.,;:!?)\]])/).map((part, index) =>
    // Every second part is one that the pattern matched.
    index % 2 === 1 ? html`<a href="${part}">${part}</a>` : html`${part}`,
  );
}

function time(ms: number): Html {
  const at = new Date(ms).toISOString();
  return html`<time datetime="${at}">${at.slice(0, 10)} ${at.slice(11, 19)} UTC</time>`;
}

function frame(title: string, content: Html): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title} · Freehold outbox</title>
<style>${new Html(style)}</style>
</head>
<body>
<main>
${content}
</main>
</body>
</html>
`.text;
}
