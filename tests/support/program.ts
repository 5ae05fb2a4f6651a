/** A program on the user's machine: gets an access token for an API by code and PKCE, as a public client (RFC 8252). */
import { createHash, randomBytes } from 'node:crypto';
import type { Answer, Caller } from './http.ts';

export interface TokenRequest {
  /** The issuer's URL. */
  readonly issuer: string;
  readonly clientId: string;
  /** The API that the token is for (RFC 8707). */
  readonly resource: string;
  /** The login of the person: `ada`. */
  readonly login: string;
  /** The redirect address of the program; the port may vary. No request is sent there. */
  readonly redirectUri?: string;
}

/** Reads the issuer's metadata, signs the person in and redeems the code. */
export async function obtainAccessToken(caller: Caller, request: TokenRequest): Promise<string> {
  const { issuer, clientId, resource, login, redirectUri = 'http://127.0.0.1:41234/callback' } = request;
  const metadata = (await caller.ask(`${issuer}/.well-known/openid-configuration`)).json<{
    authorization_endpoint: string;
    token_endpoint: string;
  }>();
  const verifier = randomBytes(32).toString('base64url');
  const asked = new URL(metadata.authorization_endpoint);
  asked.search = new URLSearchParams({
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: 'openid profile email',
    resource,
    state: 'state',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  }).toString();

  let { at, answer } = await followRedirects(caller, asked.href, redirectUri);
  const action = /<form method="post" action="([^"]+)"/.exec(answer.text)?.[1];
  if (action !== undefined) {
    const target = new URL(action, at).href;
    const posted = await caller.ask(target, { form: { login } });
    ({ at, answer } = await followRedirects(caller, target, redirectUri, posted));
  }
  const code = new URL(at).searchParams.get('code');
  if (code === null)
    throw new Error(`expected a code, got ${answer.status} at ${at}: ${answer.text.slice(0, 200)}`);

  const redeemed = await caller.ask(metadata.token_endpoint, {
    form: {
      grant_type: 'authorization_code',
      client_id: clientId,
      code,
      redirect_uri: redirectUri,
      code_verifier: verifier,
      resource,
    },
  });
  const { access_token: token } = redeemed.json<{ access_token?: string }>();
  if (token === undefined) throw new Error(`expected tokens, got ${redeemed.status}: ${redeemed.text}`);
  return token;
}

/** Follows redirects until a page answers, or until they lead to the program itself. */
async function followRedirects(
  caller: Caller,
  from: string,
  stopAt: string,
  first?: Answer,
): Promise<{ at: string; answer: Answer }> {
  let at = from;
  let answer = first ?? (await caller.ask(at));
  for (let hops = 0; answer.status >= 300 && answer.status < 400; hops++) {
    if (hops > 20) throw new Error(`too many redirects, at ${at}`);
    at = new URL(answer.headers.get('location') ?? '', at).href;
    if (at.startsWith(stopAt)) break;
    answer = await caller.ask(at);
  }
  return { at, answer };
}
