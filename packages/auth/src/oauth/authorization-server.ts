/**
 * The authorization server of one instance (OAuth 2.1): its endpoints, and the steps between a request and a code. Pages
 * and sign-in are the application's; it asks {@link AuthorizationServer.readRequest} what to ask the person, and answers
 * with {@link AuthorizationServer.letIn} or {@link AuthorizationServer.deny}.
 */
import { PlatformError, type ProgramAccess } from '@freehold/contracts';
import { readJsonObject } from '@freehold/contracts/http';
import { base64url } from 'jose';
import type { IdentityDirectory } from '../identity-directory/unit.ts';
import { problemAnswer } from '../lib/answers.ts';
import { makeSeals, type Seals } from '../lib/seals.ts';
import type { SubjectKey } from '../lib/subject.ts';
import { hashToken } from '../lib/token.ts';
import { type ClientProof, hasKeys, type TokenAnswer } from '../programs/contract.ts';
import { type Client, hostOf } from './lib/client.ts';
import { verifyAssertion } from './lib/client-assertion.ts';
import { type ClientDocuments, isDocumentId } from './lib/client-document.ts';
import { readClientProof } from './lib/client-proof.ts';
import { describable, OAuthError, oauthErrorAnswer } from './lib/errors.ts';
import { type Parameters, parseParameters, readParameters, requireParameter } from './lib/parameters.ts';
import { requireChallenge } from './lib/pkce.ts';
import { isRegisteredRedirect, redirectKind, withAnswer } from './lib/redirect-uri.ts';
import { openRegistration, register, unknownClient } from './lib/registration.ts';
import { AUTHORIZATION_SERVER_PATH, authorizationServerMetadata, OAUTH_PATHS } from './metadata.ts';

/** A registration is some addresses and a name. */
const REGISTRATION_BYTES_MAX = 16 * 1_024;
const STATE_LENGTH_MAX = 2_000;
/** The time in which a person decides. */
const TICKET_TTL_MS = 10 * 60_000;
const METADATA_MAX_AGE_S = 60;
/** The endpoints take no cookie, so that pages of every origin may call them: a program may be a page. */
const CORS = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET, POST',
  // The wildcard does not cover this one (Fetch, section 4.9).
  'access-control-allow-headers': '*, authorization',
  'access-control-max-age': '86400',
};

export type ProgramDirectory = Pick<
  IdentityDirectory,
  'findClient' | 'letIn' | 'redeemCode' | 'refreshTokens' | 'revokeToken'
>;

export interface AuthorizationServerOptions {
  readonly tenantId: string;
  readonly scopeId: string;
  /** The issuer: the origin of the request, as browsers see it. */
  readonly origin: string;
  /** The identifiers of this instance as a resource (RFC 8707), the first of which programs are given. */
  readonly resources: readonly string[];
  /** The tenant's: the first seals, all open. */
  readonly sessionSecrets: readonly string[];
  readonly directory: ProgramDirectory;
  /** Shared by all instances of a process. */
  readonly documents: ClientDocuments;
  readonly now: () => number;
  readonly random: (bytes: number) => Uint8Array;
  /** Whether pages of other origins may call the endpoints. Default: true. */
  readonly crossOrigin?: boolean;
}

/** A program's wish to be let in, judged: nothing of it is left to check but the person's answer. */
export interface AuthorizationRequest {
  readonly client: Client;
  /** SHA-256 of the client's secret, or null. */
  readonly secretHash: string | null;
  readonly host: string;
  readonly redirectUri: string;
  readonly challenge: string;
  readonly state: string | null;
  /** The scope that the program asked for, in words. The person decides; this only chooses what is ticked first. */
  readonly scope: readonly string[];
}

/** The person who answers, and their session. */
export interface Consenter {
  readonly subject: SubjectKey;
  readonly sid: string;
}

