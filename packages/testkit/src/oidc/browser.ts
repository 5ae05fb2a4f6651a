/**
 * A browser for tests: stores and sends cookies by name, path, domain, Secure and age, and knows which sites are
 * the same.
 */

interface StoredCookie {
  readonly name: string;
  readonly value: string;
  readonly path: string;
  readonly domain: string | undefined;
  readonly secure: boolean;
  readonly strict: boolean;
  readonly expiresAtMs: number;
}

export interface Browser {
  /**
   * Returns a request with the cookies that a browser would send. `crossSite`: the user followed another site's
   * link.
   */
  request(url: string, options?: { crossSite?: boolean; headers?: Record<string, string> }): Request;
  /** Stores the `Set-Cookie` headers of a response to a request for a URL. */
  store(url: string, response: { headers: Headers }): void;
  /** The values stored under a name, whatever their path. */
  values(name: string): readonly string[];
  /** Plants a cookie, as a sibling subdomain could. */
  plant(cookie: { name: string; value: string; path?: string }): void;
}

export function makeBrowser(now: () => number): Browser {
  let cookies: StoredCookie[] = [];

  return {
    request(url, { crossSite = false, headers = {} } = {}) {
      const target = new URL(url);
      const sent = cookies.filter(
        (cookie) =>
          now() < cookie.expiresAtMs &&
          isUnder(target.pathname, cookie.path) &&
          (!cookie.secure || target.protocol === 'https:') &&
          !(crossSite && cookie.strict),
      );
      const all = new Headers(headers);
      if (sent.length > 0) all.set('cookie', sent.map(({ name, value }) => `${name}=${value}`).join('; '));
      return new Request(url, { headers: all });
    },
    store(url, response) {
      for (const line of response.headers.getSetCookie()) {
        const cookie = parse(line, now());
        if (cookie.secure && !url.startsWith('https:')) continue;
        cookies = cookies.filter(
          (held) => held.name !== cookie.name || held.path !== cookie.path || held.domain !== cookie.domain,
        );
        if (cookie.expiresAtMs > now()) cookies.push(cookie);
      }
    },
    values: (name) =>
      cookies
        .filter((cookie) => cookie.name === name && now() < cookie.expiresAtMs)
        .map(({ value }) => value),
    plant({ name, value, path = '/' }) {
      cookies.unshift({
        name,
        value,
        path,
        domain: 'planted.example',
        secure: false,
        strict: false,
        expiresAtMs: Number.POSITIVE_INFINITY,
      });
    },
  };
}

function isUnder(path: string, cookiePath: string): boolean {
  return path === cookiePath || path.startsWith(cookiePath.endsWith('/') ? cookiePath : `${cookiePath}/`);
}

function parse(line: string, nowMs: number): StoredCookie {
  const [pair = '', ...attributes] = line.split('; ');
  const read = (name: string): string | undefined =>
    attributes.find((attribute) => attribute.startsWith(`${name}=`))?.slice(name.length + 1);
  return {
    name: pair.slice(0, pair.indexOf('=')),
    value: pair.slice(pair.indexOf('=') + 1),
    path: read('Path') ?? '/',
    domain: read('Domain'),
    secure: attributes.includes('Secure'),
    strict: read('SameSite') === 'Strict',
    expiresAtMs: nowMs + Number(read('Max-Age') ?? '0') * 1000,
  };
}
