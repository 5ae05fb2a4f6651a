/** The relying party's configuration (spec 2.4), parsed and checked once. */
import { OidcConfigError } from './lib/errors.ts';

/** A parsed configuration. Made by `parseOidcEnv`; checked again by `makeRelyingParty` when made by hand. */
export interface OidcEnv {
  /** Issuer identifier, compared character for character with the issuer's own. */
  readonly issuer: string;
  readonly clientId: string;
  /** Absent for a public client, which authenticates by PKCE alone. */
  readonly clientSecret?: string;
  /** At least one, each of at least 32 bytes. The first signs, all verify. */
  readonly sessionSecrets: readonly string[];
  /** An origin, without path. Forces the redirect origin; else the request's own origin is used. */
  readonly baseUrl?: string;
  /** Allows `http:` issuers and endpoints that are not on the loopback interface. Default false. */
  readonly allowInsecureIssuer?: boolean;
}

/** RFC 7518 section 3.2: an HS256 key is at least as long as the hash, 32 bytes. */
const SECRET_BYTES_MIN = 32;

/**
 * Reads OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET (absent: public client), SESSION_SECRET (one string, several
 * separated by commas, or a list) and BASE_URL (optional) from a record such as `process.env` or a worker's bindings.
 * Throws `OidcConfigError`, which names the variable.
 */
export function parseOidcEnv(
  record: Readonly<Record<string, unknown>>,
  options: { readonly allowInsecureIssuer?: boolean } = {},
): OidcEnv {
  const clientSecret = optionalText(record, 'OIDC_CLIENT_SECRET');
  const baseUrl = optionalText(record, 'BASE_URL');
  return checkOidcEnv({
    issuer: requiredText(record, 'OIDC_ISSUER'),
    clientId: requiredText(record, 'OIDC_CLIENT_ID'),
    ...(clientSecret === undefined ? {} : { clientSecret }),
    sessionSecrets: parseSecrets(record.SESSION_SECRET),
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(options.allowInsecureIssuer === true ? { allowInsecureIssuer: true } : {}),
  });
}

/** Returns the configuration with `baseUrl` reduced to its origin. @throws OidcConfigError. */
export function checkOidcEnv(env: OidcEnv): OidcEnv {
  checkIssuer(env);
  if (env.clientId === '') throw new OidcConfigError('OIDC_CLIENT_ID', 'OIDC_CLIENT_ID must not be empty.');
  if (env.clientSecret === '') {
    throw new OidcConfigError(
      'OIDC_CLIENT_SECRET',
      'OIDC_CLIENT_SECRET must not be empty; leave it out for a public client.',
    );
  }
  checkSecrets(env.sessionSecrets);
  return env.baseUrl === undefined ? env : { ...env, baseUrl: parseBaseUrl(env.baseUrl) };
}

/** Whether a host name always means this machine (RFC 8252 section 8.3, RFC 6761 section 6.3). */
export function isLoopbackHost(hostname: string): boolean {
  const host = hostname.toLowerCase();
  return (
    host === 'localhost' ||
    host.endsWith('.localhost') ||
    host === '[::1]' ||
    /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host)
  );
}

/** Whether a URL is safe to send secrets to: https, or http that does not leave this machine. */
export function isConfidentialUrl(url: URL): boolean {
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackHost(url.hostname));
}

function checkIssuer(env: OidcEnv): void {
  const url = URL.canParse(env.issuer) ? new URL(env.issuer) : null;
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new OidcConfigError('OIDC_ISSUER', 'OIDC_ISSUER must be an absolute https URL.');
  }
  if (url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '') {
    throw new OidcConfigError(
      'OIDC_ISSUER',
      'OIDC_ISSUER must have no query, no fragment and no credentials (OpenID Connect Discovery section 3).',
    );
  }
  if (!isConfidentialUrl(url) && env.allowInsecureIssuer !== true) {
    throw new OidcConfigError(
      'OIDC_ISSUER',
      'OIDC_ISSUER must use https; plain http is accepted only on the loopback interface or with allowInsecureIssuer.',
    );
  }
}

function parseSecrets(value: unknown): readonly string[] {
  if (typeof value === 'string') {
    return value
      .split(',')
      .map((secret) => secret.trim())
      .filter((secret) => secret !== '');
  }
  if (Array.isArray(value) && value.every((secret) => typeof secret === 'string')) return value;
  return [];
}

function checkSecrets(secrets: readonly string[]): void {
  if (secrets.length === 0) {
    throw new OidcConfigError(
      'SESSION_SECRET',
      'SESSION_SECRET must be set: a random string of at least 32 bytes, or several separated by commas.',
    );
  }
  const encoder = new TextEncoder();
  if (secrets.some((secret) => encoder.encode(secret).byteLength < SECRET_BYTES_MIN)) {
    throw new OidcConfigError(
      'SESSION_SECRET',
      `SESSION_SECRET must hold at least ${SECRET_BYTES_MIN} bytes in each of its secrets.`,
    );
  }
}

function parseBaseUrl(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : null;
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new OidcConfigError('BASE_URL', 'BASE_URL must be an absolute http or https URL.');
  }
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '' || url.username !== '') {
    throw new OidcConfigError(
      'BASE_URL',
      'BASE_URL must be an origin such as https://app.example, without path or query.',
    );
  }
  return url.origin;
}

function requiredText(record: Readonly<Record<string, unknown>>, variable: string): string {
  const value = optionalText(record, variable);
  if (value === undefined) throw new OidcConfigError(variable, `${variable} must be set.`);
  return value;
}

/** An empty variable counts as absent: deployment files write "not set" so. */
function optionalText(record: Readonly<Record<string, unknown>>, variable: string): string | undefined {
  const value = record[variable];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string') throw new OidcConfigError(variable, `${variable} must be a string.`);
  return value;
}
