/** Talks to the control plane's authorization server as a public client (RFC 8414, 6749, 7636, 8628, 7009). */
import { createHash } from 'node:crypto';
import { PlatformError } from '@freehold/contracts';
import { z } from 'zod';
import { parseJson, type World } from '../lib/world.ts';

/** The client id of this program where it does not register: for codes of devices, and at older control planes. */
export const CLIENT_ID = 'freehold-cli';

/** The scope that control planes name, and applications do not. */
const STAFF_SCOPE = 'staff';

const metadata = z.object({
  issuer: z.string(),
  authorization_endpoint: z.url(),
  token_endpoint: z.url(),
  device_authorization_endpoint: z.url().optional(),
  revocation_endpoint: z.url(),
  registration_endpoint: z.url().optional(),
  scopes_supported: z.array(z.string()).default([]),
});
export type ServerMetadata = z.infer<typeof metadata>;

/** The answer of the token endpoint (RFC 6749, section 5.1). */
const granted = z.object({
  access_token: z.string().min(1),
  token_type: z.string().regex(/^bearer$/i),
  expires_in: z.number().positive().optional(),
  refresh_token: z.string().min(1).optional(),
});
export type Granted = z.infer<typeof granted>;

const refusal = z.object({ error: z.string() });

/** A refusal of an OAuth endpoint: its code, without the request. */
export class OAuthRefusal extends Error {
  override readonly name = 'OAuthRefusal';
  readonly code: string;

  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

/**
 * Finds the authorization server of an address. It must be at that address itself: codes and tokens go to no other
 * origin that its metadata may name (RFC 8414, section 3.3).
 * @throws PlatformError when there is none, when the metadata names another origin, and for an application's.
 */
export async function discover(
  url: string,
  { fetch }: Pick<World, 'fetch'>,
  signal: AbortSignal,
): Promise<ServerMetadata> {
  const { origin } = new URL(url);
  const at = `${origin}/.well-known/oauth-authorization-server`;
  const response = await fetch(new Request(at, { redirect: 'manual', signal }));
  if (response.status === 404)
    throw new PlatformError(
      'unsupported',
      `There is no sign-in at ${origin}: it has no authorization server.`,
    );
  if (!response.ok)
    throw new PlatformError('unavailable', `${origin} answered with status ${response.status}.`);
  const parsed = metadata.safeParse(await response.json().catch(() => null));
  if (!parsed.success)
    throw new PlatformError(
      'unsupported',
      `${origin} is no control plane: its metadata does not have the known form.`,
    );
  const { issuer, scopes_supported: scopes, ...endpoints } = parsed.data;
  const elsewhere = Object.values(endpoints).some((each) => new URL(each as string).origin !== origin);
  if (issuer !== origin || elsewhere)
    throw new PlatformError(
      'forbidden',
      `${origin} says that it is ${URL.canParse(issuer) ? new URL(issuer).origin : 'another'}: sign in at that address instead, if you trust it.`,
    );
  if (!scopes.includes(STAFF_SCOPE))
    throw new PlatformError(
      'unsupported',
      `${origin} is an application, and freehold login is for control planes. For a script, make a token at ${origin}/oauth/programs; a program that speaks MCP signs in by itself at ${origin}/api/mcp.`,
    );
  return parsed.data;
}

/** Registers this program with an address on this machine, of any port (RFC 7591; RFC 8252, section 7.3). */
export async function registerClient(
  endpoint: string,
  redirectUri: string,
  { fetch, signal }: Pick<World, 'fetch'> & { readonly signal: AbortSignal },
): Promise<string> {
  const body = JSON.stringify({
    client_name: 'The Freehold command line',
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
  });
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(
    new Request(endpoint, { method: 'POST', headers, body, redirect: 'manual', signal }),
  );
  const registered = z
    .object({ client_id: z.string().min(1) })
    .safeParse(await response.json().catch(() => null));
  if (response.ok && registered.success) return registered.data.client_id;
  const { origin } = new URL(endpoint);
  throw new PlatformError('unavailable', `${origin} did not register this program (${response.status}).`);
}

/**
 * Posts a form to an endpoint (RFC 6749, appendix B), as the client of {@link CLIENT_ID} where the form names none.
 * @throws OAuthRefusal for an OAuth error code.
 */
export async function postForm(
  endpoint: string,
  form: Record<string, string>,
  { fetch, signal }: Pick<World, 'fetch'> & { readonly signal: AbortSignal },
): Promise<unknown> {
  const body = new URLSearchParams({ client_id: CLIENT_ID, ...form });
  const response = await fetch(new Request(endpoint, { method: 'POST', body, redirect: 'manual', signal }));
  const text = await response.text();
  if (response.ok) return parseJson(text) ?? null;
  const refused = refusal.safeParse(parseJson(text));
  if (refused.success) throw new OAuthRefusal(refused.data.error);
  const { origin } = new URL(endpoint);
  throw new PlatformError('unavailable', `${origin} answered with status ${response.status}.`);
}

/** Judges the answer of the token endpoint. */
export function processGrant(answer: unknown): Granted {
  const parsed = granted.safeParse(answer);
  if (parsed.success) return parsed.data;
  throw new PlatformError('unavailable', 'The control plane answered with something that is no token.');
}

/** Makes the verifier and challenge of one attempt (RFC 7636). */
export function makePkce(random: World['random']): { readonly verifier: string; readonly challenge: string } {
  const verifier = Buffer.from(random(32)).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}
