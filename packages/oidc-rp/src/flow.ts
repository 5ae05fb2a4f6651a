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

/** A sign-in that has succeeded: nothing of it is left but where it led, for a reader who reloads the callback. */
interface UsedFlow {
  readonly state: string;
  readonly expiresAtMs: number;
  readonly returnTo: string;
}

interface FlowCookie {
  readonly flows: readonly Flow[];
  readonly used: readonly UsedFlow[];
}

export interface NewFlow extends Pick<Flow, 'redirectUri' | 'maxAgeS' | 'acrValues'> {
  readonly returnTo?: unknown;
}

/** Parallel tabs that can sign in at once; those that have lately done so count, and make room first. */
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
const usedSchema = z.object({ s: z.string(), e: z.number(), r: z.string() });
const cookieSchema = z.object({
  idp: z.string(),
  cid: z.string(),
  flows: z.array(flowSchema),
  used: z.array(usedSchema).default([]),
});

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
  return readFlowCookie(env, headers).flows;
}

/** Where the flow of a state leads, be it under way, expired or used. */
export function returnToOf(env: OidcContext, headers: Headers, state: string): string | undefined {
  const { flows, used } = readFlowCookie(env, headers);
  return [...flows, ...used].find((candidate) => candidate.state === state)?.returnTo;
}

/** The `Set-Cookie` values after a new flow joins: at most four live ones, and no more than fit, oldest out first. */
export function flowCookiesWith(env: OidcContext, headers: Headers, origin: string, flow: Flow): string[] {
  const { flows, used } = readLive(env, headers);
  return setFlowCookie(env, origin, { flows: [...flows, flow], used });
}

/** The `Set-Cookie` values after the flow of one state has failed. Flows of other tabs stay. */
export function flowCookiesWithout(
  env: OidcContext,
  headers: Headers,
  origin: string,
  state: string,
): string[] {
  const { flows, used } = readLive(env, headers);
  return setFlowCookie(env, origin, { flows: flows.filter((flow) => flow.state !== state), used });
}

/**
 * The same after the flow has succeeded. Its verifier and nonce are gone, so that it can never be completed again;
 * its `returnTo` is kept for the rest of its ten minutes.
 */
export function flowCookiesAfter(env: OidcContext, headers: Headers, origin: string, flow: Flow): string[] {
  const { flows, used } = readLive(env, headers);
  const { state, expiresAtMs, returnTo } = flow;
  return setFlowCookie(env, origin, {
    flows: flows.filter((other) => other.state !== state),
    used: returnTo === undefined ? used : [...used, { state, expiresAtMs, returnTo }],
  });
}

/** Whether a flow's ten minutes are over. Our own clock made them, so there is no tolerance. */
export function isExpired(env: OidcContext, flow: Pick<Flow, 'expiresAtMs'>): boolean {
  // Said in the negative, so that a clock that answers no number ends every flow.
  return !(env.now() < flow.expiresAtMs);
}

function readFlowCookie(env: OidcContext, headers: Headers): FlowCookie {
  return (
    readOnlyCookie(headers, cookieName(env, 'flow'), (value) => parseFlows(env, value)) ?? {
      flows: [],
      used: [],
    }
  );
}

function readLive(env: OidcContext, headers: Headers): FlowCookie {
  const { flows, used } = readFlowCookie(env, headers);
  const live = <T extends Pick<Flow, 'expiresAtMs'>>(list: readonly T[]): T[] =>
    list.filter((flow) => !isExpired(env, flow)).sort((a, b) => a.expiresAtMs - b.expiresAtMs);
  return { flows: live(flows), used: live(used) };
}

function setFlowCookie(env: OidcContext, origin: string, cookie: FlowCookie): string[] {
  const flows = cookie.flows.slice(-FLOWS_MAX);
  const used = cookie.used.slice(-FLOWS_MAX);
  const isTooMuch = (): boolean =>
    flows.length + used.length > FLOWS_MAX ||
    !fitsInCookie(cookieName(env, 'flow'), serializeFlows(env, { flows, used }));
  // What is under way matters more than what is over.
  while (used.length > 0 && isTooMuch()) used.shift();
  while (flows.length > 1 && isTooMuch()) flows.shift();
  return flows.length + used.length === 0
    ? clearCookie(env, 'flow', origin)
    : setCookie(env, 'flow', origin, serializeFlows(env, { flows, used }));
}

function serializeFlows(env: OidcContext, { flows, used }: FlowCookie): string {
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
    used:
      used.length === 0
        ? undefined
        : used.map(({ state, expiresAtMs, returnTo }) => ({ s: state, e: expiresAtMs, r: returnTo })),
  });
}

function parseFlows(env: OidcContext, value: string): FlowCookie | null {
  const parsed = cookieSchema.safeParse(env.signers.flow.verify(value));
  // A flow belongs to the provider that it was started at; a changed configuration must not inherit it.
  if (!parsed.success || parsed.data.idp !== env.env.issuer || parsed.data.cid !== env.env.clientId)
    return null;
  const used = parsed.data.used.map(({ s, e, r }) => ({ state: s, expiresAtMs: e, returnTo: r }));
  const flows = parsed.data.flows.map((flow) => ({
    state: flow.s,
    nonce: flow.n,
    verifier: flow.v,
    redirectUri: flow.u,
    expiresAtMs: flow.e,
    ...(flow.r === undefined ? {} : { returnTo: flow.r }),
    ...(flow.m === undefined ? {} : { maxAgeS: flow.m }),
    ...(flow.a === undefined ? {} : { acrValues: flow.a }),
  }));
  return { flows, used };
}