export interface AuthorizationServer {
  /** Answers the endpoints that programs call; null for any other path. Never rejects for a program's mistake. */
  handle(request: Request): Promise<Response | null>;
  /**
   * Judges an authorization request.
   * @throws OAuthError for the person, who must not be sent anywhere: the client or its address is not known.
   * @throws RefusedAuthorization for the program, to which the browser returns.
   */
  readRequest(query: URLSearchParams): Promise<AuthorizationRequest>;
  /** Returns a text that brings a judged request back from the consent page, for ten minutes and this session alone. */
  makeTicket(request: AuthorizationRequest, by: Consenter): string;
  /** Returns the request of a ticket; null when it is another session's, too old, or was not made here. */
  openTicket(ticket: string, by: Consenter): AuthorizationRequest | null;
  /** Returns the address to which the browser returns with a code. @throws PlatformError as the directory does. */
  letIn(request: AuthorizationRequest, by: Consenter, allowed: ProgramAccess): Promise<string>;
  /** Returns the address to which the browser returns when the person declined (RFC 6749, section 4.1.2.1). */
  deny(request: AuthorizationRequest): string;
}

/** An error that the program is told at its own address. */
export class RefusedAuthorization extends Error {
  override readonly name = 'RefusedAuthorization';
  readonly location: string;

  constructor(location: string, cause: OAuthError) {
    super(cause.message, { cause });
    this.location = location;
  }
}

interface Parts extends AuthorizationServerOptions {
  readonly seals: Seals;
}

export function makeAuthorizationServer(options: AuthorizationServerOptions): AuthorizationServer {
  const { tenantId, scopeId, sessionSecrets, now, directory, origin } = options;
  const audience = `program/${tenantId}/${scopeId}`;
  const parts: Parts = { ...options, seals: makeSeals({ secrets: sessionSecrets, audience }) };
  const { seals } = parts;
  return {
    handle: (request) => handle(parts, request),
    readRequest: (query) => readRequest(parts, query),
    makeTicket: (request, by) =>
      seals.seal(ticketPurpose(by), JSON.stringify({ request, atMs: now() } satisfies Ticket)),
    openTicket: (ticket, by) => {
      const text = seals.open(ticketPurpose(by), ticket);
      if (text === null) return null;
      const { request, atMs } = JSON.parse(text) as Ticket;
      return Math.abs(now() - atMs) < TICKET_TTL_MS ? request : null;
    },
    letIn: async (request, { subject }, allowed) => {
      const { client, secretHash, host, redirectUri, challenge, state } = request;
      const { id, kind, ...described } = client;
      const { code } = await directory.letIn({
        scopeId,
        subject: { issuer: subject.issuer, sub: subject.sub },
        client: { id, kind, metadata: JSON.stringify(described), secretHash },
        name: client.name,
        host,
        allowed,
        code: { redirectUri, challenge },
      });
      return withAnswer(redirectUri, { code, state: state ?? undefined, iss: origin });
    },
    deny: ({ redirectUri, state }) =>
      withAnswer(redirectUri, {
        error: 'access_denied',
        error_description: 'The person did not let this program in.',
        state: state ?? undefined,
        iss: origin,
      }),
  };
}

interface Ticket {
  readonly request: AuthorizationRequest;
  readonly atMs: number;
}

/** Another person's browser, and another session of the same person, have another ticket. */
function ticketPurpose({ subject: { issuer, sub }, sid }: Consenter): readonly string[] {
  return ['consent', issuer, sub, sid];
}

async function handle(parts: Parts, request: Request): Promise<Response | null> {
  const endpoint = ENDPOINTS.get(new URL(request.url).pathname);
  if (!endpoint) return null;
  const { method, answer } = endpoint;
  const finished = (response: Response) => finish(response, parts.crossOrigin ?? true);
  if (request.method === 'OPTIONS') return finished(new Response(null, { status: 204 }));
  if (request.method !== method && !(method === 'GET' && request.method === 'HEAD'))
    return finished(
      problemAnswer(
        new PlatformError('method_not_allowed', `This address takes ${method}.`, {
          headers: { allow: `${method}, OPTIONS` },
        }),
      ),
    );
  try {
    return finished(await answer(parts, request));
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    return finished(oauthErrorAnswer(error, /^basic /i.test(request.headers.get('authorization') ?? '')));
  }
}

interface Endpoint {
  readonly method: 'GET' | 'POST';
  readonly answer: (parts: Parts, request: Request) => Response | Promise<Response>;
}

const ENDPOINTS: ReadonlyMap<string, Endpoint> = new Map<string, Endpoint>([
  [
    AUTHORIZATION_SERVER_PATH,
    {
      method: 'GET',
      answer: ({ origin, resources: [resource = origin] }) =>
        Response.json(authorizationServerMetadata(origin, [resource]), {
          headers: { 'cache-control': `public, max-age=${METADATA_MAX_AGE_S}` },
        }),
    },
  ],
  [OAUTH_PATHS.register, { method: 'POST', answer: answerRegistration }],
  [OAUTH_PATHS.token, { method: 'POST', answer: answerToken }],
  [OAUTH_PATHS.revoke, { method: 'POST', answer: answerRevocation }],
]);

