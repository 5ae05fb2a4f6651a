/** The official TypeScript client of MCP with its own OAuth provider, and a person's browser that lets it in. */
import {
  Client,
  type ElicitResult,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import type { Page, Reader } from './small-app.ts';

export const LOOPBACK = 'http://127.0.0.1:4711/callback';

/** A memory of what the client was given, as a desktop program has it on its disk. */
export class ProgramStore implements OAuthClientProvider {
  readonly redirectUrl = LOOPBACK;
  readonly clientMetadata = {
    client_name: 'Claude Desktop',
    redirect_uris: [LOOPBACK],
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
  };
  readonly clientMetadataUrl?: string;
  /** The address to which the program sends its person. */
  asked: URL | null = null;
  readonly #kept: { client?: unknown; tokens?: unknown; discovery?: unknown; verifier: string } = {
    verifier: '',
  };

  constructor(options: { readonly clientMetadataUrl?: string } = {}) {
    if (options.clientMetadataUrl !== undefined) this.clientMetadataUrl = options.clientMetadataUrl;
  }
  state(): string {
    return 'the state of the program';
  }
  clientInformation(): never {
    return this.#kept.client as never;
  }
  saveClientInformation(client: unknown): void {
    this.#kept.client = client;
  }
  tokens(): never {
    return this.#kept.tokens as never;
  }
  saveTokens(tokens: unknown): void {
    this.#kept.tokens = tokens;
  }
  redirectToAuthorization(url: URL): void {
    this.asked = url;
  }
  saveCodeVerifier(verifier: string): void {
    this.#kept.verifier = verifier;
  }
  codeVerifier(): string {
    return this.#kept.verifier;
  }
  saveDiscoveryState(state: unknown): void {
    this.#kept.discovery = state;
  }
  discoveryState(): never {
    return this.#kept.discovery as never;
  }
  invalidateCredentials(what: string): void {
    if (what === 'all' || what === 'tokens') this.#kept.tokens = undefined;
    if (what === 'all' || what === 'client') this.#kept.client = undefined;
  }
  get accessToken(): string {
    return (this.#kept.tokens as { access_token: string }).access_token;
  }
  /** The access token expired, or was lost; the refresh token is left. */
  spoilAccessToken(): void {
    this.#kept.tokens = { ...(this.#kept.tokens as object), access_token: `fh_access_${'0'.repeat(49)}` };
  }
}

/** An instance, as a program reaches it. */
export interface ProgramPlace {
  readonly at: { readonly origin: string };
  readonly call: (request: Request) => Response | Promise<Response>;
}

/** A connection that knows the address of the instance and nothing else. */
export function connection({ call, at }: ProgramPlace, store: ProgramStore) {
  const fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> =>
    call(new Request(input, init));
  return new StreamableHTTPClientTransport(new URL(`${at.origin}/api/mcp`), { authProvider: store, fetch });
}

/**
 * Connects, or has the person let the program in first.
 * @param person null: it has to do with what it was given.
 * @param answer what its person says to a question of revision 2025-11-25. Default: it cannot ask.
 */
export async function connect(
  app: ProgramPlace,
  store: ProgramStore,
  person: ((asked: URL) => Promise<URL>) | null,
  answer?: (message: string) => Promise<ElicitResult>,
): Promise<Client> {
  const client = (): Client => {
    if (!answer) return new Client({ name: 'desktop', version: '1.0.0' });
    const capabilities = { elicitation: { form: {} } };
    const asking = new Client(
      { name: 'desktop', version: '1.0.0' },
      { versionNegotiation: { mode: 'legacy' }, capabilities },
    );
    asking.setRequestHandler('elicitation/create', ({ params }) => answer(params.message));
    return asking;
  };
  const first = client();
  const transport = connection(app, store);
  try {
    await first.connect(transport);
    return first;
  } catch (error) {
    if (!(error instanceof UnauthorizedError) || person === null) throw error;
    if (store.asked === null) throw new Error('the program did not ask its person');
    const back = await person(store.asked);
    const code = back.searchParams.get('code');
    if (code === null) throw new Error(`the person answered ${back.search}`);
    await transport.finishAuth(back.searchParams);
    const second = client();
    await second.connect(connection(app, store));
    return second;
  }
}

/** The fields of the form on a page that posts to an address, with what is ticked. */
export function fieldsOf(page: Page, action: string): Record<string, string> {
  const form = new RegExp(`<form method="post" action="${action}"[^>]*>(.*?)</form>`, 's').exec(
    page.text,
  )?.[1];
  if (form === undefined) throw new Error(`the page has no form of ${action}: ${page.status} ${page.text}`);
  const fields: Record<string, string> = {};
  for (const [input] of form.matchAll(/<input[^>]*>/g)) {
    const attribute = (name: string) => new RegExp(` ${name}="([^"]*)"`).exec(input)?.[1] ?? '';
    const isOff = /type="(?:checkbox|radio)"/.test(input) && !/ checked/.test(input);
    if (!isOff) fields[attribute('name')] = attribute('value');
  }
  return fields;
}

/** A person who is signed in, and allows what is given. */
export function allowing(reader: Reader, change: Record<string, string> = {}) {
  return async (asked: URL): Promise<URL> => {
    const page = await reader.open(asked.pathname + asked.search);
    const answered = await reader.send('/oauth/consent', {
      ...fieldsOf(page, '/oauth/consent'),
      answer: 'yes',
      ...change,
    });
    if (answered.location === null)
      throw new Error(`the consent was answered ${answered.status}: ${answered.text}`);
    return new URL(answered.location);
  };
}
