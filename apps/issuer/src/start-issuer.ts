/** Starts and stops the development issuer: refusals first, then a port, then oidc-provider behind it. */
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { AdapterFactory, Provider } from 'oidc-provider';
import { type BackChannel, makeBackChannel } from './back-channel.ts';
import { backchannelUrisOf, type IssuerClient, toClientMetadata } from './clients.ts';
import { IssuerError } from './errors.ts';
import { handleInteraction, isInteractionPath, writePage } from './interaction.ts';
import { generateIssuerKeys, type IssuerKeys } from './keys.ts';
import { loopbackFetch } from './loopback-fetch.ts';
import { makeMemoryAdapter } from './memory-adapter.ts';
import { renderHomePage } from './pages/other-pages.ts';
import { findPerson, type Person, seededPeople } from './people/people.ts';

export interface IssuerOptions {
  /** Default 8788; 0 takes any free port. */
  readonly port?: number;
  /** Where to listen; must be loopback. Default `127.0.0.1`. */
  readonly host?: string;
  /** The issuer identifier: an origin. Default `http://localhost:<port>`. */
  readonly issuer?: string;
  /** The applications known from the start. Default none; see {@link Issuer.putClient}. */
  readonly clients?: readonly IssuerClient[];
  /** The people to choose from. Default: a seeded handful. Login names outside this list work as well. */
  readonly people?: readonly Person[];
  /** The source of NODE_ENV. Default `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Signing keys, for tokens that outlive a restart. Default: generated. */
  readonly keys?: IssuerKeys;
  /** Secrets for signing the issuer's cookies, newest first. Default: generated. */
  readonly cookieKeys?: readonly string[];
  /** Is called with faults of the issuer itself and failed back-channel calls. Default: prints a line on stderr. */
  readonly onError?: (error: unknown) => void;
}

/** A running issuer. */
export interface Issuer extends AsyncDisposable {
  /** The issuer identifier, byte for byte as in tokens and discovery. */
  readonly url: string;
  /** The port listened on. */
  readonly port: number;
  /**
   * Adds a client, or replaces the one with its id, from the next request on.
   *
   * @throws IssuerError `client_invalid`; the earlier client then stays.
   */
  putClient(client: IssuerClient): Promise<void>;
  /** Stops listening and cuts open connections. May be called again. */
  close(): Promise<void>;
}

/**
 * Starts an OpenID issuer for development, in memory.
 * @throws IssuerError when it must not or cannot start; see its codes.
 */
export async function startIssuer(options: IssuerOptions = {}): Promise<Issuer> {
  const { port: askedPort = 8788, host = '127.0.0.1', env = process.env, onError = printError } = options;
  requireDevelopment(env);
  requireLoopback(host);
  const keys = options.keys ?? (await generateIssuerKeys());
  const people = options.people ?? seededPeople;

  // Loaded here: a platform in production has another issuer, and is spared two hundred modules.
  const { makeProvider } = await import('./provider.ts');
  const server = createServer();
  const port = await listen(server, askedPort, host);
  try {
    const issuer = requireOrigin(options.issuer ?? `http://localhost:${port}`);
    const adapter = makeMemoryAdapter({ nowMs: Date.now });
    const cookieKeys = options.cookieKeys ?? [randomBytes(32).toString('base64url')];
    const backChannel = makeBackChannel({ fetch: loopbackFetch, onError });
    const provider = makeProvider({ issuer, people, keys, cookieKeys, adapter, backChannel, onError });
    const putClient = (client: IssuerClient) => registerClient({ provider, adapter, backChannel }, client);
    for (const client of options.clients ?? []) await putClient(client);
    server.on('request', makeListener({ provider, people, onError, issuer, port }));

    const close = () => closeServer(server);
    return { url: issuer, port, putClient, close, [Symbol.asyncDispose]: close };
  } catch (error) {
    await closeServer(server);
    throw error;
  }
}

