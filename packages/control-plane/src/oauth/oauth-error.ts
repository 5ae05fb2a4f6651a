/** What OAuth endpoints refuse with: the closed codes of the RFCs, and a sentence of ours for the program's developer. */
import type { PlatformError } from '@freehold/contracts';
import { COMMON_HEADERS } from '../http/answer.ts';

export type OAuthErrorCode =
  // RFC 6749, sections 4.1.2.1 and 5.2
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'access_denied'
  | 'temporarily_unavailable'
  // RFC 8707, section 2
  | 'invalid_target'
  // RFC 8628, section 3.5
  | 'authorization_pending'
  | 'slow_down'
  | 'expired_token';

/** A refusal. The message holds nothing that the caller sent. */
export class OAuthError extends Error {
  override readonly name = 'OAuthError';
  readonly code: OAuthErrorCode;

  constructor(code: OAuthErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** RFC 6749, section 5.1: nothing of a token endpoint is ever stored. */
export const TOKEN_HEADERS = { ...COMMON_HEADERS, pragma: 'no-cache' } as const;

/** The JSON of RFC 6749, section 5.2. Anything that is no refusal of ours is thrown on. */
export function oauthErrorResponse(error: unknown): Response {
  if (!(error instanceof OAuthError)) throw error;
  const headers = new Headers(TOKEN_HEADERS);
  if (error.code === 'invalid_client') headers.set('www-authenticate', 'Basic realm="oauth"');
  if (error.code === 'temporarily_unavailable') headers.set('retry-after', '60');
  const status = { invalid_client: 401, temporarily_unavailable: 503 }[error.code as string] ?? 400;
  return Response.json({ error: error.code, error_description: error.message }, { status, headers });
}

/**
 * A 429 for a program at the endpoints that it reads errors of, which are those of RFC 6749, section 5.2. One that waits
 * for a device code slows down (RFC 8628, section 3.5), and every other is told to come again.
 * @returns null at every other address.
 */
export function programRefusal(path: string, error: PlatformError): Response | null {
  const code = PROGRAM_CODES.get(path);
  if (code === undefined) return null;
  return Response.json(
    { error: code, error_description: error.message },
    { status: error.status, headers: { ...TOKEN_HEADERS, ...error.headers } },
  );
}

const PROGRAM_CODES: ReadonlyMap<string, OAuthErrorCode> = new Map([
  ['/oauth/token', 'slow_down'],
  ['/oauth/device_authorization', 'temporarily_unavailable'],
  ['/oauth/revoke', 'temporarily_unavailable'],
]);
