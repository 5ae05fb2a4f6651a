/** Receives the browser's answer with the code on this machine (RFC 8252, section 7.3). */
import { timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PlatformError } from '@freehold/contracts';

const PATH = '/callback';

export interface Loopback {
  readonly redirectUri: string;
  /** The code. Rejects when the answer is a refusal, or the signal aborts. */
  readonly code: Promise<string>;
  close(): void;
}

export interface Expected {
  /** The random state of this attempt: an answer without it belongs to another one. */
  readonly state: string;
  /** The issuer that the answer must name (RFC 9207). */
  readonly issuer: string;
}

/** Listens on a free port of 127.0.0.1. */
export async function openLoopback(expected: Expected, signal: AbortSignal): Promise<Loopback> {
  signal.throwIfAborted();
  const { promise: code, resolve, reject } = Promise.withResolvers<string>();
  // The caller may await it later; an early rejection must not end the process.
  code.catch(() => undefined);
  const server = createServer((request, response) => {
    const { port } = server.address() as AddressInfo;
    const answer = answerCallback(request.url ?? '/', request.headers.host, { ...expected, port });
    response.writeHead(answer.status, PAGE_HEADERS).end(page(answer.says));
    if (answer.code !== undefined) resolve(answer.code);
    if (answer.refused) reject(answer.refused);
  });
  server.listen(0, '127.0.0.1');
  await new Promise<void>((listening, failed) => {
    server.once('listening', listening);
    server.once('error', failed);
  });
  signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  const { port } = server.address() as AddressInfo;
  return {
    redirectUri: `http://127.0.0.1:${port}${PATH}`,
    code,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

export interface CallbackAnswer {
  readonly status: number;
  readonly says: string;
  readonly code?: string;
  /** Set when the attempt is over. A request that is not ours does not end it. */
  readonly refused?: PlatformError;
}

/** Judges one request to the callback address. */
export function answerCallback(
  target: string,
  host: string | undefined,
  { state, issuer, port }: Expected & { readonly port: number },
): CallbackAnswer {
  const notForUs = { status: 404, says: 'There is nothing here.' };
  // A page of another site can send the browser here under a name of its own (DNS rebinding).
  if (host !== `127.0.0.1:${port}`) return notForUs;
  const url = URL.parse(target, `http://${host}`);
  if (url?.pathname !== PATH) return notForUs;
  const one = (name: string) => {
    const values = url.searchParams.getAll(name);
    return values.length === 1 ? values[0] : undefined;
  };
  if (!isSame(one('state') ?? '', state))
    return { status: 400, says: 'This is not the answer that freehold waits for.' };
  if (one('iss') !== issuer)
    return {
      status: 400,
      says: 'The answer is not from the control plane that was asked.',
      refused: new PlatformError('forbidden', 'The answer is not from the control plane that was asked.'),
    };
  const error = one('error');
  const code = one('code');
  if (error !== undefined || code === undefined) {
    const why = error === 'access_denied' ? 'You said no.' : 'The control plane refused.';
    return {
      status: 200,
      says: `${why} You may close this page.`,
      refused: new PlatformError('forbidden', why),
    };
  }
  return { status: 200, says: 'You may close this page, and go back to the terminal.', code };
}

/** Compares two texts in constant time. */
export function isSame(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** The address holds a code: no cache, referrer or frame may learn it. */
const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  connection: 'close',
};

function page(says: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>freehold</title><style>body{font:1.1rem/1.5 system-ui;margin:4rem auto;max-width:32rem;padding:0 1rem}</style><h1>freehold</h1><p>${says}</p></html>\n`;
}
