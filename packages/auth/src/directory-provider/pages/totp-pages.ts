/** The pages of two-step verification: setting it up, and the recovery codes, which are shown once. */
import { authUrl, SECURITY_PATH } from './paths.ts';
import { field, form, hidden } from './fields.ts';
import { html } from './html.ts';
import type { PageContent } from './layout.ts';
import { qrCode } from './qr-code.ts';

export interface TotpSetupPage {
  readonly appName: string;
  readonly email: string;
  /** Base32. */
  readonly secret: string;
  /** The same for the server, which comes back with the code. */
  readonly sealed: string;
  readonly fault?: string;
}

/** Shows the secret to an authenticator app, and asks for a first code to see that it arrived. */
export function totpSetupPage({ appName, email, secret, sealed, fault }: TotpSetupPage): PageContent {
  return {
    heading: 'Set up two-step verification',
    failed: fault !== undefined,
    body: html`<ol class="steps"><li><p>Scan this with your authenticator app.</p>
${qrCode(otpauthUri({ appName, email, secret }), 'QR code of the secret written below')}
<p class="hint">Or type the secret: <code class="secret">${inGroups(secret)}</code></p></li>
<li><p>Type the code that the app shows.</p>
${form(
  authUrl('security/totp/enable'),
  html`${hidden('sealed', sealed)}${field({
    name: 'code',
    label: 'Code',
    autocomplete: 'one-time-code',
    inputmode: 'numeric',
    maxLength: 12,
    fault,
    autofocus: true,
  })}
<p class="actions"><button class="button">Turn on</button> <a class="button plain" href="${SECURITY_PATH}">Cancel</a></p>`,
)}</li></ol>`,
  };
}

/** Shown once. */
export function recoveryCodesPage({ codes }: { readonly codes: readonly string[] }): PageContent {
  return {
    heading: 'Your recovery codes',
    body: html`<p>Each of these signs you in once when you do not have your authenticator app. Keep them where you keep what must not be lost: <strong>they are not shown again</strong>.</p>
<ul class="codes">${codes.map((code) => html`<li><code>${code}</code></li>`)}</ul>
<p class="actions"><a class="button" href="${SECURITY_PATH}">I have saved them</a></p>`,
  };
}

/** The form that authenticator apps have agreed on: `otpauth://totp/Issuer:account?secret=…&issuer=Issuer`. */
export function otpauthUri({
  appName,
  email,
  secret,
}: Pick<TotpSetupPage, 'appName' | 'email' | 'secret'>): string {
  // A colon separates the two, so that neither part may hold one.
  const [issuer, account] = [appName, email].map((part) => encodeURIComponent(part.replaceAll(':', ' ')));
  return `otpauth://totp/${issuer}:${account}?secret=${secret}&issuer=${issuer}&algorithm=SHA1&digits=6&period=30`;
}

function inGroups(secret: string): string {
  return secret.match(/.{1,4}/g)?.join(' ') ?? '';
}
