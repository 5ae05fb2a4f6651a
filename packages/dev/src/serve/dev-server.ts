/** The HTTP server of `freehold dev`: the application, and the pages of the server itself under `/__freehold`. */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import type { Versions } from '../instance/versions.ts';
import { DevError } from '../lib/dev-error.ts';
import {
  allowBanner,
  BANNER_PATH,
  BANNER_SCRIPT,
  DEV_PATH,
  type DevStatus,
  MISTAKES_PATH,
  mistakeHtml,
  statusPage,
  withBanner,
} from './banner.ts';

/** Reachable from this machine only. */
const HOST = '127.0.0.1';
/** Says that the last save is broken, and where to read why. */
export const BROKEN_HEADER = 'freehold-dev';

export interface ListenerOptions {
  readonly versions: Pick<Versions, 'fetch'>;
  /** Answers a request of the builder's coding agent. */
  readonly agent: (request: Request) => Promise<Response>;
}

/** Listens on a port of this machine. Requests wait until {@link DevServer.serve} says what answers them. */
type Answer = (request: Request, incoming: IncomingMessage) => Promise<Response>;

export class DevServer {
  readonly #server: Server;
  readonly #answer = Promise.withResolvers<Answer>();
  #status: DevStatus = { version: 0, faults: [] };
  readonly #pages = new Set<ReadableStreamDefaultController<Uint8Array>>();

  constructor() {
    const listener = getRequestListener(
      async (request, env) =>
        (await this.#answer.promise)(request, (env as { incoming: IncomingMessage }).incoming),
      { overrideGlobalObjects: false },
    );
    this.#server = createServer((incoming, outgoing) => void listener(incoming, outgoing));
  }

  /** @throws DevError for a port that is taken. */
  async listen(port: number): Promise<string> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', (cause: NodeJS.ErrnoException) => reject(cannotListen(port, cause)));
      this.#server.listen(port, HOST, resolve);
    });
    return this.origin;
  }

  get origin(): string {
    return `http://localhost:${(this.#server.address() as AddressInfo).port}`;
  }

  serve(options: ListenerOptions): void {
    const hosts = new Set(
      ['localhost', '127.0.0.1', '[::1]'].map((name) => `${name}:${new URL(this.origin).port || 80}`),
    );
    this.#answer.resolve(async (request, incoming) => {
      // A foreign name that resolves to this machine would let its pages read the data (DNS rebinding).
      if (!hosts.has(incoming.headers.host ?? '')) return plain(421, `This is ${this.origin}.`);
      const { pathname } = new URL(request.url);
      return pathname === DEV_PATH || pathname.startsWith(`${DEV_PATH}/`)
        ? this.#own(request, pathname.slice(DEV_PATH.length), options)
        : this.#application(request, incoming, options);
    });
  }

  show(status: DevStatus): void {
    this.#status = status;
    for (const page of this.#pages) this.#tell(page);
  }

  async close(): Promise<void> {
    for (const page of this.#pages) page.close();
    this.#pages.clear();
    if (!this.#server.listening) return;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  async #own(request: Request, path: string, { agent }: ListenerOptions): Promise<Response> {
    if (path === '/mcp') return agent(request);
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return plain(405, 'Only GET is answered here.');
    if (path === '' || path === '/') return answered(statusPage(this.#status), 'text/html; charset=utf-8');
    if (path === '/status') return answered(JSON.stringify(this.#status), 'application/json');
    if (`${DEV_PATH}${path}` === BANNER_PATH)
      return answered(BANNER_SCRIPT, 'text/javascript; charset=utf-8');
    if (path === '/events') return this.#events();
    const mistake = `${DEV_PATH}${path}`.startsWith(MISTAKES_PATH)
      ? mistakeHtml(`${DEV_PATH}${path}`.slice(MISTAKES_PATH.length))
      : null;
    if (mistake !== null) return answered(mistake, 'text/html; charset=utf-8');
    return plain(404, 'There is nothing here.');
  }

  async #application(
    request: Request,
    incoming: IncomingMessage,
    { versions }: ListenerOptions,
  ): Promise<Response> {
    const isPage = isNavigation(request);
    const response = await versions.fetch(
      isPage ? withoutNegotiation(request) : request,
      incoming.socket.remoteAddress ?? null,
    );
    if (response === null) return this.#unserved(isPage);
    const html = isPage && (response.headers.get('content-type') ?? '').startsWith('text/html');
    const shown = html && request.method === 'GET' ? withBanner(await response.text()) : response.body;
    const headers = new Headers(response.headers);
    if (this.#status.faults.length > 0) headers.set(BROKEN_HEADER, `broken; see="${DEV_PATH}/"`);
    if (typeof shown === 'string') {
      for (const name of ['content-length', 'etag']) headers.delete(name);
      const policy = headers.get('content-security-policy');
      if (policy !== null) headers.set('content-security-policy', allowBanner(policy));
    }
    return new Response(shown, { status: response.status, statusText: response.statusText, headers });
  }

  /** There was no good version since the start. */
  #unserved(isPage: boolean): Response {
    if (isPage) return answered(withBanner(statusPage(this.#status)), 'text/html; charset=utf-8', 503);
    const [fault] = this.#status.faults;
    const detail = `No version of the application could be served${fault ? `: ${fault.message}` : ''}. See ${DEV_PATH}/.`;
    return answered(
      JSON.stringify({
        type: 'about:blank',
        title: 'Not served yet',
        status: 503,
        code: 'unavailable',
        detail,
        error: detail,
      }),
      'application/problem+json',
      503,
    );
  }

  #events(): Response {
    let opened: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({
      start: (page) => {
        opened = page;
        this.#pages.add(page);
        this.#tell(page);
      },
      cancel: () => void this.#pages.delete(opened),
    });
    return answered(body, 'text/event-stream');
  }

  #tell(page: ReadableStreamDefaultController<Uint8Array>): void {
    page.enqueue(new TextEncoder().encode(`event: status\ndata: ${JSON.stringify(this.#status)}\n\n`));
  }
}

function cannotListen(port: number, cause: NodeJS.ErrnoException): DevError {
  const why =
    cause.code === 'EADDRINUSE' ? 'is taken by another program' : `cannot be opened (${cause.code})`;
  return new DevError(
    'conflict',
    `Port ${port} ${why}: stop that program, or choose another port with --port.`,
    {
      cause,
    },
  );
}

/** Whether a browser opens a page. */
function isNavigation({ method, headers }: Request): boolean {
  if (method !== 'GET') return false;
  const mode = headers.get('sec-fetch-mode');
  return mode === null ? (headers.get('accept') ?? '').includes('text/html') : mode === 'navigate';
}

/** A page that is changed on its way is asked for whole and uncompressed. */
function withoutNegotiation(request: Request): Request {
  const headers = new Headers(request.headers);
  for (const name of ['accept-encoding', 'if-none-match', 'range']) headers.delete(name);
  return new Request(request.url, { method: request.method, headers, redirect: 'manual' });
}

function answered(body: string | ReadableStream, type: string, status = 200): Response {
  return new Response(body, {
    status,
    headers: {
      'content-type': type,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
    },
  });
}

function plain(status: number, text: string): Response {
  return answered(`${text}\n`, 'text/plain; charset=utf-8', status);
}
