/** The pages around a mail: the request for it, the confirmation that it was sent, and the pages of its link. */
import type { Passkey } from '../../accounts/contract.ts';
import { type Html, html } from '../markup/html.ts';
import type { Texts } from '../texts/en.ts';
import { alert, checkbox, chosen, day, field, form, hidden, newPasswordField } from './fields.ts';
import type { PageContent } from './layout.ts';
import { authUrl } from './paths.ts';
import { scriptTexts } from './sign-in-pages.ts';

interface Asked {
  readonly returnTo: string | null;
  readonly email?: string;
  readonly emailFault?: string;
  readonly alert?: string;
}

export function signUpPage(
  t: Texts,
  page: Asked & { readonly appName: string; readonly name?: string; readonly nameFault?: string },
): PageContent {
  const { appName, returnTo, email, name, emailFault, nameFault, alert: fault } = page;
  return {
    heading: t.signUp.heading(appName),
    failed: Boolean(fault ?? emailFault ?? nameFault),
    body: html`${alert(fault)}${form(
      authUrl('sign-up'),
      html`${hidden('returnTo', returnTo)}${emailField(t, { email, fault: emailFault })}
${field({
  name: 'name',
  label: t.frame.nameOptional,
  autocomplete: 'name',
  value: name,
  required: false,
  maxLength: 100,
  fault: nameFault,
  autofocus: emailFault === undefined && nameFault !== undefined,
})}
<p class="actions"><button class="button">${t.frame.continue}</button></p>`,
    )}
<ul class="links"><li>${t.signUp.haveAccount} <a href="${authUrl('login', { returnTo })}">${t.frame.signIn}</a></li></ul>`,
  };
}

export function resetPage(t: Texts, page: Asked): PageContent {
  const { returnTo, email, emailFault, alert: fault } = page;
  return {
    heading: t.reset.heading,
    failed: Boolean(fault ?? emailFault),
    body: html`<p>${t.reset.what}</p>
${alert(fault)}${form(
  authUrl('reset'),
  html`${hidden('returnTo', returnTo)}${emailField(t, { email, fault: emailFault })}
<p class="actions"><button class="button">${t.reset.send}</button></p>`,
)}
<ul class="links"><li><a href="${authUrl('login', { returnTo })}">${t.frame.backToSignIn}</a></li></ul>`,
  };
}

/** The same for every address: it does not reveal whether there is an account. */
export function mailSentPage(
  t: Texts,
  page: {
    readonly email: string;
    readonly returnTo: string | null;
    readonly back: string;
  },
): PageContent {
  return {
    heading: t.mailSent.heading,
    body: html`<p>${t.mailSent.what(chosen(page.email))}</p>
<ul class="links"><li><a href="${authUrl(page.back, { returnTo: page.returnTo })}">${t.mailSent.another}</a></li>
<li><a href="${authUrl('login', { returnTo: page.returnTo })}">${t.frame.backToSignIn}</a></li></ul>`,
  };
}

export interface FinishPage {
  readonly token: string;
  readonly email: string;
  readonly fault?: string;
}

/** The page of a sign-up link: the user chooses a first credential. */
export function signUpFinishPage(
  t: Texts,
  page: FinishPage & { readonly appName: string; readonly name?: string | null; readonly nameFault?: string },
): PageContent {
  const { token, email, appName, name, fault, nameFault } = page;
  return {
    heading: t.signUp.finish(appName),
    failed: Boolean(fault ?? nameFault),
    body: html`<p>${t.signUp.as(chosen(email))}</p>
${form(
  authUrl('sign-up/finish'),
  html`${hidden('token', token)}${field({
    name: 'name',
    label: t.frame.nameOptional,
    autocomplete: 'name',
    value: name,
    required: false,
    maxLength: 100,
    fault: nameFault,
    autofocus: nameFault !== undefined,
  })}
${newPasswordField(t, { email, fault, autofocus: fault !== undefined && nameFault === undefined })}
<p class="actions"><button class="button">${t.signUp.button}</button></p>`,
)}
<div class="passkey" data-passkey="register" data-link-token="${token}" data-name-from="name"${scriptTexts(t)} hidden>
<p class="or" aria-hidden="true">${t.frame.or}</p>
<p class="hint">${t.signUp.passkeyWhat}</p>
<p class="fault" role="alert" data-fault></p>
<p class="actions"><button type="button" class="button plain">${t.signUp.passkey}</button></p>
</div>`,
  };
}

/** The page of a reset link. A passkey that an attacker added would outlive the new password. */
export function resetFinishPage(
  t: Texts,
  page: FinishPage & { readonly passkeys: readonly Passkey[]; readonly removing?: boolean },
): PageContent {
  const { token, email, passkeys, removing, fault } = page;
  return {
    heading: t.reset.heading,
    failed: fault !== undefined,
    body: html`<p>${t.reset.forAccount(chosen(email))}</p>
${form(
  authUrl('reset/finish'),
  html`${hidden('token', token)}${newPasswordField(t, { email, fault })}
${passkeys.length > 0 && passkeysToRemove(t, passkeys, removing)}
<p class="actions"><button class="button">${t.reset.save}</button></p>`,
)}`,
  };
}

function passkeysToRemove(
  { reset }: Texts,
  passkeys: readonly Passkey[],
  removing: boolean | undefined,
): Html {
  return html`<p>${reset.passkeys}</p>
<ul>${passkeys.map((passkey) => html`<li>${reset.addedOn(chosen(passkey.name), day(passkey.createdMs))}</li>`)}</ul>
${checkbox({ name: 'removePasskeys', label: reset.removePasskeys, checked: removing })}`;
}

export function emailFinishPage(t: Texts, page: FinishPage & { readonly former: string }): PageContent {
  const { token, email, former } = page;
  return {
    heading: t.emailFinish.heading,
    body: html`<p>${t.emailFinish.what(chosen(former), chosen(email))}</p>
${form(
  authUrl('email/finish'),
  html`${hidden('token', token)}<p class="actions"><button class="button">${t.emailFinish.button}</button></p>`,
)}`,
  };
}

export function emailRevertPage(t: Texts, { token, email }: FinishPage): PageContent {
  return {
    heading: t.emailRevert.heading,
    body: html`<p>${t.emailRevert.what(chosen(email))}</p>
${form(
  authUrl('email/revert'),
  html`${hidden('token', token)}<p class="actions"><button class="button">${t.emailRevert.button}</button></p>`,
)}`,
  };
}

/** A link that is unknown, used, retired or expired: the page does not reveal which. */
export function deadLinkPage(t: Texts, page: { readonly askAgain: string }): PageContent {
  return {
    heading: t.deadLink.heading,
    failed: true,
    body: html`<p>${t.deadLink.what}</p>
<p class="actions"><a class="button" href="${authUrl(page.askAgain)}">${t.deadLink.again}</a></p>`,
  };
}

function emailField(
  t: Texts,
  {
    email,
    fault,
  }: {
    readonly email?: string | undefined;
    readonly fault?: string | undefined;
  },
) {
  return field({
    name: 'email',
    label: t.frame.email,
    type: 'email',
    inputmode: 'email',
    autocomplete: 'email',
    value: email,
    fault,
    autofocus: fault !== undefined,
  });
}
