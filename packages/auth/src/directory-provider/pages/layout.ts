/** The frame around every page. */

import { type Html, html } from '../markup/html.ts';
import type { Texts } from '../texts/en.ts';
import { authUrl } from './paths.ts';
import type { CompleteTheme } from './theme.ts';

export interface View {
  readonly theme: CompleteTheme;
  readonly appName: string;
  readonly t: Texts;
  /** The language for `lang`. */
  readonly tag: string;
}

export interface PageContent {
  /** The page's one `h1`, and the start of its title. */
  readonly heading: string;
  readonly body: Html;
  /** True when the user must correct an input: the title, which is read out first, begins with it. */
  readonly failed?: boolean;
  readonly wide?: boolean;
}

export function renderPage({ theme, appName, t, tag }: View, content: PageContent): string {
  const { heading, body, failed = false, wide = false } = content;
  const head = html`<link rel="stylesheet" href="/api/auth/style.css">
${theme.stylesheetUrl !== undefined && html`<link rel="stylesheet" href="${theme.stylesheetUrl}">`}
<script type="module" src="/api/auth/client.js"></script>`;
  const main = html`<main class="${wide ? 'page wide' : 'page'}">
<p class="brand"><a href="${theme.homeUrl}">${theme.logoUrl !== undefined && html`<img src="${theme.logoUrl}" alt="" height="32">`}<span>${appName}</span></a></p>
<div class="card">
<h1>${heading}</h1>
${body}
</div>
${theme.supportUrl !== undefined && html`<p class="foot"><a href="${theme.supportUrl}">${t.frame.help}</a></p>`}
</main>`;
  const title = `${failed ? t.frame.error : ''}${heading} · ${appName}`;
  return renderDocument({ tag, title, icon: iconOf(theme), head, body: main });
}

/** A whole page, here and in the pages of an application: what all of them have in their head. */
export function renderDocument(page: {
  readonly tag: string;
  readonly title: string;
  /** An address. */
  readonly icon: string;
  /** Style sheets and scripts. */
  readonly head: Html;
  readonly body: Html;
}): string {
  return html`<!doctype html>
<html lang="${page.tag}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="${page.icon}">
<title>${page.title}</title>
${page.head}
</head>
<body>
${page.body}
</body>
</html>
`.text;
}

/** A keyhole in the accent colour, inline: a browser would otherwise ask the application for `/favicon.ico`. */
function iconOf({ accent }: CompleteTheme): string {
  const { color, ink } = accent.light;
  const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="${color}"/><path d="M8 3.5a2.4 2.4 0 0 1 1.2 4.5l.8 4.5H6l.8-4.5A2.4 2.4 0 0 1 8 3.5z" fill="${ink}"/></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(icon)}`;
}

/** A page with a message alone. `next`: one of our addresses, by default the sign-in page. */
export function messagePage(
  t: Texts,
  message: {
    readonly heading: string;
    readonly sentences: readonly string[];
    readonly failed?: boolean;
    readonly next?: { readonly label: string; readonly url: string };
  },
): PageContent {
  const { heading, sentences, failed = false, next } = message;
  const { label, url } = next ?? { label: t.frame.signIn, url: authUrl('login') };
  return {
    heading,
    failed,
    body: html`${sentences.map((sentence) => html`<p>${sentence}</p>`)}
<p class="actions"><a class="button plain" href="${url}">${label}</a></p>`,
  };
}
