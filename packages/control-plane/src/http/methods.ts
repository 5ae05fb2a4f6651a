/** What an address answers to a method that it does not take. */
import { PlatformError } from '@freehold/contracts';
import { COMMON_HEADERS } from './answer.ts';

/**
 * 204 with `Allow` to OPTIONS (no CORS headers: no other origin is let in), and for everything else the refusal.
 * @param methods what the address takes; HEAD comes with GET, and OPTIONS with everything.
 * @throws PlatformError `method_not_allowed` with `Allow` (RFC 9110, section 15.5.6).
 */
export function refuseMethod(method: string, methods: readonly string[]): Response {
  const allow = [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ');
  if (method === 'OPTIONS') return new Response(null, { status: 204, headers: { ...COMMON_HEADERS, allow } });
  throw new PlatformError('method_not_allowed', `This address takes ${allow}.`, { headers: { allow } });
}
