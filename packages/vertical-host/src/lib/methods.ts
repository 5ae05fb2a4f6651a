/** What an address answers to a method that it does not have (RFC 9110, sections 9.3.7 and 15.5.6). */
import { PlatformError } from '@freehold/contracts';

/** Answers OPTIONS with 204, and throws `method_not_allowed` for anything else; both name what is allowed. */
export function answerOtherMethod(method: string, declared: Iterable<string>): Response {
  const allow = allowOf(declared);
  if (method === 'OPTIONS') return new Response(null, { status: 204, headers: { allow } });
  throw new PlatformError('method_not_allowed', `This address takes ${allow}.`, { headers: { allow } });
}

/** The value of `Allow`. HEAD comes with every GET, and OPTIONS is answered everywhere. */
function allowOf(declared: Iterable<string>): string {
  const methods = new Set(declared);
  if (methods.has('GET')) methods.add('HEAD');
  methods.add('OPTIONS');
  return [...methods].sort().join(', ');
}