function finish(response: Response, crossOrigin: boolean): Response {
  if (crossOrigin) for (const [name, value] of Object.entries(CORS)) response.headers.set(name, value);
  // RFC 6749, section 5.1.
  if (!response.headers.has('cache-control')) response.headers.set('cache-control', 'no-store');
  response.headers.set('x-content-type-options', 'nosniff');
  return response;
}

/** RFC 7591, section 3. */
async function answerRegistration({ seals, now, random }: Parts, request: Request): Promise<Response> {
  let metadata: Readonly<Record<string, unknown>>;
  try {
    metadata = await readJsonObject(request, REGISTRATION_BYTES_MAX);
  } catch (cause) {
    if (!(cause instanceof PlatformError)) throw cause;
    throw new OAuthError('invalid_client_metadata', cause.message, { cause });
  }
  const nonce = base64url.encode(random(9));
  const { client, secret, registeredAtMs } = register(seals, metadata, { nowMs: now(), nonce });
  return Response.json(
    {
      client_id: client.id,
      client_id_issued_at: Math.floor(registeredAtMs / 1_000),
      // Section 3.2.1: zero stands for a secret that does not expire.
      ...(secret === null ? {} : { client_secret: secret, client_secret_expires_at: 0 }),
      client_name: client.name,
      redirect_uris: client.redirectUris,
      token_endpoint_auth_method: client.authMethod,
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    },
    { status: 201 },
  );
}

/** RFC 6749, sections 4.1.3 and 6. */
async function answerToken(parts: Parts, request: Request): Promise<Response> {
  const parameters = await readParameters(request);
  const client = await proveClient(parts, request, parameters);
  requireOwnResource(parts, parameters);
  const answer = await tokensFor(parts, parameters, client);
  if (answer.outcome === 'refused') throw refusedTokens(answer.because);
  return Response.json({
    access_token: answer.accessToken,
    token_type: 'Bearer',
    expires_in: Math.floor(answer.expiresInMs / 1_000),
    refresh_token: answer.refreshToken,
    // Section 3.3: the person decided, whatever was asked for.
    scope: answer.allowed.access === 'some' ? answer.allowed.permissions.join(' ') : answer.allowed.access,
  });
}

function tokensFor(
  { directory, scopeId }: Parts,
  parameters: Parameters,
  client: ClientProof,
): Promise<TokenAnswer> {
  const type = requireParameter(parameters, 'grant_type');
  if (type === 'authorization_code')
    return directory.redeemCode({
      scopeId,
      client,
      code: requireParameter(parameters, 'code'),
      redirectUri: parameters.get('redirect_uri') ?? null,
      verifier: requireParameter(parameters, 'code_verifier'),
    });
  if (type === 'refresh_token')
    return directory.refreshTokens({
      scopeId,
      client,
      refreshToken: requireParameter(parameters, 'refresh_token'),
    });
  throw new OAuthError('unsupported_grant_type', 'grant_type must be authorization_code or refresh_token.');
}

function refusedTokens(because: 'client' | 'grant'): OAuthError {
  return because === 'client'
    ? new OAuthError('invalid_client', 'This client is not known here, or its secret is wrong.')
    : new OAuthError('invalid_grant', 'This code or token was used, has ended, or is not for this client.');
}

/** RFC 7009, section 2. */
async function answerRevocation(parts: Parts, request: Request): Promise<Response> {
  const { directory, scopeId } = parts;
  const parameters = await readParameters(request);
  const client = await proveClient(parts, request, parameters);
  const token = requireParameter(parameters, 'token');
  const { isClient } = await directory.revokeToken({ scopeId, client, token });
  if (!isClient) throw refusedTokens('client');
  return new Response(null, { status: 200 });
}

/**
 * Returns the client of a request with its proof, for the directory to judge. Of one that was let in with keys the assertion
 * is judged here, but for its use.
 * @throws OAuthError `invalid_client`, `invalid_request`.
 */
