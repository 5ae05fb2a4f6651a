/** A browser that posts forms and JSON as browsers do, with the headers that say which page made the request. */
import { type Browser, makeBrowser } from './browser.ts';

export interface FormBrowser extends Browser {
  /** Sends a form from a page of the same origin. */
  post(address: string, fields?: Record<string, string>, headers?: Record<string, string>): Promise<Response>;
  /** Sends a request as our script does, and reads the answer. */
  ask(
    address: string,
    body: unknown,
    headers?: Record<string, string>,
  ): Promise<{ status: number; body: Record<string, unknown> }>;
}

/** The headers that a browser adds to a request of a page of the origin. */
export function ownPage(origin: string): Record<string, string> {
  return { origin, 'sec-fetch-site': 'same-origin' };
}

export function makeFormBrowser(
  origin: string,
  handle: (request: Request) => Promise<Response>,
): FormBrowser {
  let sent: RequestInit | undefined;
  const jar = makeBrowser(origin, (request) => handle(sent ? new Request(request, sent) : request));

  const send = async (address: string, body: string, headers: Record<string, string>): Promise<Response> => {
    sent = { method: 'POST', body };
    try {
      return await jar.get(address, headers);
    } finally {
      sent = undefined;
    }
  };

  return {
    ...jar,
    get: (address, headers = {}) => jar.get(address, { accept: 'text/html', ...headers }),
    post: (address, fields = {}, headers = {}) =>
      send(address, new URLSearchParams(fields).toString(), {
        accept: 'text/html',
        'content-type': 'application/x-www-form-urlencoded',
        ...ownPage(origin),
        ...headers,
      }),
    ask: async (address, body, headers = {}) => {
      const response = await send(address, JSON.stringify(body), {
        accept: 'application/json',
        'content-type': 'application/json',
        ...ownPage(origin),
        ...headers,
      });
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    },
  };
}
