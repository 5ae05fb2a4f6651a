/** The refusals of sign-in, each a problem document (RFC 9457). */
import type { AuthConfigError } from '@freehold/auth';
import { PlatformError, problemDocument, toProblem } from '@freehold/contracts';
import { HTTPException } from 'hono/http-exception';

/** Returns 401 with the address of the sign-in beside the problem. A page decides itself whether to go there. */
export function signInRequired(): HTTPException {
  const error = new PlatformError('unauthenticated', 'Sign in first.');
  const { headers } = problemDocument(error);
  const body = { ...toProblem(error), loginUrl: '/api/auth/login?returnTo=%2F' };
  const res = new Response(JSON.stringify(body), { status: 401, headers });
  return new HTTPException(401, { message: error.message, res });
}

/** Returns 403 for a person who is signed in and is no member. */
export function notAMember(): PlatformError {
  return new PlatformError(
    'forbidden',
    'You are signed in, but you are not a member here. Ask the owner for an invite.',
    { reason: 'not_a_member' },
  );
}

/** Returns 503 or 500 with the explanation of the configuration error. */
export function signInNotConfigured(error: AuthConfigError): HTTPException {
  const code = error.status === 503 ? 'unavailable' : 'internal';
  const problem = new PlatformError(code, error.message, { reason: 'sign_in_not_configured' });
  return new HTTPException(error.status, {
    message: error.message,
    res: problemDocument(problem),
    cause: error,
  });
}
