/** Issuer identifiers: their form, and the equality of two of them (OpenID Connect Discovery, section 2). */
import { PlatformError } from '@freehold/contracts';

export interface Issuer {
  /** The given spelling: tokens are compared with it byte by byte. */
  readonly issuer: string;
  /** One spelling for all identifiers of the same place, so that no tenant takes another's by spelling it differently. */
  readonly issuerKey: string;
}

/**
 * Parses an issuer.
 * @throws PlatformError `validation_failed`, with the reason.
 */
export function parseIssuer(issuer: string): Issuer {
  // The URL parser accepts white space and control characters; an issuer has none.
  if (!/^[!-~]+$/.test(issuer)) throw invalid('must hold no white space and nothing beyond ASCII');
  const url = URL.parse(issuer);
  if (!url) throw invalid('must be a web address: https://login.example.com');
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url.hostname)))
    throw invalid('must begin with https://; http:// is for localhost alone');
  if (url.username !== '' || url.password !== '') throw invalid('must name no user and no password');
  if (issuer.includes('?') || issuer.includes('#')) throw invalid('must have no query and no fragment');
  return { issuer, issuerKey: `${url.origin}${url.pathname.replace(/\/+$/, '')}` };
}

/** A development issuer runs on the developer's machine. */
function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '127.0.0.1' ||
    hostname === '[::1]'
  );
}

function invalid(message: string): PlatformError {
  return new PlatformError('validation_failed', `The body is not valid. issuer: ${message}.`, {
    reason: 'issuer_invalid',
    errors: [{ path: 'issuer', message }],
  });
}
