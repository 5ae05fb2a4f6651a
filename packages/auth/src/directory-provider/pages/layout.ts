/** The frame around every page. */
import type { CompleteTheme } from '../theme.ts';
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