async function proveClient(
  { directory, scopeId, documents, origin, now }: Parts,
  request: Request,
  parameters: Parameters,
): Promise<ClientProof> {
  const { assertion, ...proof } = readClientProof(request.headers, parameters);
  if (assertion === null) return proof;
  const { id } = proof;
  const stored = await directory.findClient({ scopeId, id });
  if (!stored || !hasKeys(stored)) throw refusedTokens('client');
  const audience = [origin, origin + new URL(request.url).pathname, origin + OAUTH_PATHS.token];
  const { loadKeys } = documents;
  return { ...proof, assertion: await verifyAssertion(assertion, { id, audience, loadKeys, nowMs: now() }) };
}

/** A token is for this instance alone (RFC 8707, section 2). Without the parameter it is meant. */
function requireOwnResource({ resources }: Parts, parameters: Parameters): void {
  const resource = parameters.get('resource');
  if (resource === undefined || resources.includes(resource.replace(/\/$/, ''))) return;
  throw new OAuthError('invalid_target', `This server makes tokens for ${resources[0]} alone.`);
}

async function readRequest(parts: Parts, query: URLSearchParams): Promise<AuthorizationRequest> {
  // Until the client and its address are known, there is no place to send the browser to (RFC 6749, section 4.1.2.1).
  for (const name of ['client_id', 'redirect_uri'])
    if (query.getAll(name).length > 1)
      throw new OAuthError('invalid_request', `The parameter ${name} came twice.`);
  const id = query.get('client_id');
  if (!id) throw new OAuthError('invalid_request', 'The parameter client_id is missing.');
  const { client, secretHash } = await findClient(parts, id);
  const redirectUri = chooseRedirect(client, query.get('redirect_uri') || null);
  const state = query.getAll('state').length === 1 ? query.get('state') : null;
  try {
    const parameters = parseParameters(query);
    const responseType = requireParameter(parameters, 'response_type');
    if (responseType !== 'code')
      throw new OAuthError('unsupported_response_type', 'response_type must be code.');
    if ((parameters.get('response_mode') ?? 'query') !== 'query')
      throw new OAuthError('invalid_request', 'response_mode must be query.');
    if (parameters.has('request') || parameters.has('request_uri'))
      throw new OAuthError('invalid_request', 'Request objects are not taken here.');
    if (state !== null && state.length > STATE_LENGTH_MAX)
      throw new OAuthError('invalid_request', `state must be at most ${STATE_LENGTH_MAX} characters.`);
    const challenge = requireChallenge(parameters);
    requireOwnResource(parts, parameters);
    const scope = (parameters.get('scope') ?? '').split(' ').filter((each) => each !== '');
    const host = hostOf(client, redirectUri);
    return { client, secretHash, host, redirectUri, challenge, state, scope: scope.slice(0, 200) };
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    const answer = {
      error: error.code,
      error_description: describable(error.message),
      state: state !== null && state.length <= STATE_LENGTH_MAX ? state : undefined,
      iss: parts.origin,
    };
    throw new RefusedAuthorization(withAnswer(redirectUri, answer), error);
  }
}

/** The address of a request. It may be left out only where there is one (OAuth 2.1, section 4.1.1). */
function chooseRedirect({ redirectUris }: Client, asked: string | null): string {
  const [only, ...others] = redirectUris;
  if (asked === null && only !== undefined && others.length === 0 && redirectKind(only) === 'web')
    return only;
  if (asked === null) throw new OAuthError('invalid_request', 'The parameter redirect_uri is missing.');
  if (!isRegisteredRedirect(redirectUris, asked))
    throw new OAuthError('invalid_redirect_uri', 'The program did not register this redirect_uri.');
  return asked;
}

async function findClient(
  { directory, documents, seals, scopeId, now }: Parts,
  id: string,
): Promise<{ readonly client: Client; readonly secretHash: string | null }> {
  if (isDocumentId(id)) return { client: await documents.load(id), secretHash: null };
  const stored = await directory.findClient({ scopeId, id });
  if (stored) {
    const described = JSON.parse(stored.metadata) as Omit<Client, 'id' | 'kind'>;
    if (stored.kind !== 'registered') throw unknownClient();
    return { client: { id, kind: 'registered', ...described }, secretHash: stored.secretHash };
  }
  const { client, secret } = openRegistration(seals, id, now());
  return { client, secretHash: secret === null ? null : hashToken(secret) };
}
