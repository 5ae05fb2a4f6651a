/**
 * The proof of a client at the token endpoint: its secret in the header or in the form (RFC 6749, section 2.3.1), or an
 * assertion that it signed (RFC 7523, section 2.2).
 */
import { decodeJwt } from 'jose';
import { hashToken } from '../../lib/token.ts';
import type { ClientProof } from '../../programs/contract.ts';
import { OAuthError } from './errors.ts';
import { type Parameters, requireParameter } from './parameters.ts';

const BASIC = /^Basic +([A-Za-z0-9+/]+=*)$/i;

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** A proof as it was sent. */
export interface SentProof extends Pick<ClientProof, 'id' | 'secretHash'> {
  /** The assertion, not judged yet; null without one. */
  readonly assertion: string | null;
}

/**
 * Returns the client of a request, the hash of its secret, and its assertion.
 * @throws OAuthError `invalid_request` for two ways at once (section 2.3); `invalid_client` for a malformed header or
 * assertion.
 */
export function readClientProof(headers: Headers, parameters: Parameters): SentProof {
  const header = headers.get('authorization');
  const secret = parameters.get('client_secret');
  const assertion = parameters.get('client_assertion');
  if (assertion !== undefined) {
    if (header !== null || secret !== undefined)
      throw new OAuthError('invalid_request', 'Send one proof of the client: an assertion or a secret.');
    if (parameters.get('client_assertion_type') !== ASSERTION_TYPE)
      throw new OAuthError('invalid_request', `client_assertion_type must be ${ASSERTION_TYPE}.`);
    return { id: clientOf(assertion, parameters.get('client_id')), secretHash: null, assertion };
  }
  return { ...readSecret({ header, secret }, parameters), assertion: null };
}

/** The form may leave the client out (RFC 7521, section 4.2). Nothing is believed of the assertion yet. */
function clientOf(assertion: string, named: string | undefined): string {
  if (named !== undefined) return named;
  try {
    const { sub } = decodeJwt(assertion);
    if (sub !== undefined) return sub;
  } catch {
    // Refused below, like one that names no client.
  }
  throw new OAuthError('invalid_client', 'The client_assertion names no client.');
}

function readSecret(
  { header, secret }: { readonly header: string | null; readonly secret: string | undefined },
  parameters: Parameters,
): ClientProof {
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