function requireDevelopment(env: Readonly<Record<string, string | undefined>>): void {
  if (env.NODE_ENV !== 'production') return;
  throw new IssuerError(
    'production_refused',
    'The development issuer asks for no password, so it does not start with NODE_ENV=production.',
  );
}

function requireLoopback(host: string): void {
  if (host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)) return;
  throw new IssuerError(
    'host_not_loopback',
    `The development issuer listens on loopback only, such as 127.0.0.1, and not on "${host}".`,
  );
}

/** RFC 8414 compares issuers as strings, so the configured text must be the URL parser's. */
function requireOrigin(issuer: string): string {
  const url = URL.parse(issuer);
  const isWeb = url?.protocol === 'http:' || url?.protocol === 'https:';
  if (isWeb && url.origin === issuer) return issuer;
  throw new IssuerError(
    'issuer_url_invalid',
    `The issuer "${issuer}" is not an origin such as http://localhost:8788, without a path or a final slash.`,
  );
}

async function registerClient(
  {
    provider,
    adapter,
    backChannel,
  }: { provider: Provider; adapter: AdapterFactory; backChannel: BackChannel },
  client: IssuerClient,
): Promise<void> {
  const metadata = toClientMetadata(client);
  try {
    await provider.Client.validate(metadata);
  } catch (cause) {
    const detail =
      cause instanceof Error && 'error_description' in cause ? cause.error_description : undefined;
    throw new IssuerError(
      'client_invalid',
      `The client "${client.clientId}" was refused: ${detail ?? 'its metadata is invalid'}.`,
      { cause },
    );
  }
  await adapter('Client').upsert(client.clientId, metadata);
  backChannel.register(client.clientId, backchannelUrisOf(client));
}

function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      reject(
        cause.code === 'EADDRINUSE'
          ? new IssuerError('port_taken', `Port ${port} on ${host} is taken by another process.`, { cause })
          : new IssuerError('listen_failed', `Port ${port} on ${host} could not be opened (${cause.code}).`, {
              cause,
            }),
      );
    });
    server.listen(port, host, () => {
      server.removeAllListeners('error');
      resolve((server.address() as AddressInfo).port);
    });
  });
}

interface ListenerOptions {
  readonly provider: Provider;
  readonly people: readonly Person[];
  readonly onError: (error: unknown) => void;
  readonly issuer: string;
  readonly port: number;
}

function makeListener(options: ListenerOptions) {
  const { provider, issuer, port, onError } = options;
  const { host: issuerHost, protocol } = new URL(issuer);
  const hosts = new Set([issuerHost, `localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`]);
  const answerProtocol = provider.callback();

  return (request: IncomingMessage, response: ServerResponse): void => {
    // A foreign name that resolves to loopback would let its pages reach us (DNS rebinding).
    if (!hosts.has(request.headers.host ?? '')) {
      response.writeHead(421, { 'content-type': 'text/plain' }).end(`This is ${issuer}.\n`);
      return;
    }
    // oidc-provider builds URLs from the request: these headers make them the issuer's, for any name of the request.
    request.headers['x-forwarded-host'] = issuerHost;
    request.headers['x-forwarded-proto'] = protocol.slice(0, -1);
    const path = request.url?.split('?')[0] ?? '/';
    const answer = isInteractionPath(path)
      ? handleInteraction(request, response, options)
      : path === '/'
        ? showHome(request, response, options)
        : answerProtocol(request, response);
    answer.catch((error: unknown) => {
      onError(error);
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  };
}

async function showHome(
  request: IncomingMessage,
  response: ServerResponse,
  { provider, people }: ListenerOptions,
): Promise<void> {
  const session = await provider.Session.get(provider.createContext(request, response));
  const signedIn = session.accountId === undefined ? undefined : findPerson(people, session.accountId);
  writePage(response, 200, renderHomePage({ signedIn, signOutPath: provider.pathFor('end_session') }));
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    // An error here only says that it was closed before.
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

function printError(error: unknown): void {
  process.stderr.write(
    `Development issuer: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  );
}
