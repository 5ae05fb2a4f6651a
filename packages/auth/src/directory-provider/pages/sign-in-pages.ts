/** The sign-in pages: password or passkey, the second factor, and the confirmation of identity. */

import { type Html, html } from '../markup/html.ts';
import type { Texts } from '../texts/en.ts';
import { alert, chosen, field, form, hidden, notice } from './fields.ts';
import type { PageContent } from './layout.ts';
import { authUrl } from './paths.ts';

export interface LoginPage {
  readonly appName: string;
  readonly returnTo: string | null;
  readonly signUpOpen: boolean;
  readonly email?: string;
  readonly alert?: string;
  readonly notice?: string | undefined;
}

export function loginPage(t: Texts, page: LoginPage): PageContent {
  const { appName, returnTo, signUpOpen, email, alert: fault } = page;
  const failed = fault !== undefined;
  return {
    heading: t.signIn.heading(appName),
    failed,
    body: html`${notice(page.notice)}${alert(fault)}${form(
      authUrl('login'),
      html`${hidden('returnTo', returnTo)}${field({
        name: 'email',
        label: t.frame.email,
        type: 'email',
        inputmode: 'email',
        autocomplete: 'username webauthn',
        value: email,
        faultAbove: failed,
        autofocus: failed && !email,
      })}
${field({
  name: 'password',
  label: t.frame.password,
  reveal: t.frame.showPassword,
  type: 'password',
  autocomplete: 'current-password',
  faultAbove: failed,
  autofocus: failed && email !== undefined && email !== '',
})}
<p class="actions"><button class="button">${t.frame.signIn}</button></p>`,
    )}
${passkeyButton(t, { label: t.signIn.passkey, returnTo, conditional: true })}
<ul class="links">
<li><a href="${authUrl('reset', { returnTo })}">${t.signIn.forgot}</a></li>
${signUpOpen && html`<li>${t.signIn.newHere} <a href="${authUrl('sign-up', { returnTo })}">${t.signIn.signUp}</a></li>`}
</ul>`,
  };
}

export function secondFactorPage(
  t: Texts,
  page: {
    readonly returnTo: string | null;
    readonly fault?: string;
  },
): PageContent {
  const { returnTo, fault } = page;
  return {
    heading: t.secondFactor.heading,
    failed: fault !== undefined,
    body: html`<p>${t.secondFactor.what}</p>
${form(
  authUrl('login/second-factor'),
  html`${hidden('returnTo', returnTo)}${field({
    name: 'code',
    label: t.frame.code,
    autocomplete: 'one-time-code',
    fault,
    maxLength: 64,
    autofocus: true,
  })}
<p class="actions"><button class="button">${t.frame.continue}</button></p>`,
)}
<ul class="links"><li><a href="${authUrl('login', { returnTo })}">${t.secondFactor.again}</a></li></ul>`,
  };
}

export interface ConfirmPage {
  readonly email: string;
  readonly returnTo: string | null;
  readonly hasPassword: boolean;
  readonly hasPasskeys: boolean;
  readonly fault?: string;
}

export function confirmPage(t: Texts, page: ConfirmPage): PageContent {
  const { email, returnTo, hasPassword, hasPasskeys, fault } = page;
  return {
    heading: t.confirm.heading,
    failed: fault !== undefined,
    body: html`<p>${t.confirm.what(chosen(email))}</p>
${
  hasPassword &&
  form(
    authUrl('confirm'),
    html`${hidden('returnTo', returnTo)}<div hidden><label for="username">${t.frame.email}</label>
<input id="username" name="username" type="email" autocomplete="username" value="${email}" readonly></div>
${field({
  name: 'password',
  label: t.frame.password,
  reveal: t.frame.showPassword,
  type: 'password',
  autocomplete: 'current-password',
  fault,
  autofocus: fault !== undefined,
})}
<p class="actions"><button class="button">${t.confirm.button}</button></p>`,
  )
}
${hasPasskeys && passkeyButton(t, { label: t.confirm.passkey, returnTo, confirm: true })}
${!hasPassword && noScript(t.confirm.noScript)}
<ul class="links"><li><a href="${returnTo ?? '/'}">${t.confirm.without}</a></li></ul>`,
  };
}

/** The script shows this button, and writes faults into it. */
function passkeyButton(
  t: Texts,
  options: {
    readonly label: string;
    readonly returnTo: string | null;
    readonly conditional?: boolean;
    readonly confirm?: boolean;
  },
): Html {
  const { label, returnTo, conditional = false, confirm = false } = options;
  return html`<div class="passkey" data-passkey="sign-in"${returnTo !== null && html` data-return-to="${returnTo}"`}${
    conditional && html` data-conditional`
  }${confirm && html` data-confirm`}${scriptTexts(t)} hidden>
<p class="or" aria-hidden="true">${t.frame.or}</p>
<p class="fault" role="alert" data-fault></p>
<p class="actions"><button type="button" class="button plain">${label}</button></p>
</div>`;
}

/** The sentences that the script shows. */
export function scriptTexts({ script }: Texts): Html {
  return html` data-cancelled="${script.cancelled}" data-known="${script.known}" data-failed="${script.failed}"`;
}

export function noScript(message: string): Html {
  return html`<noscript><p class="hint">${message}</p></noscript>`;
}
