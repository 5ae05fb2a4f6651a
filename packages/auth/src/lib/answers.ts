/** What every answer about signing in has, whoever made it. */
import { type PlatformError, problemDocument } from '@freehold/contracts';

/** The same answer, sniffed by no browser and, unless it says how, kept by no cache. */
export function withCare(response: Response): Response {
  // A copy: the headers of a response that came from elsewhere may be read-only.
  const answer = new Response(response.body, response);
  answer.headers.set('x-content-type-options', 'nosniff');
  if (!answer.headers.has('cache-control')) answer.headers.set('cache-control', 'no-store');
  return answer;
}

/**
 * A refusal as a problem document. It challenges for a bearer token (RFC 6750, section 3) only if the error does so
 * itself: where a cookie is what signs somebody in, a client that goes and gets a token would not be let in with it.
 */
export function problemAnswer(error: PlatformError): Response {
  const response = withCare(problemDocument(error));
  const challenge = error.headers?.['www-authenticate'];
  if (challenge === undefined) response.headers.delete('www-authenticate');
  return response;
}
