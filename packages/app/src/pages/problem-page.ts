/** Problems for people: a navigation that ends in a problem document gets a page that says the same. Programs get the document. */
import { type Html, html } from '@freehold/auth/page-kit';
import { type Problem, problemSchema } from '@freehold/contracts';
import { requestIdOf } from '@freehold/vertical-host';
import type { AppContext, SignIn } from '../declaration/env.ts';
import { scopeOf } from '../request/caller.ts';
import { isNavigation } from '../request/navigation.ts';
import { openExchange, type Pages, returnPathOf, sentenceOf, spokenFor } from './exchange.ts';
import { PATHS, pageResponse, signInUrl } from './frame.ts';
import { nonMemberPage } from './front-page.ts';
import { facts } from './parts.ts';

/** Returns what replaces the problem document of a navigation by its page. */
export function problemPages(pages: Pages): (c: AppContext) => Promise<void> {
  return async (c) => {
    const problem = await problemIn(c);
    if (!problem) return;
    const page =
      problem.reason === 'not_a_member'
        ? await nonMemberPage(await openExchange(pages, c))
        : await problemPage(pages, c, problem);
    // Hono would merge the headers of the document into those of the page.
    c.res = undefined;
    c.res = page;
  };
}

async function problemIn(c: AppContext): Promise<Problem | null> {
  // The platform's own calls are no navigations, whatever they accept.
  if (c.req.path.startsWith('/internal/') || !isNavigation(c)) return null;
  const document: unknown = await c.res
    .clone()
    .json()
    .catch(() => null);
  const read = problemSchema.safeParse(document);
  return read.success ? read.data : null;
}

async function problemPage(pages: Pages, c: AppContext, problem: Problem): Promise<Response> {
  const { services, look } = pages;
  const spoken = spokenFor(services, c);
  const { problem: t, frame } = spoken.texts;
  const around = { look, spoken, business: await businessName(pages, c), places: [], path: c.req.path };
  // A response that an exception brought along gets its id outside of this middleware.
  const requestId = problem.requestId ?? requestIdOf(c);
  const headers = new Headers(c.res.headers);
  headers.delete('content-length');
  return pageResponse(
    around,
    {
      title: t.titles[problem.code],
      status: problem.status,
      narrow: true,
      hasToken: true,
      body: html`<p>${sentenceOf({ t: spoken.texts }, problem)}</p>
<p>${t.advice[problem.code]}</p>
${(await mayOfferSignIn(pages, c, problem)) && link(signInUrl(returnPathOf(c)), frame.signIn, 'button')}
${link(PATHS.front, t.toFront, 'button plain')}
<section>${facts([
        [
          t.code,
          html`<code>${problem.code}</code>${problem.reason !== undefined && html` <code>${problem.reason}</code>`}`,
        ],
        [t.requestId, html`<code>${requestId}</code>`],
      ])}<p><a href="/problems/${problem.code}">${t.aboutCode}</a></p></section>`,
    },
    headers,
  );
}

function link(url: string, label: string, look: string): Html {
  return html`<p class="actions"><a class="${look}" href="${url}">${label}</a></p>`;
}

/** A link to the sign-in is of use only where a browser can sign in. */
async function mayOfferSignIn({ services }: Pages, c: AppContext, problem: Problem): Promise<boolean> {
  if (problem.status !== 401 || services.app.authenticatedPrincipal.kind === 'unauthenticated') return false;
  const signIn: SignIn | null = await services.signIn(c).catch(() => null);
  return signIn !== null && signIn.mode !== 'tokens';
}

/** The name of the instance; of the application where the request reached none. */
async function businessName({ services }: Pages, c: AppContext): Promise<string> {
  if (!c.env.node) return services.manifest.name;
  const known = await scopeOf(services, c)
    .identify({})
    .catch(() => null);
  return known?.name ?? services.manifest.name;
}
