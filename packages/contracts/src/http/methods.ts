/** What an address answers to a method that it does not take (RFC 9110, sections 9.3.7 and 15.5.6). */
import { PlatformError } from '../problems.ts';

/**
 * Answers OPTIONS with 204 (no CORS headers: no other origin is let in) and refuses every other method. Both name
 * what the address takes: HEAD comes with GET, and OPTIONS with everything.
 * @throws PlatformError `method_not_allowed`, with `Allow`.
 */
export function answerOtherMethod(method: string, declared: Iterable<string>): Response {
  const methods = new Set(declared).add('OPTIONS');
  if (methods.has('GET')) methods.add('HEAD');
  const allow = [...methods].sort().join(', ');
  if (method === 'OPTIONS') return new Response(null, { status: 204, headers: { allow } });
  throw new PlatformError('method_not_allowed', `This address takes ${allow}.`, { headers: { allow } });
}
