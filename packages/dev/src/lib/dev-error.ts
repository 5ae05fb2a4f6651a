/** A failure that ends `freehold dev`: one sentence with what to do. */

export type DevErrorCode = 'validation_failed' | 'not_found' | 'conflict' | 'unavailable';

export class DevError extends Error {
  override readonly name = 'DevError';
  readonly code: DevErrorCode;

  constructor(code: DevErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
