/** Fixtures for programs: a member's instance as an authorization server, and a program that signs in at it. */
import { createHash } from 'node:crypto';
import type { ProgramAccess, ProgramGrant } from '@freehold/contracts';
import type { IdentityDirectory } from '../src/identity-directory/unit.ts';
import {
  type AuthorizationServer,
  type Consenter,
  makeAuthorizationServer,
} from '../src/oauth/authorization-server.ts';
import { type DocumentFetch, makeClientDocuments } from '../src/oauth/lib/client-document.ts';
import { presentedTokenHash } from '../src/programs/secrets.ts';
import { openPlatform, person, SCOPE, TENANT_A, type TestPlatform, testRandom } from './support.ts';

export const ORIGIN = 'https://pipes.example';
export const RESOURCE = `${ORIGIN}/api/mcp`;
export const LOOPBACK = 'http://127.0.0.1/callback';
export const WEB = 'https://agent.example/callback';
export const VERIFIER = 'v'.repeat(43);
export const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url');

export interface TestServer extends TestPlatform {
  readonly server: AuthorizationServer;
  /** Ada, the owner, in her browser. */
  readonly ada: Consenter;
  readonly principal: string;
}

export interface ServerOptions {
  readonly scopeId?: string;
  readonly origin?: string;
  readonly secrets?: readonly string[];
  readonly fetch?: DocumentFetch;
}

export const SECRET = 'a session secret of more than 32 bytes';

/** Another server over the same directory, or another instance of it. */
export function serverOver(
  { directory, clock }: Pick<TestPlatform, 'directory' | 'clock'>,
  { scopeId = SCOPE, origin = ORIGIN, secrets = [SECRET], fetch = noFetch }: ServerOptions = {},
): AuthorizationServer {
  const now = () => clock.nowMs;
  const documents = makeClientDocuments({ fetch, now });
  return makeAuthorizationServer({
    tenantId: TENANT_A,
    scopeId,
    origin,
    resources: [`${origin}/api/mcp`, origin],
    sessionSecrets: secrets,
    directory,
    documents,
    now,
    random: testRandom(),
  });
}

async function noFetch(): Promise<Response> {
  throw new TypeError('there is no network');
}

export async function openServer(options: ServerOptions = {}): Promise<TestServer> {
  const platform = await openPlatform();
  const { directory } = platform;
  await directory.setPendingOwner({ scopeId: SCOPE });
  const { principal } = await directory.resolvePrincipal({ scopeId: SCOPE, subject: person('ada') });
  if (principal === null) throw new TypeError('ada is the owner');
  return {
    ...platform,
    server: serverOver(platform, options),
    ada: { subject: person('ada'), sid: 'sid-1' },
    principal,
  };
}

/** Adds a member. */
export async function addMember(directory: IdentityDirectory, sub: string, by: string): Promise<string> {
  const principal = await directory.newPrincipal();
  const { token } = await directory.createInvite({ scopeId: SCOPE, principal, role: 'admin', createdBy: by });
  await directory.claimInvite({ token, subject: person(sub) });
  return principal;
}

export function post(
  path: string,
  body: Record<string, string>,
  headers: Readonly<Record<string, string>> = {},
): Request {
  return new Request(ORIGIN + path, { method: 'POST', body: new URLSearchParams(body), headers });
}

export async function answer(
  server: AuthorizationServer,
  request: Request,
): Promise<{ status: number; body: Answer }> {
  const response = await server.handle(request);
  if (!response) throw new TypeError('the server does not answer this path');
  const text = await response.text();
  return { status: response.status, body: text === '' ? {} : JSON.parse(text) };
}

export type Answer = Readonly<Record<string, string | number | undefined>>;

export interface Registered {
  readonly client_id: string;
  readonly client_secret?: string;
}

export async function register(server: AuthorizationServer, metadata: object = {}): Promise<Registered> {
  const { status, body } = await answer(
    server,
    new Request(`${ORIGIN}/oauth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        client_name: 'Desktop',
        redirect_uris: [LOOPBACK],
        token_endpoint_auth_method: 'none',
        ...metadata,
      }),
    }),
  );
  if (status !== 201) throw new Error(`registration was answered ${status}: ${JSON.stringify(body)}`);
  return body as unknown as Registered;
}

export function query(clientId: string, more: Record<string, string | undefined> = {}): URLSearchParams {
  const all = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: 'http://127.0.0.1:4711/callback',
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
    state: 'a state',
    ...more,
  };
  return new URLSearchParams(
    Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

/** Lets a registered program in, and returns its code. */
export async function consent(
  { server, ada }: Pick<TestServer, 'server' | 'ada'>,
  clientId: string,
  { allowed = { access: 'all' }, more = {} }: { allowed?: ProgramAccess; more?: Record<string, string> } = {},
): Promise<string> {
  const request = await server.readRequest(query(clientId, more));
  const location = new URL(await server.letIn(request, ada, allowed));
  return location.searchParams.get('code') ?? '';
}

export function redeem(
  server: AuthorizationServer,
  clientId: string,
  code: string,
  more: Record<string, string> = {},
): Promise<{ status: number; body: Answer }> {
  return answer(
    server,
    post('/oauth/token', {
      grant_type: 'authorization_code',
      client_id: clientId,
      code,
      code_verifier: VERIFIER,
      ...more,
    }),
  );
}

export function refresh(
  server: AuthorizationServer,
  clientId: string,
  token: string,
): Promise<{ status: number; body: Answer }> {
  return answer(
    server,
    post('/oauth/token', { grant_type: 'refresh_token', client_id: clientId, refresh_token: token }),
  );
}

export interface Tokens {
  readonly clientId: string;
  readonly access: string;
  readonly refresh: string;
}

/** A program that was let in. */
export async function signedIn(
  open: Pick<TestServer, 'server' | 'ada'>,
  allowed: ProgramAccess = { access: 'all' },
): Promise<Tokens> {
  const { client_id: clientId } = await register(open.server);
  const code = await consent(open, clientId, { allowed });
  const { status, body } = await redeem(open.server, clientId, code);
  if (status !== 200) throw new Error(`the code was answered ${status}: ${JSON.stringify(body)}`);
  return { clientId, access: String(body.access_token), refresh: String(body.refresh_token) };
}

/** The person and the grant behind a token, as the next request finds them; null for an anonymous caller. */
export async function callerWith(
  directory: IdentityDirectory,
  token: string,
  scopeId: string = SCOPE,
): Promise<{ sub: string; principal: string | null; grant: ProgramGrant | undefined } | null> {
  const { version } = await directory.readInstanceConfig({ scopeId });
  const programToken = presentedTokenHash(new Headers({ authorization: `Bearer ${token}` })) ?? '';
  const found = await directory.recognise({ scopeId, knownVersion: version, presented: [{ programToken }] });
  if (found.changed || !found.subject || !found.found) return null;
  return { sub: found.subject.sub, principal: found.found.principal, grant: found.program?.grant };
}
