/** Sign-ins under way: what the browser must bring back with the callback, in one signed cookie (B-04). */
import { base64url } from 'jose';
import { z } from 'zod';
import type { OidcContext } from './context.ts';
import { clearCookie, cookieName, FLOW_TTL_MS, fitsInCookie, readOnlyCookie, setCookie } from './cookies.ts';
import { landingPath } from './safe-path.ts';

/** One sign-in between its redirect and its callback. */
export interface Flow {
  readonly state: string;
  readonly nonce: string;
  /** PKCE code verifier (RFC 7636). */
  readonly verifier: string;
  readonly redirectUri: string;
  readonly expiresAtMs: number;
  readonly returnTo?: string;
  /** Asked for, and therefore enforced on the ID token (OpenID Connect Core section 3.1.2.1). */
  readonly maxAgeS?: number;
  readonly acrValues?: readonly string[];
}

export interface NewFlow extends Pick<Flow, 'redirectUri' | 'maxAgeS' | 'acrValues'> {
  readonly returnTo?: unknown;
}

/** Parallel tabs that can sign in at once. */
export const FLOWS_MAX = 4;
/** A longer `returnTo` is left out rather than let it push other tabs' flows from the cookie. */
export const RETURN_TO_BYTES_MAX = 512;

/** RFC 6749 section 10.10: guessed with probability at most 2^-128. */
const STATE_BYTES = 16;
/** RFC 7636 section 4.1: 43 characters. */
const VERIFIER_BYTES = 32;

// One-letter names, since four flows share 4,096 bytes.
const flowSchema = z.object({
  s: z.string(),
  n: z.string(),
  v: z.string(),
  u: z.string(),
  e: z.number(),
  r: z.string().optional(),
  m: z.number().optional(),
  a: z.array(z.string()).optional(),
});
const cookieSchema = z.object({ idp: z.string(), cid: z.string(), flows: z.array(flowSchema) });

/** A new flow with fresh state, nonce and verifier, valid for 10 minutes. */
export function startFlow(env: OidcContext, { redirectUri, returnTo, maxAgeS, acrValues }: NewFlow): Flow {
  const secret = (bytes: number): string => base64url.encode(env.random(bytes));
  const path = landingPath(returnTo);
  return {
    state: secret(STATE_BYTES),
    nonce: secret(STATE_BYTES),
    verifier: secret(VERIFIER_BYTES),
    redirectUri,
    expiresAtMs: env.now() + FLOW_TTL_MS,
    // The path is ASCII after normalisation, so characters are bytes.
    ...(path !== null && path.length <= RETURN_TO_BYTES_MAX ? { returnTo: path } : {}),
    ...(maxAgeS === undefined ? {} : { maxAgeS }),
    ...(acrValues === undefined ? {} : { acrValues }),
  };
}

/** Every flow that a request carries, the expired ones too; empty for a cookie that is not ours. */
export function readFlows(env: OidcContext, headers: Headers): readonly Flow[] {
  return readOnlyCookie(headers, cookieName(env, 'flow'), (value) => parseFlows(env, value)) ?? [];
}

/** The `Set-Cookie` values after a new flow joins: at most four live ones, and no more than fit, oldest out first. */
export function flowCookiesWith(env: OidcContext, headers: Headers, origin: string, flow: Flow): string[] {
  const flows = [...liveFlows(env, headers), flow].slice(-FLOWS_MAX);
  while (flows.length > 1 && !fitsInCookie(cookieName(env, 'flow'), serializeFlows(env, flows)))
    flows.shift();
  return setCookie(env, 'flow', origin, serializeFlows(env, flows));
}

/** The `Set-Cookie` values after the flow of one state is spent. Flows of other tabs stay. */
export function flowCookiesWithout(
  env: OidcContext,
  headers: Headers,
  origin: string,
  state: string,
): string[] {
  const flows = liveFlows(env, headers).filter((flow) => flow.state !== state);
  return flows.length === 0
    ? clearCookie(env, 'flow', origin)
    : setCookie(env, 'flow', origin, serializeFlows(env, flows));
}

/** Whether a flow's ten minutes are over. Our own clock made them, so there is no tolerance. */
export function isExpired(env: OidcContext, flow: Flow): boolean {
  return env.now() >= flow.expiresAtMs;
}

function liveFlows(env: OidcContext, headers: Headers): Flow[] {
  return readFlows(env, headers)
    .filter((flow) => !isExpired(env, flow))
    .sort((a, b) => a.expiresAtMs - b.expiresAtMs);
}

function serializeFlows(env: OidcContext, flows: readonly Flow[]): string {
  return env.signers.flow.sign({
    idp: env.env.issuer,
    cid: env.env.clientId,
    flows: flows.map((flow) => ({
      s: flow.state,
      n: flow.nonce,
      v: flow.verifier,
      u: flow.redirectUri,
      e: flow.expiresAtMs,
      r: flow.returnTo,
      m: flow.maxAgeS,
      a: flow.acrValues,
    })),
  });
}

function parseFlows(env: OidcContext, value: string): readonly Flow[] | null {
  const parsed = cookieSchema.safeParse(env.signers.flow.verify(value));
  // A flow belongs to the provider that it was started at; a changed configuration must not inherit it.
  if (!parsed.success || parsed.data.idp !== env.env.issuer || parsed.data.cid !== env.env.clientId)
    return null;
  return parsed.data.flows.map((flow) => ({
    state: flow.s,
    nonce: flow.n,
    verifier: flow.v,
    redirectUri: flow.u,
    expiresAtMs: flow.e,
    ...(flow.r === undefined ? {} : { returnTo: flow.r }),
    ...(flow.m === undefined ? {} : { maxAgeS: flow.m }),
    ...(flow.a === undefined ? {} : { acrValues: flow.a }),
  }));
}
