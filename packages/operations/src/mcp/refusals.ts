/** Refusals in the words of the protocol, beside the results that say so. */
import { PlatformError } from '@freehold/contracts';
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';

/** A mistake of the client, not of the model: an error of the protocol (JSON-RPC 2.0, "Invalid params"). */
export function malformed(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}

/** The failure of a list or a resource: an error of the protocol, because no result could say so. */
export function failed(words: string, thrown: unknown): ProtocolError {
  const said = thrown instanceof PlatformError && thrown.code !== 'internal' ? ` ${thrown.message}` : '';
  return new ProtocolError(ProtocolErrorCode.InternalError, `${words}${said}`);
}
