/** The frame around every page, and its headers. */
import { createHash } from 'node:crypto';
import { type Html, html, trustedHtml } from './html.ts';
import { stylesheet } from './style.ts';

/** A page, ready to send. */
export interface Page {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface PageContent {
  /** The document's title, without the issuer's name. */
  readonly title: string;
  /** The content of the card. Starts with the page's `h1`. */
  readonly card: Html;
  /**
   * URIs whose origins the page's forms may lead to. Browsers apply `form-action` to the redirects after a form as
   * well, so it must name the application at which the form ends.
   */
  readonly formsLeadTo?: readonly string[];
}

const styleHash = createHash('sha256').update(stylesheet).digest('base64');

export function renderPage({ title, card, formsLeadTo = [] }: PageContent): Page {
  const document = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title} · Freehold development issuer</title>
<style>${trustedHtml(stylesheet)}</style>
</head>
<body>
<main>
<div class="card">
<p class="mark">${mark} Freehold development issuer</p>
${card}
</div>
<p class="note">This issuer is for development on this machine. It asks for no password: anybody here can be
anybody. The people are made up for trying things out.</p>
</main>
</body>
</html>
`;
  return { body: document.text, headers: headersFor(formsLeadTo) };
}

/** A page with a message alone. */
export function renderMessage(message: {
  readonly title: string;
  readonly paragraphs: readonly Html[];
}): Page {
  return renderPage({
    title: message.title,
    card: html`<h1>${message.title}</h1>${message.paragraphs.map((text) => html`<p class="lead">${text}</p>`)}`,
  });
}

function headersFor(formsLeadTo: readonly string[]): Record<string, string> {
  const origins = new Set(formsLeadTo.map((uri) => URL.parse(uri)?.origin ?? 'null'));
  origins.delete('null');
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${styleHash}'`,
    `form-action ${["'self'", ...origins].join(' ')}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ];
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy.join('; '),
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  };
}

const mark = html`<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d="M3 11.5 12 4l9 7.5"/><path d="M5.5 10v9.5h13V10"/><circle cx="12" cy="13.5" r="1.75"/><path d="M12 15.25v4.25"/></svg>`;
