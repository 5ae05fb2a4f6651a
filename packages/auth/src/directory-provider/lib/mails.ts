/**
 * The provider's mails. A mail that any visitor can cause to any address holds no word that the visitor has chosen: no
 * name, no path.
 */
import type { Account, MadeLink } from '../../accounts/contract.ts';
import { html } from '../pages/html.ts';
import { authUrl } from '../pages/paths.ts';
import type { Exchange } from './context.ts';

/** One message to one person. Plain text always; the HTML says the same. */
export interface Mail {
  /** One address, already checked: no list, no display name, no line break. */
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html?: string;
}

/** Sends mail, through the operator's choice of service. Resolves when the next server has taken the mail over. */
export interface Mailer {
  send(mail: Mail): Promise<void>;
}

export interface Sender {
  readonly appName: string;
  readonly origin: string;
}

interface MailText {
  readonly to: string;
  readonly subject: string;
  readonly paragraphs: readonly string[];
  readonly action?: { readonly label: string; readonly url: string };
  readonly last: string;
}

interface LinkMail {
  readonly to: string;
  readonly url: string;
  readonly lifetimeMs: number;
}

export function signUpMail(sender: Sender, { to, url, lifetimeMs }: LinkMail): Mail {
  return composeMail({
    to,
    subject: `Finish signing up to ${sender.appName}`,
    paragraphs: [`We received a request to sign up to ${sender.appName} with this address.`],
    action: { label: 'Finish signing up', url },
    last: `The link works once, for ${inWords(lifetimeMs)}. If it was not you, nothing happens unless you follow it.`,
  });
}

/** Instead of a second account. */
export function accountExistsMail(sender: Sender, to: string): Mail {
  return composeMail({
    to,
    subject: `You already have an account at ${sender.appName}`,
    paragraphs: [
      `We received a request to use this address at ${sender.appName}. You have an account with it already.`,
      `If you forgot your password, choose a new one here: ${sender.origin}/api/auth/reset`,
    ],
    action: { label: 'Sign in', url: `${sender.origin}/api/auth/login` },
    last: 'If it was not you, you need do nothing: your account was not opened.',
  });
}

export function resetMail(sender: Sender, { to, url, lifetimeMs }: LinkMail): Mail {
  return composeMail({
    to,
    subject: `Choose a new password for ${sender.appName}`,
    paragraphs: [`We received a request for a new password at ${sender.appName}.`],
    action: { label: 'Choose a new password', url },
    last: `The link works once, for ${inWords(lifetimeMs)}. If it was not you, your password stays as it is.`,
  });
}

export function emailChangeMail(sender: Sender, { to, url, lifetimeMs }: LinkMail): Mail {
  return composeMail({
    to,
    subject: `Confirm your address for ${sender.appName}`,
    paragraphs: [`We received a request to use this address for an account at ${sender.appName}.`],
    action: { label: 'Use this address', url },
    last: `The link works once, for ${inWords(lifetimeMs)}. If it was not you, nothing happens unless you follow it.`,
  });
}

/** To the former address after a change, with the link that reverts it if there is one. */
export function emailChangedMail(
  sender: Sender,
  { to, way }: { readonly to: string; readonly way: Omit<LinkMail, 'to'> | null },
): Mail {
  return composeMail({
    to,
    subject: `Your address was changed at ${sender.appName}`,
    paragraphs: [`Your account at ${sender.appName} now has another e-mail address.`],
    ...(way === null
      ? { last: `If it was not you, tell the people who run ${sender.appName}.` }
      : {
          action: { label: 'It was not me: take my account back', url: way.url },
          last: `The link works once, for ${inWords(way.lifetimeMs)}. If it was you, you need do nothing.`,
        }),
  });
}

interface NoticeText {
  readonly subject: string;
  readonly sentence: string;
  /** Default: {@link SEE_ACCOUNT}; null: there is nothing to see. */
  readonly action?: { readonly label: string; readonly path: string } | null;
  /** The advice if it was another person; `{reset}` stands for the address at which a new password is chosen. */
  readonly last?: string;
}

const SEE_ACCOUNT = { label: 'See how you sign in', path: '/api/auth/security' };
const IF_NOT_YOU =
  'If it was not you, choose a new password now, and remove passkeys that you do not know: {reset}';

