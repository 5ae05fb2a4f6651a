/** The sign-in page: the application, and the people to continue as. It works without JavaScript. */
import { loginPattern, type Person } from '../people/people.ts';
import { type Html, html } from './html.ts';
import { type Page, renderPage } from './page.ts';

export interface SignInPage {
  /** The path of the form. */
  readonly action: string;
  readonly clientName: string;
  /** The application's host, for telling tenants apart. */
  readonly clientHost: string;
  /** See `formsLeadTo` of the page frame. */
  readonly formsLeadTo: readonly string[];
  readonly people: readonly Person[];
  /** The login name of the signed-in person. */
  readonly signedIn?: string | undefined;
  /** The application's suggested login name; that choice has the focus. */
  readonly suggested?: string | undefined;
  /** The refused login name that was typed. */
  readonly refused?: string | undefined;
}

export function renderSignInPage(page: SignInPage): Page {
  return renderPage({
    title: `Sign in to ${page.clientName}`,
    formsLeadTo: page.formsLeadTo,
    card: html`<h1>Sign in to ${page.clientName}</h1>
<p class="lead">at <code>${page.clientHost}</code></p>
<h2>Who would you like to be?</h2>
<form method="post" action="${page.action}">
<ul class="people" role="list">${page.people.map((person, index) => personItem(page, person, index))}</ul>
</form>
<h2>Another person</h2>
<form method="post" action="${page.action}">${anotherPerson(page)}</form>
<form method="post" action="${page.action}" class="cancel">
<button class="link" name="cancel" value="yes">Cancel and go back</button>
</form>`,
  });
}

function personItem(page: SignInPage, person: Person, index: number): Html {
  const isSuggested = page.suggested === person.login && page.refused === undefined;
  return html`<li><button class="person" name="login" value="${person.login}"${isSuggested && html` autofocus`}>
<span class="avatar tone-${index % 5}" aria-hidden="true">${initials(person.name)}</span>
<span><span class="line"><span class="name"><span class="hidden">Continue as </span>${person.name}</span>${
    page.signedIn === person.login && html` <span class="badge calm">signed in</span>`
  }${isSuggested && html` <span class="badge calm">suggested</span>`}</span>
<span class="line"><span class="email">${person.email}</span>${
    !person.emailVerified && html` <span class="badge">not verified</span>`
  }</span></span>
${chevron}</button></li>`;
}

function anotherPerson(page: SignInPage): Html {
  const isNew = !page.people.some((person) => person.login === page.suggested);
  const typed = page.refused ?? (isNew ? page.suggested : undefined);
  const refused = page.refused !== undefined;
  return html`<div class="field">
<span class="input"><label class="hidden" for="other">Login name of another person</label>
<input id="other" name="login" value="${typed}" placeholder="login name" required minlength="2" maxlength="31"
pattern="${loginPattern}" title="2 to 31 lower-case letters, digits and hyphens, starting with a letter"
autocomplete="off" autocapitalize="none" spellcheck="false"${typed !== undefined && html` autofocus`}${
    refused && html` aria-invalid="true" aria-describedby="other-problem"`
  }>
<span class="suffix" aria-hidden="true">@example.test</span></span>
<button class="button">Continue</button>
</div>${
    refused &&
    html`<p class="problem" id="other-problem">A login name is 2 to 31 lower-case letters, digits and hyphens, and starts with a letter.</p>`
  }`;
}

function initials(name: string): string {
  const words = name.split(/\s+/).filter((word) => word !== '');
  return [words[0], words.length > 1 ? words.at(-1) : undefined]
    .map((word) => word?.charAt(0).toUpperCase() ?? '')
    .join('');
}

const chevron = html`<svg class="chevron" viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d="m6 3.5 4.5 4.5L6 12.5"/></svg>`;
