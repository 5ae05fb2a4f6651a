/** The smaller pages: the signed-in person, signing out, signed out, and errors. */
import type { Person } from '../people/people.ts';
import { type Html, html } from './html.ts';
import { type Page, renderMessage, renderPage } from './page.ts';

/** The issuer's front page. */
export function renderHomePage(page: {
  readonly signedIn: Person | undefined;
  readonly signOutPath: string;
}): Page {
  const { signedIn } = page;
  return renderPage({
    title: 'Your session',
    card:
      signedIn === undefined
        ? html`<h1>You are not signed in</h1><p class="lead">Start from an application: it sends you here to sign in.</p>`
        : html`<h1>You are ${signedIn.name}</h1>
<p class="lead">Applications sign you in as ${signedIn.email} without asking. Sign out here to become another person.</p>
<p class="actions"><a class="button" href="${page.signOutPath}">Sign out</a></p>`,
  });
}

export interface SignOutPage {
  readonly signedIn: Person | undefined;
  readonly clientName: string | undefined;
  /** oidc-provider's form, with its token against cross-site requests; its id is `op.logoutForm`. */
  readonly form: Html;
  readonly formsLeadTo: readonly string[];
}

/** Asks before signing out, when the application could not prove that it knows the session. */
export function renderSignOutPage(page: SignOutPage): Page {
  return renderPage({
    title: 'Sign out',
    formsLeadTo: page.formsLeadTo,
    card: html`<h1>Sign out?</h1>
<p class="lead">${page.clientName === undefined ? 'You are' : `${page.clientName} asks to sign you out. You are`} signed in${page.signedIn === undefined ? '' : ` as ${page.signedIn.name}`}. Signing out here lets you choose another person at the next sign-in.</p>
${page.form}
<p class="actions"><button class="button" form="op.logoutForm" name="logout" value="yes" autofocus>Sign out</button>
<button class="button plain" form="op.logoutForm">Stay signed in</button></p>`,
  });
}

export function renderSignedOutPage(clientName: string | undefined): Page {
  return renderMessage({
    title: clientName === undefined ? 'You are signed out' : `You left ${clientName}`,
    paragraphs: [html`You can close this page, or go back to an application and sign in as another person.`],
  });
}

/** An OAuth error without a known application to send it to. */
export function renderErrorPage(error: {
  readonly code: string;
  readonly description: string | undefined;
}): Page {
  return renderMessage({
    title: 'This sign-in cannot go on',
    paragraphs: [html`${error.description ?? 'The request was refused.'}`, html`<code>${error.code}</code>`],
  });
}

/** The sign-in was finished, cancelled, or lost by a restart. */
export function renderExpiredPage(): Page {
  return renderMessage({
    title: 'This sign-in has expired',
    paragraphs: [html`Go back to the application and start again.`],
  });
}
