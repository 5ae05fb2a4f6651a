/** The frame around every page: landmarks, the way to the other pages, and the headers. */
import {
  type Html,
  html,
  Html as Markup,
  REFERRER_POLICY,
  REFERRER_POLICY_OF_LINKS,
  renderDocument,
} from '@freehold/auth/page-kit';
import type { Look } from './style.ts';
import type { Spoken } from './texts/tables.ts';

/** The addresses of the pages. */
export const PATHS = {
  front: '/',
  acceptInvite: '/accept-invite',
  claim: '/claim',
  team: '/team',
  memberRole: '/team/role',
  removeMember: '/team/remove',
  transfer: '/team/transfer',
  invite: '/team/invite',
  revokeInvite: '/team/revoke',
  log: '/log',
  denials: '/log/denials',
  history: '/log/history',
  account: '/account',
  endSession: '/account/sessions/end',
  endOtherSessions: '/account/sessions/end-others',
  endAllSessions: '/account/sessions/end-all',
  erase: '/erase',
  settings: '/settings',
  programs: '/oauth/programs',
  endProgram: '/oauth/programs/end',
  makeToken: '/oauth/programs/tokens',
  programPolicy: '/oauth/programs/policy',
  authorize: '/oauth/authorize',
  consent: '/oauth/consent',
} as const;

export const SIGN_OUT = '/api/auth/logout?returnTo=%2F';

/** The sign-in, which leads back to a path. */
export function signInUrl(returnTo: string): string {
  return `/api/auth/login?returnTo=${encodeURIComponent(returnTo)}`;
}

export interface PageContent {
  /** The page's one `h1`, and the start of its title. */
  readonly title: string;
  readonly body: Html;
  /** True when an input is to be corrected: the title, which is read out first, begins with it. */
  readonly failed?: boolean;
  /** False: a narrow card, as the sign-in pages have. Default: wide. */
  readonly narrow?: boolean;
  readonly status?: number;
  /** True where the address holds the token of a link. */
  readonly hasToken?: boolean;
  /** Sources to which the answer of a form may lead on, beside this site. */
  readonly formTargets?: readonly string[];
}

/** The surroundings of the content. */
export interface Surroundings {
  readonly look: Look;
  readonly spoken: Spoken;
  readonly business: string;
  /** The pages that the reader may open. */
  readonly places: readonly Place[];
  /** The path of this page. */
  readonly path: string;
}

export interface Place {
  readonly path: string;
  readonly name: string;
}

export async function pageResponse(
  around: Surroundings,
  content: PageContent,
  headers: Headers = new Headers(),
): Promise<Response> {
  headers.set('content-type', 'text/html; charset=utf-8');
  headers.set('content-language', around.spoken.tag);
  headers.set('content-security-policy', await policyOf(around.look, content.formTargets));
  headers.set('cross-origin-opener-policy', 'same-origin');
  headers.set('x-content-type-options', 'nosniff');
  headers.set('referrer-policy', content.hasToken ? REFERRER_POLICY_OF_LINKS : REFERRER_POLICY);
  headers.set('cache-control', 'private, no-store');
  return new Response(renderPage(around, content), { status: content.status ?? 200, headers });
}

/** Redirects by 303 (RFC 9110, 15.4.4): going back does not repeat the POST. */
export function seeOther(location: string): Response {
  const headers = { location, 'cache-control': 'private, no-store', 'referrer-policy': REFERRER_POLICY };
  return new Response(null, { status: 303, headers });
}

async function policyOf(look: Look, formTargets: readonly string[] = []): Promise<string> {
  return [
    "default-src 'none'",
    `style-src ${await look.styleSource()}`,
    'img-src data:',
    ["form-action 'self'", ...formTargets].join(' '),
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');
}

function renderPage(around: Surroundings, content: PageContent): string {
  const { look, spoken, business } = around;
  const { frame } = spoken.texts;
  const { title, body, failed = false, narrow = false } = content;
  const inFrame = html`<a class="skip" href="#main">${frame.skip}</a>
<header class="top"><p class="brand"><a href="${PATHS.front}"><bdi>${business}</bdi></a></p>${navigation(around)}</header>
<main id="main" tabindex="-1" class="${narrow ? 'page' : 'page wide'}">
<div class="card">
<h1>${title}</h1>
${body}
</div>
</main>`;
  return renderDocument({
    tag: spoken.tag,
    title: `${failed ? frame.errorTitle : ''}${title} · ${business}`,
    icon: look.icon,
    // Made of our own text and a checked colour: escaping would break it, and change its hash.
    head: html`<style>${new Markup(look.css)}</style>`,
    body: inFrame,
  });
}

function navigation({ places, path, spoken }: Surroundings): Html {
  const { frame } = spoken.texts;
  if (places.length === 0) return html``;
  const item = ({ path: to, name }: Place) => {
    const current = to === path || (to !== PATHS.front && path.startsWith(`${to}/`));
    return html`<li><a href="${to}"${current && html` aria-current="page"`}>${name}</a></li>`;
  };
  return html`
<nav aria-label="${frame.navigation}"><ul>${places.map(item)}<li><a href="${SIGN_OUT}">${frame.signOut}</a></li></ul></nav>`;
}
