/** The reasons why a message is not sent: a closed list of codes. */

/**
 * - `settings_invalid`: the address of the mail server, or the sender, cannot be used.
 * - `message_invalid`: a message that could not be what its sender meant: a list of recipients, a line break.
 * - `unreachable`: no connection, or one that broke.
 * - `not_secure`: the server offers no TLS, or a certificate that does not hold.
 * - `sign_in_refused`: the server does not take the user and password.
 * - `refused`: the server does not take the message, now (`retryable`) or ever.
 * - `not_configured`: there is no mail server to send through.
 */
export type MailErrorCode =
  | 'settings_invalid'
  | 'message_invalid'
  | 'unreachable'
  | 'not_secure'
  | 'sign_in_refused'
  | 'refused'
  | 'not_configured';

/** A message that was not sent. Its own message is for the operator, and holds no recipient, text or password. */
export class MailError extends Error {
  override readonly name = 'MailError';
  readonly code: MailErrorCode;
  /** Whether sending the same message later may work without anybody changing anything. */
  readonly retryable: boolean;

  constructor(
    code: MailErrorCode,
    message: string,
    { retryable = false, cause }: { readonly retryable?: boolean; readonly cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.retryable = retryable;
  }
}
