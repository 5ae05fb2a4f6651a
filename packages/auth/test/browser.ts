/** A browser as far as sign-in needs one: it stores cookies by name and path, and follows no redirect by itself. */

interface StoredCookie {
  readonly value: string;
  readonly path: string;
  /** Every attribute, lower case. */
  readonly attributes: readonly string[];
}

export interface Browser {
  readonly origin: string;
  readonly cookies: Map<string, StoredCookie>;
  /** Sends a request, and stores the cookies of the answer. The address may be a path or a whole URL on the origin. */
  get(address: string, headers?: Record<string, string>): Promise<Response>;
  /** The cookies that the browser would send to a path. */
  headersFor(path: string): Headers;
}

export function makeBrowser(origin: string, handle: (request: Request) => Promise<Response>): Browser {
  const cookies = new Map<string, StoredCookie>();

  const headersFor = (path: string): Headers => {
    const sent = [...cookies].filter(([, cookie]) => path.startsWith(cookie.path));
    const header = sent.map(([name, cookie]) => `${name}=${cookie.value}`).join('; ');
    return new Headers(header === '' ? {} : { cookie: header });
  };

  return {
    origin,
    cookies,
    headersFor,
    get: async (address, more = {}) => {
      const url = new URL(address, origin);
      const headers = headersFor(url.pathname);
      for (const [name, value] of Object.entries(more)) headers.set(name, value);
      const response = await handle(new Request(url, { headers }));
      for (const line of response.headers.getSetCookie()) keep(cookies, line);
      return response;
    },
  };
}

function keep(cookies: Map<string, StoredCookie>, line: string): void {
  const [pair = '', ...rest] = line.split(';').map((part) => part.trim());
  const attributes = rest.map((attribute) => attribute.toLowerCase());
  const name = pair.slice(0, pair.indexOf('='));
  const value = pair.slice(pair.indexOf('=') + 1);
  if (attributes.includes('max-age=0')) cookies.delete(name);
  else cookies.set(name, { value, path: attribute(rest, 'Path') ?? '/', attributes });
}

function attribute(attributes: readonly string[], name: string): string | undefined {
  return attributes.find((each) => each.startsWith(`${name}=`))?.slice(name.length + 1);
}
