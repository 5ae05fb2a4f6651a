/** The proof of a client at the token endpoint: its secret in the header or in the form (RFC 6749, section 2.3.1). */
import { hashToken } from '../../lib/token.ts';
import type { ClientProof } from '../../programs/contract.ts';
import { OAuthError } from './errors.ts';
import { type Parameters, requireParameter } from './parameters.ts';

const BASIC = /^Basic +([A-Za-z0-9+/]+=*)$/i;

/**
 * Returns the client of a request and the hash of its secret.
 * @throws OAuthError `invalid_request` for two ways at once (section 2.3); `invalid_client` for a malformed header.
 */
export function readClientProof(headers: Headers, parameters: Parameters): ClientProof {
  const header = headers.get('authorization');
  const secret = parameters.get('client_secret');
  if (header === null) {
    const id = requireParameter(parameters, 'client_id');
    return { id, secretHash: secret === undefined ? null : hashToken(secret) };
  }
  if (secret !== undefined)
    throw new OAuthError('invalid_request', 'Send the client secret once: in the header or in the form.');
  const sent = readBasic(header);
  if (!sent) throw new OAuthError('invalid_client', 'The Authorization header is not one of a client.');
  const named = parameters.get('client_id');
  if (named !== undefined && named !== sent.id)
    throw new OAuthError('invalid_request', 'The header and the form name two clients.');
  return { id: sent.id, secretHash: sent.secret === '' ? null : hashToken(sent.secret) };
}

/** Both parts are form-encoded before they are joined. */
function readBasic(header: string): { readonly id: string; readonly secret: string } | null {
  const encoded = BASIC.exec(header)?.[1];
  if (encoded === undefined) return null;
  const text = atob(encoded);
  const colon = text.indexOf(':');
  if (colon < 0) return null;
  try {
    const decode = (part: string) => decodeURIComponent(part.replaceAll('+', ' '));
    return { id: decode(text.slice(0, colon)), secret: decode(text.slice(colon + 1)) };
  } catch {
    return null;
  }
}
