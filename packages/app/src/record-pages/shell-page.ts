/**
 * The page that all addresses of records share: an empty frame in the application's name, colour and language, and the
 * script that fills it from the API.
 */
import {
  ACCENT_DEFAULT,
  type AccentColors,
  accentColors,
  html,
  Html as Markup,
  renderDocument,
} from '@freehold/auth/page-kit';
import type { Hono } from 'hono';
import type { AppContext, AppEnv, Services, WebFiles } from '../declaration/env.ts';
import { colorOf } from '../declaration/look.ts';
import { ownPagesOf } from '../declaration/own-pages.ts';
import { type Exchange, openExchange, type Pages, placesOf } from '../pages/exchange.ts';
import { PATHS } from '../pages/frame.ts';
import { frontPage } from '../pages/front-page.ts';
import { hashOf } from '../pages/style.ts';
import { isNavigation } from '../request/navigation.ts';
import { declaredApp } from './declared-app.ts';

/** The built files of the pages of records, by their names in the build. */
const SCRIPT = /^\/assets\/records-[A-Z0-9]+\.js$/;
/** Parts of the script, which it imports at once. */
const PART = /^\/assets\/chunk-[A-Z0-9]+\.js$/;
/** The texts in a language. */
const TEXTS = /^\/assets\/(en|de)-[A-Z0-9]+\.js$/;
const STYLE = /^\/assets\/records-[A-Z0-9]+\.css$/;

interface Built {
  readonly script: string;
  readonly parts: readonly string[];
  /** By language. */
  readonly texts: ReadonlyMap<string, string>;
  readonly style: string;
}

/** The built pages of records among an application's files; null where it has pages of its own, or none were built. */
function builtPages({ app, deps: { webFiles } }: Services): Built | null {
  const paths = [...(webFiles ?? (new Map() as WebFiles)).keys()];
  const script = paths.find((path) => SCRIPT.test(path));
  const style = paths.find((path) => STYLE.test(path));
  return typeof app.web === 'string' || script === undefined || style === undefined
    ? null
    : {
        script,
        style,
        parts: paths.filter((path) => PART.test(path)),
        texts: new Map(paths.map((path) => [TEXTS.exec(path)?.[1] ?? '', path])),
      };
}

/** Whether the first page, and those of records, are made by a script. */
export function hasRecordPages(services: Services): boolean {
  return declaredApp(services.app).kinds.length > 0 && builtPages(services) !== null;
}

/** Mounts the pages of records: the first page, and those below the address of each type. */
export function mountRecordPages(app: Hono<AppEnv>, pages: Pages): void {
  const { services } = pages;
  const built = builtPages(services);
  if (!built || !hasRecordPages(services)) return;
  const accent = accentColors(colorOf(services.app.look ?? {}) ?? ACCENT_DEFAULT);
  const css = variablesOf(accent);
  const own = ownFiles(services);
  let policy: Promise<string> | undefined;
  const answer = async (c: AppContext, next: () => Promise<void>) => {
    if (c.req.path !== PATHS.front && !isNavigation(c)) return next();
    const x = await openExchange(pages, c);
    if (x.me.status !== 'member') return frontPage(x);
    policy ??= hashOf(css).then(policyOf);
    return pageResponse(x, { ...built, own, css, policy: await policy });
  };
  for (const path of [
    PATHS.front,
    ...declaredApp(services.app).kinds.flatMap(({ page }) => [page, `${page}/*`]),
  ])
    app.get(path, answer);
}

/** Every file is our own, no style is inline but the colours, and no page may frame us. */
function policyOf(styleHash: string): string {
  return [
    "default-src 'self'",
    `style-src 'self' ${styleHash}`,
    // The icon of the page.
    "img-src 'self' data:",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ');
}

function variablesOf({ light, dark }: AccentColors): string {
  return `:root{--accent:light-dark(${light.color},${dark.color});--accent-ink:light-dark(${light.ink},${dark.ink})}`;
}

/** The built files of one's own pages, by the page: `item/:id`. */
function ownFiles({ app, deps: { webFiles } }: Services): Readonly<Record<string, OwnFiles>> {
  const paths = [...(webFiles?.keys() ?? [])];
  return Object.fromEntries(
    ownPagesOf(app.web).flatMap(({ key, built }) => {
      const named = paths.filter((path) => path.startsWith(`/assets/${built}-`));
      const script = named.find((path) => path.endsWith('.js'));
      const style = named.find((path) => path.endsWith('.css')) ?? null;
      return script === undefined ? [] : [[key, { script, style }]];
    }),
  );
}

interface OwnFiles {
  readonly script: string;
  readonly style: string | null;
}

interface Shell extends Built {
  readonly own: Readonly<Record<string, OwnFiles>>;
  readonly css: string;
  readonly policy: string;
}

function pageResponse(x: Exchange, { script, parts, texts, style, own, css, policy }: Shell): Response {
  const { look, spoken, me, services } = x;
  const surroundings = {
    business: me.business,
    person: me.subject?.name ?? me.subject?.email ?? null,
    roles: me.roles.map(({ name }) => name),
    places: placesOf(x).filter(({ path }) => path !== PATHS.front),
    languages: services.app.look?.language === undefined,
    own,
  };
  // So that they are not waited for one after the other.
  const early = [...parts, texts.get(spoken.tag.split('-', 1)[0] as string)].filter(
    (part) => part !== undefined,
  );
  const text = renderDocument({
    tag: spoken.tag,
    title: me.business,
    icon: look.icon,
    head: html`<style>${new Markup(css)}</style>
<link rel="stylesheet" href="${style}">
<script type="module" src="${script}"></script>
${early.map((part) => html`<link rel="modulepreload" href="${part}">`)}`,
    body: html`<div id="app" data-around="${JSON.stringify(surroundings)}"></div>
<noscript><p>${spoken.texts.frame.needsScript}</p></noscript>`,
  });
  const headers = new Headers({
    'content-type': 'text/html; charset=utf-8',
    'content-language': spoken.tag,
    'content-security-policy': policy,
    'cross-origin-opener-policy': 'same-origin',
    'referrer-policy': 'same-origin',
    // It names its reader.
    'cache-control': 'private, no-store',
  });
  return new Response(x.c.req.method === 'HEAD' ? null : text, { headers });
}
