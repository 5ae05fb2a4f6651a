/** A failure that ends a command of this package: one sentence with what to do. */

export type DevErrorCode = 'validation_failed' | 'not_found' | 'conflict' | 'unavailable';

export interface DevErrorOptions extends ErrorOptions {
  /** Stable, for programs. */
  readonly reason?: string;
  /** The arguments that cannot be used. */
  readonly errors?: readonly { readonly path: string; readonly message: string }[];
}

export class DevError extends Error {
  override readonly name = 'DevError';
  readonly code: DevErrorCode;
  readonly reason: string | undefined;
  readonly errors: DevErrorOptions['errors'];

  constructor(code: DevErrorCode, message: string, { reason, errors, ...options }: DevErrorOptions = {}) {
    super(message, options);
    this.code = code;
    this.reason = reason;
    this.errors = errors;
  }
}