const NOTICES = {
  password_changed: {
    subject: 'Your password was changed',
    sentence: 'The password of your account was changed, and all its other sessions were ended.',
  },
  password_reset: {
    subject: 'Your password was changed',
    sentence:
      'A new password was chosen for your account through a link in a mail, and all its sessions were ended.',
  },
  passkey_added: {
    subject: 'A passkey was added',
    sentence: 'A passkey can now be used to sign in to your account. A new password does not change that.',
    action: { label: 'See your passkeys', path: '/api/auth/security#passkeys' },
    last: 'If it was not you, remove it there. If you cannot sign in, choose a new password and remove all passkeys with it: {reset}',
  },
  passkey_removed: { subject: 'A passkey was removed', sentence: 'A passkey of your account was removed.' },
  totp_enabled: {
    subject: 'Two-step verification was turned on',
    sentence: 'Signing in with your password now asks for a code as well.',
  },
  totp_disabled: {
    subject: 'Two-step verification was turned off',
    sentence: 'Signing in with your password no longer asks for a code.',
  },
  recovery_codes_made: {
    subject: 'New recovery codes were made',
    sentence: 'Your account has new recovery codes. The earlier ones no longer work.',
  },
  recovery_code_used: {
    subject: 'A recovery code was used',
    sentence: 'One of the recovery codes of your account was used to sign in.',
  },
  email_change_asked: {
    subject: 'Your address is about to change',
    sentence:
      'A person who is signed in to your account asked to change its e-mail address. Nothing has changed yet.',
    last: 'If it was not you, sign out everywhere on that page, which stops the change, and choose a new password: {reset}',
  },
  account_locked: {
    subject: 'Your password may be under attack',
    sentence:
      'There were too many wrong attempts to sign in to your account, so no more are taken from there for a while. Browsers in which you have signed in before are not affected.',
    last: 'If it was you and you forgot your password, choose a new one: {reset}',
  },
  account_deleted: {
    subject: 'Your account was deleted',
    sentence: 'Your account was deleted at your wish. It can no longer be used to sign in.',
    action: null,
    last: 'This is the last mail about it.',
  },
} satisfies Readonly<Record<string, NoticeText>>;

/** An event of an account that its holder is notified of. */
export type Notice = keyof typeof NOTICES;

/** Returns the mail that notifies the holder of an account. */
export function noticeMail({ appName, origin }: Sender, to: string, notice: Notice): Mail {
  const { subject, sentence, action = SEE_ACCOUNT, last = IF_NOT_YOU }: NoticeText = NOTICES[notice];
  return composeMail({
    to,
    subject: `${subject} at ${appName}`,
    paragraphs: [sentence],
    ...(action === null ? {} : { action: { label: action.label, url: `${origin}${action.path}` } }),
    last: last.replace('{reset}', `${origin}/api/auth/reset`),
  });
}

/** Mails a link to its address, in the background. @param path of the page that the link opens. */
export function postLink(exchange: Exchange, path: string, link: MadeLink, mail: typeof signUpMail): void {
  const url = `${exchange.origin}${authUrl(path, { token: link.token })}`;
  const lifetimeMs = link.expiresAtMs - exchange.now();
  exchange.post(mail(exchange, { to: link.email, url, lifetimeMs }));
}

/** Notifies the holder of an account, in the background. */
export function notifyAccount(exchange: Exchange, { email }: Pick<Account, 'email'>, notice: Notice): void {
  exchange.post(noticeMail(exchange, email, notice));
}

function composeMail({ to, subject, paragraphs, action, last }: MailText): Mail {
  const link = action ? [`${action.label}:\n${action.url}`] : [];
  const body = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${subject}</title></head>
<body style="font: 16px/1.5 system-ui, sans-serif; color: #1c1e21; max-width: 34em">
${paragraphs.map((text) => html`<p>${text}</p>\n`)}${
  action !== undefined &&
  html`<p><a href="${action.url}">${action.label}</a></p>\n<p style="color: #5d6269; font-size: 14px">If the link does not work, copy this address: ${action.url}</p>\n`
}<p style="color: #5d6269; font-size: 14px">${last}</p>
</body></html>
`;
  return { to, subject, text: `${[...paragraphs, ...link, last].join('\n\n')}\n`, html: body.text };
}

/**
 * Returns "30 minutes", "one hour", "24 hours", "7 days". Minutes are rounded, because a moment passes between the
 * link and its mail; hours and days are rounded down, so that the mail promises no more than the link holds.
 */
function inWords(ms: number): string {
  const minutes = Math.max(1, Math.round(ms / 60_000));
  const hours = Math.floor(minutes / 60);
  if (hours >= 48) return `${Math.floor(hours / 24)} days`;
  if (hours >= 2) return `${hours} hours`;
  if (minutes === 60) return 'one hour';
  return minutes === 1 ? 'one minute' : `${minutes} minutes`;
}
