/** What a page says about the step before it: a closed list, because the code stands in the address. */

const NOTICES = {
  name_saved: 'Your name was saved.',
  email_sent: 'Look into the mail of the new address: a link there makes it yours.',
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

/** The sentence of a code; undefined for what is no code of ours. */
export function findNotice(code: string | null): string | undefined {
  return code !== null && Object.hasOwn(NOTICES, code) ? NOTICES[code as NoticeCode] : undefined;
}
