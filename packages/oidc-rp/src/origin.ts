/** Decides the application's origin as its users see it. */
import type { OidcEnv } from './env.ts';

/** The settings that decide an origin. */
export interface OriginRules {
  readonly env: Pick<OidcEnv, 'baseUrl'>;
  /** Whether `X-Forwarded-Proto` and `X-Forwarded-Host` are trusted. Only behind a proxy that overwrites both. */
  readonly trustForwarded: boolean;
}

/**
 * Returns BASE_URL's origin; else, if forwarded headers are trusted, theirs; else the request's own. A forwarded
 * header that is not exactly one well-formed value is ignored, since its extra values are of unknown origin.
 */
export function resolveOrigin(rules: OriginRules, request: { url: string; headers: Headers }): string {
  if (rules.env.baseUrl !== undefined) return rules.env.baseUrl;
  const own = new URL(request.url);
  if (!rules.trustForwarded) return own.origin;

  const scheme = request.headers.get('x-forwarded-proto') ?? own.protocol.slice(0, -1);
  const host = request.headers.get('x-forwarded-host') ?? own.host;
  if ((scheme !== 'https' && scheme !== 'http') || !/^[a-z0-9.:[\]-]+$/i.test(host)) return own.origin;
  const candidate = `${scheme}://${host}`;
  return URL.canParse(candidate) ? new URL(candidate).origin : own.origin;
}
