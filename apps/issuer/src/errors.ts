/** The refusals to start the development issuer, or to register a client. */

/**
 * - `production_refused`: `NODE_ENV` is `production`.
 * - `host_not_loopback`: asked to listen where other machines could reach it.
 * - `issuer_url_invalid`: not an http(s) origin without path, query or fragment.
 * - `client_invalid`: a client's metadata was refused.
 * - `port_taken`: another process listens on the port.
 * - `listen_failed`: the port could not be opened for another reason.
 */
export type IssuerErrorCode =
  | 'production_refused'
  | 'host_not_loopback'
  | 'issuer_url_invalid'
  | 'client_invalid'
  | 'port_taken'
  | 'listen_failed';

/** A refusal of the development issuer. The message is one sentence for the person at the terminal. */
export class IssuerError extends Error {
  override readonly name = 'IssuerError';
  readonly code: IssuerErrorCode;

  constructor(code: IssuerErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
