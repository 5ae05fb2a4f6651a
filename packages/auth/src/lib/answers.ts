/** Headers and problem documents that all answers about signing in share. */
import { type PlatformError, problemDocument } from '@freehold/contracts';

/** Returns the same answer with `nosniff` and, unless it says otherwise, `no-store`. */
export function withCare(response: Response): Response {
  // A copy: the headers of a response that came from elsewhere may be read-only.
  const answer = new Response(response.body, response);
  answer.headers.set('x-content-type-options', 'nosniff');
  if (!answer.headers.has('cache-control')) answer.headers.set('cache-control', 'no-store');
  return answer;
}

/**
 * Returns a refusal as a problem document. It challenges for a bearer token (RFC 6750, section 3) only if the error
 * itself does: where a cookie signs a user in, a client would fetch a token in vain.
 */
export function problemAnswer(error: PlatformError): Response {
  const response = withCare(problemDocument(error));
  if (error.headers?.['www-authenticate'] === undefined) response.headers.delete('www-authenticate');
  return response;
}
