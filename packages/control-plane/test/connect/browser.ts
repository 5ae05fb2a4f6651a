/** A browser for tests: fetch with a cookie jar that honours hosts, paths and expiry, and that follows redirects. */

interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly host: string;
  readonly path: string;
}

/** Where a host is reached: a handler in this process, or undefined for the network. */
export type Hosts = Readonly<Record<string, (request: Request) => Promise<Response>>>;

export interface Visit {
  readonly url: URL;
  readonly response: Response;
}

export interface Browser {
  /** Goes there, and on to wherever it is sent, until a page or a host of `stops`. */
  go(url: string | URL, init?: RequestInit): Promise<Visit>;
  /** Everything that was received: addresses, headers and bodies. */
  readonly received: string[];
}

export function makeBrowser(hosts: Hosts, stops: readonly string[]): Browser {
  let jar: Cookie[] = [];
  const received: string[] = [];

  const keep = (url: URL, line: string): void => {
    const [pair = '', ...attributes] = line.split(';').map((part) => part.trim());
    const equals = pair.indexOf('=');
    const attribute = (name: string) =>
      attributes.find((each) => each.toLowerCase().startsWith(`${name}=`))?.slice(name.length + 1);
    const expires = attribute('expires');
    const isOver =
      attribute('max-age') === '0' || (expires !== undefined && new Date(expires).getTime() === 0);
    const cookie = { name: pair.slice(0, equals), host: url.host, path: attribute('path') ?? '/' };
    jar = jar.filter(
      ({ name, host, path }) => name !== cookie.name || host !== cookie.host || path !== cookie.path,
    );
    if (!isOver) jar.push({ ...cookie, value: pair.slice(equals + 1) });
  };

  const send = async (url: URL, init: RequestInit): Promise<Response> => {
    const headers = new Headers(init.headers);
    const sent = jar.filter(({ host, path }) => host === url.host && url.pathname.startsWith(path));
    if (sent.length > 0) headers.set('cookie', sent.map(({ name, value }) => `${name}=${value}`).join('; '));
    headers.set('accept', 'text/html');
    const request = { ...init, headers, redirect: 'manual' } as const;
    const response = await (hosts[url.host]?.(new Request(url, request)) ?? fetch(url, request));
    for (const line of response.headers.getSetCookie()) keep(url, line);
    const body = await response.text();
    received.push(JSON.stringify([url.href, [...response.headers], body]));
    return new Response([204, 303, 304].includes(response.status) ? null : body, response);
  };

  const go: Browser['go'] = async (to, init = {}) => {
    const url = new URL(to);
    if (stops.includes(url.host)) return { url, response: new Response(null) };
    const response = await send(url, init);
    const location = response.headers.get('location');
    return location === null ? { url, response } : go(new URL(location, url));
  };
  return { go, received };
}
