/**
 * The provider's mails. A mail that any visitor can cause to any address holds no word that the visitor has chosen: no
 * name, no path.
 */
import type { Account, MadeLink } from '../../accounts/contract.ts';
import { html } from '../markup/html.ts';
import { authUrl } from '../pages/paths.ts';
import type { AccountNotice, Span } from '../texts/en.ts';
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

export type Sender = Pick<Exchange, 'appName' | 'origin' | 't' | 'tag'>;

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
  const { signUp: t } = sender.t.mails;
  return composeMail(sender, {
    to,
    subject: t.subject(sender.appName),
    paragraphs: [t.asked(sender.appName)],
    action: { label: t.action, url },
    last: t.last(spanOf(lifetimeMs)),
  });
}

/** Instead of a second account. */
export function accountExistsMail(sender: Sender, to: string): Mail {
  const { accountExists: t } = sender.t.mails;
  return composeMail(sender, {
    to,
    subject: t.subject(sender.appName),
    paragraphs: [t.asked(sender.appName), t.forgot(resetUrl(sender))],
    action: { label: t.action, url: `${sender.origin}/api/auth/login` },
    last: t.last,
  });
}

export function resetMail(sender: Sender, { to, url, lifetimeMs }: LinkMail): Mail {
  const { reset: t } = sender.t.mails;
  return composeMail(sender, {
    to,
    subject: t.subject(sender.appName),
    paragraphs: [t.asked(sender.appName)],
    action: { label: t.action, url },
    last: t.last(spanOf(lifetimeMs)),
  });
}

export function emailChangeMail(sender: Sender, { to, url, lifetimeMs }: LinkMail): Mail {
  const { emailChange: t } = sender.t.mails;
  return composeMail(sender, {
    to,
    subject: t.subject(sender.appName),
    paragraphs: [t.asked(sender.appName)],
    action: { label: t.action, url },
    last: t.last(spanOf(lifetimeMs)),
  });
}

/** To the former address after a change, with the link that reverts it if there is one. */
export function emailChangedMail(
  sender: Sender,
  { to, way }: { readonly to: string; readonly way: Omit<LinkMail, 'to'> | null },
): Mail {
  const { emailChanged: t } = sender.t.mails;
  return composeMail(sender, {
    to,
    subject: t.subject(sender.appName),
    paragraphs: [t.changed(sender.appName)],
    ...(way === null
      ? { last: t.tellOperator(sender.appName) }
      : { action: { label: t.action, url: way.url }, last: t.last(spanOf(way.lifetimeMs)) }),
  });
}

/** Returns the mail that notifies the holder of an account. */
export function noticeMail(sender: Sender, to: string, notice: AccountNotice): Mail {
  const { mails } = sender.t;
  const { subject, sentence, last = mails.ifNotYou } = mails.notices[notice];
  return composeMail(sender, {
    to,
    subject: mails.noticeSubject(subject, sender.appName),
    paragraphs: [sentence],
    ...actionAfter(sender, notice),
    last: last.replace('{reset}', resetUrl(sender)),
  });
}

/** A deleted account has nothing to see. */
function actionAfter({ t, origin }: Sender, notice: AccountNotice): Pick<MailText, 'action'> {
  if (notice === 'account_deleted') return {};
  const url = `${origin}/api/auth/security`;
  return notice === 'passkey_added'
    ? { action: { label: t.mails.seePasskeys, url: `${url}#passkeys` } }
    : { action: { label: t.mails.seeAccount, url } };
}

function resetUrl({ origin }: Sender): string {
  return `${origin}/api/auth/reset`;
}

/** Mails a link to its address, in the background. @param path of the page that the link opens. */
export function postLink(exchange: Exchange, path: string, link: MadeLink, mail: typeof signUpMail): void {
  const url = `${exchange.origin}${authUrl(path, { token: link.token })}`;
  const lifetimeMs = link.expiresAtMs - exchange.now();
  exchange.post(mail(exchange, { to: link.email, url, lifetimeMs }));
}

/** Notifies the holder of an account, in the background. */
export function notifyAccount(
  exchange: Exchange,
  { email }: Pick<Account, 'email'>,
  notice: AccountNotice,
): void {
  exchange.post(noticeMail(exchange, email, notice));
}

function composeMail({ t, tag }: Sender, { to, subject, paragraphs, action, last }: MailText): Mail {
  const link = action ? [`${action.label}:\n${action.url}`] : [];
  const body = html`<!doctype html>
<html lang="${tag}"><head><meta charset="utf-8"><title>${subject}</title></head>
<body style="font: 16px/1.5 system-ui, sans-serif; color: #1c1e21; max-width: 34em">
${paragraphs.map((text) => html`<p>${text}</p>\n`)}${
  action !== undefined &&
  html`<p><a href="${action.url}">${action.label}</a></p>\n<p style="color: #5d6269; font-size: 14px">${t.mails.copyAddress} ${action.url}</p>\n`
}<p style="color: #5d6269; font-size: 14px">${last}</p>
</body></html>
`;
  return { to, subject, text: `${[...paragraphs, ...link, last].join('\n\n')}\n`, html: body.text };
}

/**
 * Returns "30 minutes", "one hour", "24 hours", "7 days" as a number and its unit. Minutes are rounded, because a moment
 * passes between the link and its mail; hours and days are rounded down, so that the mail promises no more than the link
 * holds.
 */
function spanOf(ms: number): Span {
  const minutes = Math.max(1, Math.round(ms / 60_000));
  const hours = Math.floor(minutes / 60);
  if (hours >= 48) return { unit: 'day', count: Math.floor(hours / 24) };
  if (hours >= 2 || minutes === 60) return { unit: 'hour', count: hours };
  return { unit: 'minute', count: minutes };
}
