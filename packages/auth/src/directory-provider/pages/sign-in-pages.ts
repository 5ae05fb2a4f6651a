/** The sign-in pages: password or passkey, the second factor, and the confirmation of identity. */

import { alert, chosen, field, form, hidden, notice } from './fields.ts';
import { type Html, html } from './html.ts';
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

export function loginPage(page: LoginPage): PageContent {
  const { appName, returnTo, signUpOpen, email, alert: fault } = page;
  const failed = fault !== undefined;
  return {
    heading: `Sign in to ${appName}`,
    failed,
    body: html`${notice(page.notice)}${alert(fault)}${form(
      authUrl('login'),
      html`${hidden('returnTo', returnTo)}${field({
        name: 'email',
        label: 'E-mail address',
        type: 'email',
        inputmode: 'email',
        autocomplete: 'username webauthn',
        value: email,
        faultAbove: failed,
        autofocus: failed && !email,
      })}
${field({
  name: 'password',
  label: 'Password',
  type: 'password',
  autocomplete: 'current-password',
  faultAbove: failed,
  autofocus: failed && email !== undefined && email !== '',
})}
<p class="actions"><button class="button">Sign in</button></p>`,
    )}
${passkeyButton({ label: 'Sign in with a passkey', returnTo, conditional: true })}
<ul class="links">
<li><a href="${authUrl('reset', { returnTo })}">I forgot my password</a></li>
${signUpOpen && html`<li>New here? <a href="${authUrl('sign-up', { returnTo })}">Sign up</a></li>`}
</ul>`,
  };
}

export function secondFactorPage(page: {
  readonly returnTo: string | null;
  readonly fault?: string;
}): PageContent {
  const { returnTo, fault } = page;
  return {
    heading: 'Enter your code',
    failed: fault !== undefined,
    body: html`<p>Open your authenticator app and type the code it shows. If you do not have it, type one of your recovery codes.</p>
${form(
  authUrl('login/second-factor'),
  html`${hidden('returnTo', returnTo)}${field({
    name: 'code',
    label: 'Code',
    autocomplete: 'one-time-code',
    fault,
    maxLength: 64,
    autofocus: true,
  })}
<p class="actions"><button class="button">Continue</button></p>`,
)}
<ul class="links"><li><a href="${authUrl('login', { returnTo })}">Start again</a></li></ul>`,
  };
}

export interface ConfirmPage {
  readonly email: string;
  readonly returnTo: string | null;
  readonly hasPassword: boolean;
  readonly hasPasskeys: boolean;
  readonly fault?: string;
}

export function confirmPage(page: ConfirmPage): PageContent {
  const { email, returnTo, hasPassword, hasPasskeys, fault } = page;
  return {
    heading: 'Confirm it is you',
    failed: fault !== undefined,
    body: html`<p>You are signed in as ${chosen(email)}. Before you change how you sign in, show once more that it is you.</p>
${
  hasPassword &&
  form(
    authUrl('confirm'),
    html`${hidden('returnTo', returnTo)}<div hidden><label for="username">E-mail address</label>
<input id="username" name="username" type="email" autocomplete="username" value="${email}" readonly></div>
${field({
  name: 'password',
  label: 'Password',
  type: 'password',
  autocomplete: 'current-password',
  fault,
  autofocus: fault !== undefined,
})}
<p class="actions"><button class="button">Confirm</button></p>`,
  )
}
${hasPasskeys && passkeyButton({ label: 'Confirm with a passkey', returnTo, confirm: true })}
${!hasPassword && noScript('Your account has a passkey and no password, so this needs JavaScript.')}
<ul class="links"><li><a href="${returnTo ?? '/'}">Go back without confirming</a></li></ul>`,
  };
}

/** The script shows this button, and writes faults into it. */
function passkeyButton(options: {
  readonly label: string;
  readonly returnTo: string | null;
  readonly conditional?: boolean;
  readonly confirm?: boolean;
}): Html {
  const { label, returnTo, conditional = false, confirm = false } = options;
  return html`<div class="passkey" data-passkey="sign-in"${returnTo !== null && html` data-return-to="${returnTo}"`}${
    conditional && html` data-conditional`
  }${confirm && html` data-confirm`} hidden>
<p class="or" aria-hidden="true">or</p>
<p class="fault" role="alert" data-fault></p>
<p class="actions"><button type="button" class="button plain">${label}</button></p>
</div>`;
}

export function noScript(message: string): Html {
  return html`<noscript><p class="hint">${message}</p></noscript>`;
}
