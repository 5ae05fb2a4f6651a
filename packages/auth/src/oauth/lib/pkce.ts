/** Proof Key for Code Exchange, with S256 alone (RFC 7636; OAuth 2.1, section 7.5.1). */
import { OAuthError } from './errors.ts';
import type { Parameters } from './parameters.ts';

/** SHA-256 in base64url (RFC 7636, section 4.2). */
const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;

/**
 * Returns the challenge of an authorization request. A missing method means `plain` (RFC 7636, section 4.3), which is
 * refused like every method but S256: a reader of the request could redeem the code.
 * @throws OAuthError `invalid_request`.
 */
export function requireChallenge(parameters: Parameters): string {
  const challenge = parameters.get('code_challenge');
  if (challenge === undefined)
    throw new OAuthError('invalid_request', 'PKCE is required: send code_challenge (RFC 7636).');
  if (parameters.get('code_challenge_method') !== 'S256')
    throw new OAuthError('invalid_request', 'code_challenge_method must be S256.');
  if (!CHALLENGE.test(challenge))
    throw new OAuthError('invalid_request', 'code_challenge must be 43 characters of base64url.');
  return challenge;
}
