/** An HTTP client for tests: any host name on the loopback address, cookies by host, no automatic redirects. */
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  json<T = unknown>(): T;
}

export interface Ask {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as a form. */
  readonly form?: Readonly<Record<string, string>>;
}

const KEPT_MS = 2_000;

function headersOf({ headers }: IncomingMessage): Headers {
  return new Headers(
    Object.entries(headers).flatMap(([name, value]) =>
      [value ?? []].flat().map((one) => [name, one] as [string, string]),
    ),
  );
}

/** One browser-like caller. */
export class Caller implements Disposable {
  // A kept connection ends before the server's five seconds are over, or a request can meet its end.
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64, timeout: KEPT_MS });
  readonly #cookies = new Map<
    string,
    Map<string, { value: string; path: string; domain: string | undefined }>
  >();

  /** Requests an `http://` URL whose host may be any `*.localhost`; the connection goes to 127.0.0.1. */
  async ask(url: string, ask: Ask = {}): Promise<Answer> {
    const response = await this.#send(url, ask);
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString('utf8');
    return {
      status: response.statusCode ?? 0,
      headers: headersOf(response),
      text,
      json: <T>() => JSON.parse(text) as T,
    };
  }

  /** The same, with a body that comes as it is sent. */
  async open(url: string, ask: Ask = {}): Promise<Response> {
    const response = await this.#send(url, ask);
    const { statusCode: status = 0 } = response;
    const hasBody = ![202, 204, 304].includes(status);
    if (!hasBody) response.resume();
    const body = hasBody ? (Readable.toWeb(response) as ReadableStream<Uint8Array>) : null;
    return new Response(body, { status, headers: headersOf(response) });
  }

  #send(url: string, ask: Ask): Promise<IncomingMessage> {
    const target = new URL(url);
    const body =
      ask.json !== undefined
        ? JSON.stringify(ask.json)
        : ask.form
          ? new URLSearchParams(ask.form).toString()
          : undefined;
    const headers: Record<string, string> = {
      host: target.host,
      ...(ask.json !== undefined ? { 'content-type': 'application/json' } : {}),
      ...(ask.form ? { 'content-type': 'application/x-www-form-urlencoded' } : {}),
      ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
      ...ask.headers,
    };
    const cookies = this.#cookieHeader(target);
    if (cookies) headers.cookie = cookies;
    return new Promise((resolve, reject) => {
      const request = httpRequest(
        {
          agent: this.#agent,
          host: '127.0.0.1',
          port: target.port,
          method: ask.method ?? (body === undefined ? 'GET' : 'POST'),
          path: target.pathname + target.search,
          headers,
        },
        (response) => {
          this.#remember(target, response.headers['set-cookie'] ?? []);
          resolve(response);
        },
      );
      request.on('error', reject);
      request.end(body);
    });
  }

  /** A stored cookie of a host name, with the Domain it was set for. It is sent to its own host alone. */
  cookie(hostname: string, name: string) {
    return this.#cookies.get(hostname)?.get(name);
  }

  /** Sends a request and follows redirects by GET to the last answer. */
  async navigate(url: string, ask: Ask = {}): Promise<{ url: string; answer: Answer }> {
    let at = url;
    let answer = await this.ask(at, { ...ask, headers: { accept: 'text/html', ...ask.headers } });
    for (let hops = 0; answer.status >= 300 && answer.status < 400; hops++) {
      if (hops > 20) throw new Error(`too many redirects, at ${at}`);
      at = new URL(answer.headers.get('location') ?? '', at).href;
      answer = await this.ask(at, { headers: { accept: 'text/html' } });
    }
    return { url: at, answer };
  }

  /** Returns the cookies that this caller would send to the root of an origin, as one header. */
  cookieHeader(origin: string): string {
    return this.#cookieHeader(new URL(origin));
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  #cookieHeader(url: URL): string {
    const jar = this.#cookies.get(url.hostname);
    return [...(jar ?? [])]
      .filter(([, { path }]) => url.pathname.startsWith(path))
      .map(([name, { value }]) => `${name}=${value}`)
      .join('; ');
  }

  #remember(url: URL, lines: readonly string[]): void {
    const jar = this.#cookies.get(url.hostname) ?? new Map();
    this.#cookies.set(url.hostname, jar);
    for (const line of lines) {
      const [pair, ...attributes] = line.split(';').map((part) => part.trim());
      const [name, value] = [
        pair?.slice(0, pair.indexOf('=')) ?? '',
        pair?.slice(pair.indexOf('=') + 1) ?? '',
      ];
      const attribute = (key: string) =>
        attributes.find((each) => each.toLowerCase().startsWith(`${key}=`))?.slice(key.length + 1);
      const gone =
        attribute('max-age') === '0' ||
        (attribute('expires') !== undefined && Date.parse(attribute('expires') as string) <= Date.now());
      if (gone) jar.delete(name);
      else jar.set(name, { value, path: attribute('path') ?? '/', domain: attribute('domain') });
    }
  }
}

/** A body as a caller sends it: a form, or JSON. */
function bodyOf({ headers }: Request, text: string): Pick<Ask, 'form' | 'json'> {
  const isForm = headers.get('content-type')?.startsWith('application/x-www-form-urlencoded') === true;
  return isForm ? { form: Object.fromEntries(new URLSearchParams(text)) } : { json: JSON.parse(text) };
}

/** A fetch that reaches names such as `api.localhost` without a name server, for clients that take one. */
export async function throughCaller(request: Request): Promise<Response> {
  using caller = new Caller();
  const text = await request.text();
  const answer = await caller.ask(request.url, {
    method: request.method,
    headers: Object.fromEntries(request.headers),
    ...(text ? bodyOf(request, text) : {}),
  });
  return new Response(answer.status === 204 ? null : answer.text, {
    status: answer.status,
    headers: answer.headers,
  });
}
