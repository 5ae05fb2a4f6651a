/** The errors of an authorization server, with the codes that the RFCs register. */

/** RFC 6749, sections 4.1.2.1 and 5.2; RFC 8707, section 2; RFC 7591, section 3.2.2; RFC 8628, section 3.5. */
export type OAuthErrorCode =
  | 'access_denied'
  | 'authorization_pending'
  | 'expired_token'
  | 'invalid_client'
  | 'invalid_client_metadata'
  | 'invalid_grant'
  | 'invalid_redirect_uri'
  | 'invalid_request'
  | 'invalid_target'
  | 'slow_down'
  | 'temporarily_unavailable'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'unsupported_token_type';

/** A refusal that the program is told. Its description is for the developer of the program, and holds no secret. */
export class OAuthError extends Error {
  override readonly name = 'OAuthError';
  readonly code: OAuthErrorCode;

  constructor(code: OAuthErrorCode, description: string, options?: { readonly cause?: unknown }) {
    super(description, options);
    this.code = code;
  }
}

/** RFC 6749, section 5.2: 401 for a client that did not prove itself, 400 for everything else. */
const STATUS: Partial<Record<OAuthErrorCode, number>> = {
  invalid_client: 401,
  temporarily_unavailable: 503,
  slow_down: 429,
};

/** Returns an error as the token, registration and revocation endpoints answer it (RFC 6749, section 5.2). */
export function oauthErrorAnswer(error: OAuthError, hadBasic = false): Response {
  const status = STATUS[error.code] ?? 400;
  return Response.json(
    { error: error.code, error_description: describable(error.message) },
    {
      status,
      headers: {
        ...(status === 401 && hadBasic ? { 'www-authenticate': 'Basic realm="token"' } : {}),
        ...(status === 429 || status === 503 ? { 'retry-after': '5' } : {}),
      },
    },
  );
}

/** Returns a text with the characters that an `error_description` may hold (RFC 6749, section 5.2). */
export function describable(text: string): string {
  return text
    .replaceAll('"', "'")
    .replaceAll('\\', '/')
    .replace(/[^\x20-\x7e]/gu, '?');
}
