/** What goes wrong before anybody can sign in: the instance is not configured for it. */

/**
 * An instance's sign-in is not configured, or not completely. `status` is 503 when nothing usable is there yet and
 * 500 when the operator asked for something and left a part out (spec 7.3). The application raises it again as its
 * framework's HTTP exception with this status and message.
 */
export class AuthConfigError extends Error {
  override readonly name = 'AuthConfigError';
  readonly status: 500 | 503;

  constructor(status: 500 | 503, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.status = status;
  }
}
