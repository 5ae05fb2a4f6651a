/** What a page says about the step before it. It travels in a cookie, as the code of a sentence of ours. */
import type { Exchange } from './lib/context.ts';
import { clearShortCookie, NOTICE_COOKIE, readShortCookie, setShortCookie } from './lib/cookies.ts';

const NOTICES = {
  name_saved: 'Your name was saved.',
  email_sent: 'Look into the mail of the new address: a link there makes it yours.',
  email_changed: 'Your address was changed. From now on you sign in with the new one.',
  password_changed: 'Your password was changed, and all other sessions were ended.',
  passkey_added: 'The passkey was added.',
  passkey_renamed: 'The passkey was renamed.',
  passkey_removed: 'The passkey was removed.',
  totp_disabled: 'Two-step verification was turned off.',
  session_ended: 'That session was ended.',
  signed_out: 'You are signed out everywhere.',
  second_factor_expired: 'That took too long, or too many codes were wrong. Sign in again.',
} as const;

export type NoticeCode = keyof typeof NOTICES;

/** The `Set-Cookie` value by which the next page says it. */
export function noticeCookie({ origin }: Exchange, code: NoticeCode): string {
  return setShortCookie(NOTICE_COOKIE, origin, code);
}

/** What is to be said now, and the `Set-Cookie` value after which it is not said again. */
export function takeNotice({ request, origin }: Exchange): {
  readonly notice: string | undefined;
  readonly setCookies: readonly string[];
} {
  const code = readShortCookie(request.headers, NOTICE_COOKIE, origin);
  if (code === null) return { notice: undefined, setCookies: [] };
  const notice = Object.hasOwn(NOTICES, code) ? NOTICES[code as NoticeCode] : undefined;
  return { notice, setCookies: [clearShortCookie(NOTICE_COOKIE, origin)] };
}
