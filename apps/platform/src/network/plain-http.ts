/**
 * Plain HTTP below a public address that is https. No page and no cookie is answered in the clear: a read is redirected,
 * the rest is refused. Answers over TLS tell browsers to stay there (HSTS, RFC 6797).
 */
import { PlatformError } from '@freehold/contracts';
import { refusal } from '@freehold/contracts/http';
import { CHALLENGE_PATH } from '@freehold/directory';
import { LOCAL, type Seen } from './proxies.ts';

/** A year. Names below are left out: a customer's name may have neighbours that are not served here. */
export const HSTS = 'max-age=31536000';

/** These are asked over plain HTTP by design: by balancers, by verticals on a private network, by the host name check. */
const EXEMPT = new RegExp(
  `^(?:/healthz$|/readyz$|/internal(?:/|$)|${CHALLENGE_PATH.replaceAll('.', '\\.')})`,
);

export interface PlainHttpOptions {
  /** The public address; null or http for one that is reached without TLS. */
  readonly publicUrl: URL | null;
  /** The origin of a host name as browsers show it. */
  readonly originOf: (hostname: string) => string;
  /** Receives one sentence for each proxy that hides whether its callers used TLS, once for each. */
  readonly onHidden: (peer: string, sentence: string) => void;
}

export interface PlainHttp {
  /** The answer to a request that came in the clear; null for one to be served. */
  answer(seen: Seen, peer: string | undefined): Response | null;
  /** Whether the answer to a request carries HSTS. Never over plain HTTP (RFC 6797, section 7.2). */
  isStrict(seen: Seen): boolean;
}

/** The number of proxies that are reported: any sender can look like one. */
const REPORTED_MAX = 20;

/** Null where the public address is not https. */
export function makePlainHttp({ publicUrl, originOf, onHidden }: PlainHttpOptions): PlainHttp | null {
  if (publicUrl?.protocol !== 'https:') return null;
  const reported = new Set<string>();
  const isOurs = (hostname: string): boolean =>
    !LOCAL.test(hostname) || hostname === publicUrl.hostname || hostname.endsWith(`.${publicUrl.hostname}`);

  return {
    isStrict: ({ isSecure }) => isSecure !== false,
    answer: ({ request, isSecure, hidden }, connected) => {
      // The form that FREEHOLD_TRUSTED_PROXIES is written in.
      const peer = connected?.replace(/^::ffff:/i, '');
      if (hidden !== null && peer !== undefined && reported.size < REPORTED_MAX && !reported.has(peer)) {
        reported.add(peer);
        onHidden(peer, sentenceOf(hidden, peer));
      }
      // Redirecting a browser that is on https already would send it in a circle, and lock everybody out.
      if (isSecure !== false) return null;
      const { hostname, pathname, search } = new URL(request.url);
      if (EXEMPT.test(pathname) || !isOurs(hostname)) return null;
      const location = `${originOf(hostname)}${pathname}${search}`;
      if (request.method === 'GET' || request.method === 'HEAD')
        return new Response(null, { status: 308, headers: { location, 'cache-control': 'no-store' } });
      return refusal(request.headers, refused(originOf(hostname)));
    },
  };
}

function sentenceOf(hidden: NonNullable<Seen['hidden']>, peer: string): string {
  const fault = {
    not_trusted: `is not in FREEHOLD_TRUSTED_PROXIES: add it if it is your proxy`,
    not_said:
      'does not say in X-Forwarded-Proto how its callers came: have it write that header, or pass on the one of the proxy before it',
  }[hidden];
  return `The proxy at ${peer} ${fault}. Until then plain HTTP through it is not redirected to https.`;
}

function refused(origin: string): PlatformError {
  return new PlatformError(
    'forbidden',
    `This came over plain HTTP. Send it to ${origin}; a proxy that ends TLS writes X-Forwarded-Proto and is named in FREEHOLD_TRUSTED_PROXIES.`,
    { reason: 'https_required' },
  );
}
