/** The frame around every page. */
import type { CompleteTheme } from './theme.ts';
import { type Html, html } from './html.ts';

/** Whose page it is. */
export interface View {
  readonly theme: CompleteTheme;
  readonly appName: string;
}

export interface PageContent {
  /** The page's one `h1`, and the start of its title. */
  readonly heading: string;
  readonly body: Html;
  /** True when something on the page has to be put right: said first in the title, which is read out first. */
  readonly failed?: boolean;
  /** True for a page with several cards. */
  readonly wide?: boolean;
}

export function renderPage({ theme, appName }: View, content: PageContent): string {
  const { heading, body, failed = false, wide = false } = content;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="${iconOf(theme)}">
<title>${failed && 'Error: '}${heading} · ${appName}</title>
<link rel="stylesheet" href="/api/auth/style.css">
${theme.stylesheetUrl !== undefined && html`<link rel="stylesheet" href="${theme.stylesheetUrl}">`}
<script type="module" src="/api/auth/client.js"></script>
</head>
<body>
<main class="${wide ? 'page wide' : 'page'}">
<p class="brand"><a href="${theme.homeUrl}">${theme.logoUrl !== undefined && html`<img src="${theme.logoUrl}" alt="" height="32">`}<span>${appName}</span></a></p>
<div class="card">
<h1>${heading}</h1>
${body}
</div>
${theme.supportUrl !== undefined && html`<p class="foot"><a href="${theme.supportUrl}">Get help</a></p>`}
</main>
</body>
</html>
`.text;
}

/** A keyhole in the accent colour, in the page itself: a browser would ask the application for `/favicon.ico` else. */
function iconOf({ accent }: CompleteTheme): string {
  const { color, ink } = accent.light;
  const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="${color}"/><path d="M8 3.5a2.4 2.4 0 0 1 1.2 4.5l.8 4.5H6l.8-4.5A2.4 2.4 0 0 1 8 3.5z" fill="${ink}"/></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(icon)}`;
}
