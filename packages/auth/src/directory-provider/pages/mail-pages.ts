/** The pages around a mail: the request for it, the confirmation that it was sent, and the pages of its link. */
import type { Passkey } from '../../accounts/contract.ts';
import { alert, checkbox, chosen, day, field, form, hidden, newPasswordField } from './fields.ts';
import { type Html, html } from './html.ts';
import type { PageContent } from './layout.ts';
import { authUrl } from './paths.ts';

interface Asked {
  readonly returnTo: string | null;
  readonly email?: string;
  readonly emailFault?: string;
  readonly alert?: string;
}

export function signUpPage(
  page: Asked & { readonly appName: string; readonly name?: string; readonly nameFault?: string },
): PageContent {
  const { appName, returnTo, email, name, emailFault, nameFault, alert: fault } = page;
  return {
    heading: `Sign up to ${appName}`,
    failed: Boolean(fault ?? emailFault ?? nameFault),
    body: html`${alert(fault)}${form(
      authUrl('sign-up'),
      html`${hidden('returnTo', returnTo)}${emailField({ email, fault: emailFault })}
${field({
  name: 'name',
  label: 'Your name (optional)',
  autocomplete: 'name',
  value: name,
  required: false,
  maxLength: 100,
  fault: nameFault,
  autofocus: emailFault === undefined && nameFault !== undefined,
})}
<p class="actions"><button class="button">Continue</button></p>`,
    )}
<ul class="links"><li>You have an account? <a href="${authUrl('login', { returnTo })}">Sign in</a></li></ul>`,
  };
}

export function resetPage(page: Asked): PageContent {
  const { returnTo, email, emailFault, alert: fault } = page;
  return {
    heading: 'Choose a new password',
    failed: Boolean(fault ?? emailFault),
    body: html`<p>Type your e-mail address. We send you a link with which you can choose a new password.</p>
${alert(fault)}${form(
  authUrl('reset'),
  html`${hidden('returnTo', returnTo)}${emailField({ email, fault: emailFault })}
<p class="actions"><button class="button">Send the link</button></p>`,
)}
<ul class="links"><li><a href="${authUrl('login', { returnTo })}">Back to signing in</a></li></ul>`,
  };
}

/** The same for every address: it does not reveal whether there is an account. */
export function mailSentPage(page: {
  readonly email: string;
  readonly returnTo: string | null;
  readonly back: string;
}): PageContent {
  return {
    heading: 'Check your mail',
    body: html`<p>If ${chosen(page.email)} can be used for this, we have sent a link to it. It may take a few minutes; check your spam folder too.</p>
<ul class="links"><li><a href="${authUrl(page.back, { returnTo: page.returnTo })}">Use another address</a></li>
<li><a href="${authUrl('login', { returnTo: page.returnTo })}">Back to signing in</a></li></ul>`,
  };
}

export interface FinishPage {
  readonly token: string;
  readonly email: string;
  readonly fault?: string;
}

/** The page of a sign-up link: the user chooses a first credential. */
export function signUpFinishPage(
  page: FinishPage & { readonly appName: string; readonly name?: string | null; readonly nameFault?: string },
): PageContent {
  const { token, email, appName, name, fault, nameFault } = page;
  return {
    heading: `Finish signing up to ${appName}`,
    failed: Boolean(fault ?? nameFault),
    body: html`<p>You are signing up as ${chosen(email)}.</p>
${form(
  authUrl('sign-up/finish'),
  html`${hidden('token', token)}${field({
    name: 'name',
    label: 'Your name (optional)',
    autocomplete: 'name',
    value: name,
    required: false,
    maxLength: 100,
    fault: nameFault,
    autofocus: nameFault !== undefined,
  })}
${newPasswordField({ email, fault, autofocus: fault !== undefined && nameFault === undefined })}
<p class="actions"><button class="button">Sign up</button></p>`,
)}
<div class="passkey" data-passkey="register" data-link-token="${token}" data-name-from="name" hidden>
<p class="or" aria-hidden="true">or</p>
<p class="hint">A passkey signs you in with your fingerprint, your face or the lock of your device. There is no password to remember.</p>
<p class="fault" role="alert" data-fault></p>
<p class="actions"><button type="button" class="button plain">Sign up with a passkey</button></p>
</div>`,
  };
}

/** The page of a reset link. A passkey that an attacker added would outlive the new password. */
export function resetFinishPage(
  page: FinishPage & { readonly passkeys: readonly Passkey[]; readonly removing?: boolean },
): PageContent {
  const { token, email, passkeys, removing, fault } = page;
  return {
    heading: 'Choose a new password',
    failed: fault !== undefined,
    body: html`<p>For ${chosen(email)}. All sessions of the account are ended with it, and you are signed in here.</p>
${form(
  authUrl('reset/finish'),
  html`${hidden('token', token)}${newPasswordField({ email, fault })}
${passkeys.length > 0 && passkeysToRemove(passkeys, removing)}
<p class="actions"><button class="button">Save the password</button></p>`,
)}`,
  };
}

function passkeysToRemove(passkeys: readonly Passkey[], removing: boolean | undefined): Html {
  return html`<p>These passkeys can sign in to the account as well:</p>
<ul>${passkeys.map((passkey) => html`<li>${chosen(passkey.name)}, added on ${day(passkey.createdMs)}</li>`)}</ul>
${checkbox({ name: 'removePasskeys', label: 'Remove all passkeys. Do so if you do not know every one.', checked: removing })}`;
}

export function emailFinishPage(page: FinishPage & { readonly former: string }): PageContent {
  const { token, email, former } = page;
  return {
    heading: 'Use this address?',
    body: html`<p>Your account ${chosen(former)} gets the address ${chosen(email)}. From now on you sign in with that, and mail about your account goes there.</p>
${form(
  authUrl('email/finish'),
  html`${hidden('token', token)}<p class="actions"><button class="button">Use this address</button></p>`,
)}`,
  };
}

export function emailRevertPage({ token, email }: FinishPage): PageContent {
  return {
    heading: 'Take your account back?',
    body: html`<p>The account gets its address ${chosen(email)} back, and all its sessions are ended. Then choose a new password.</p>
${form(
  authUrl('email/revert'),
  html`${hidden('token', token)}<p class="actions"><button class="button">Take it back</button></p>`,
)}`,
  };
}

/** A link that is unknown, used, retired or expired: the page does not reveal which. */
export function deadLinkPage(page: { readonly askAgain: string }): PageContent {
  return {
    heading: 'This link no longer works',
    failed: true,
    body: html`<p>A link works once, for a while, and only the newest one does.</p>
<p class="actions"><a class="button" href="${authUrl(page.askAgain)}">Ask for a new one</a></p>`,
  };
}

function emailField({
  email,
  fault,
}: {
  readonly email?: string | undefined;
  readonly fault?: string | undefined;
}) {
  return field({
    name: 'email',
    label: 'E-mail address',
    type: 'email',
    inputmode: 'email',
    autocomplete: 'email',
    value: email,
    fault,
    autofocus: fault !== undefined,
  });
}
