/** The way back from a consent round: which addresses are taken, and what is written on them (spec 4.7 and 7.6). */
import { PlatformError } from '@freehold/contracts';
import { isLoopbackHost } from './provider-schema.ts';

/**
 * Judges an address by its form. Whether its host name is one of the scope's is the directory's to say.
 * @param originOf where a host name of the platform is reached.
 * @throws PlatformError `validation_failed`, reason `return_url_invalid`, `return_url_not_https` or `return_url_unbound`.
 */
export function parseReturnUrl(text: string, originOf: (hostname: string) => string): URL {
  const url = URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '')
    throw refused('return_url_invalid', 'must be an absolute URL without credentials');
  const isOwnOrigin = url.origin === originOf(url.hostname);
  // While developing, everything under localhost is served over plain http.
  const isDevelopment = url.protocol === 'http:' && isLoopbackHost(url.hostname);
  if (url.protocol !== 'https:' && !isDevelopment)
    throw refused('return_url_not_https', 'must be an https URL');
  // Another port of the same host is another server's.
  const isDefaultPort = url.protocol === 'https:' && url.port === '';
  if (!isOwnOrigin && !isDefaultPort)
    throw refused('return_url_unbound', 'must be where the platform serves this scope');
  return url;
}

/** What the application is told, in the query of its address. */
export type RoundResult = { readonly connection: string } | { readonly error: ConsentError };

/** Why a consent round came to nothing. A closed list, and never the provider's own words. */
export type ConsentError =
  /** The person said no. */
  | 'consent_denied'
  /** The provider said no: to the request, or to redeeming what it gave. */
  | 'provider_refused'
  | 'provider_unavailable'
  /** The provider answered something that is not of the protocol. */
  | 'provider_answer'
  /** The answer came from another provider than was asked (RFC 9207). */
  | 'issuer_mismatch'
  /** The answer came too late. */
  | 'expired'
  /** Another scope of this tenant has this account. */
  | 'account_connected'
  /** The platform could not keep the credential. */
  | 'unavailable';

const OURS = ['connection', 'subjectRef', 'error'];

/** The address to send the browser to. What the application had written there under our names is replaced. */
export function wayBack(returnUrl: string, subjectRef: string, result: RoundResult): string {
  const url = new URL(returnUrl);
  for (const name of OURS) url.searchParams.delete(name);
  for (const [name, value] of Object.entries({ ...result, subjectRef })) url.searchParams.set(name, value);
  return url.href;
}

function refused(reason: string, message: string): PlatformError {
  return new PlatformError('validation_failed', `The body is not valid. returnUrl: ${message}.`, {
    reason,
    errors: [{ path: 'returnUrl', message }],
  });
}
