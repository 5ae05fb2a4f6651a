/** The pages of two-step verification: setting it up, and the recovery codes, which are shown once. */

import { encode } from 'uqr';
import { type Html, html } from '../markup/html.ts';
import type { Texts } from '../texts/en.ts';
import { field, form, hidden } from './fields.ts';
import type { PageContent } from './layout.ts';
import { authUrl, SECURITY_PATH } from './paths.ts';

/** Light modules around a QR code, as its standard requires. */
const QUIET_ZONE = 4;

export interface TotpSetupPage {
  readonly appName: string;
  readonly email: string;
  readonly secret: string;
  /** The same, sealed for the server, which comes back with the code. */
  readonly sealed: string;
  readonly fault?: string;
}

/** Shows the secret to an authenticator app, and asks for a first code as a check. */
export function totpSetupPage(
  t: Texts,
  { appName, email, secret, sealed, fault }: TotpSetupPage,
): PageContent {
  return {
    heading: t.totp.heading,
    failed: fault !== undefined,
    body: html`<ol class="steps"><li><p>${t.totp.scan}</p>
${qrCode(otpauthUri({ appName, email, secret }), t.totp.qrLabel)}
<p class="hint">${t.totp.orType} <code class="secret">${inGroups(secret)}</code></p></li>
<li><p>${t.totp.typeCode}</p>
${form(
  authUrl('security/totp/enable'),
  html`${hidden('sealed', sealed)}${field({
    name: 'code',
    label: t.frame.code,
    autocomplete: 'one-time-code',
    inputmode: 'numeric',
    maxLength: 12,
    fault,
    autofocus: true,
  })}
<p class="actions"><button class="button">${t.security.turnOn}</button> <a class="button plain" href="${SECURITY_PATH}">${t.totp.cancel}</a></p>`,
)}</li></ol>`,
  };
}

export function recoveryCodesPage(t: Texts, { codes }: { readonly codes: readonly string[] }): PageContent {
  return {
    heading: t.totp.codes,
    body: html`<p>${t.totp.codesWhat}</p>
<ul class="codes">${codes.map((code) => html`<li><code>${code}</code></li>`)}</ul>
<p class="actions"><a class="button" href="${SECURITY_PATH}">${t.totp.saved}</a></p>`,
  };
}

/** Returns the address that authenticator apps understand: `otpauth://totp/Issuer:account?secret=…&issuer=Issuer`. */
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

/** A QR code as inline SVG: one path, no style attribute, so that the content security policy needs no exception. */
function qrCode(text: string, label: string): Html {
  const { size, data } = encode(text, { border: QUIET_ZONE, ecc: 'M' });
  const path = data.flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : ''))).join('');
  return html`<svg class="qr" role="img" aria-label="${label}" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges"><rect width="${size}" height="${size}" fill="#fff"/><path d="${path}" fill="#000"/></svg>`;
}
