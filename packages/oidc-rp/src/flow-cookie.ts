/** The flow cookie: the browser's pending sign-ins, and those it finished lately (B-04). */
import { z } from 'zod';
import type { OidcContext } from './context.ts';
import { clearCookie, cookieName, fitsInCookie, readOnlyCookie, setCookie } from './cookies.ts';

/** One sign-in between its redirect and its callback. */
export interface Flow {
  /** Identifies the `state` (see `stateId`). */
  readonly id: string;
  readonly nonce: string;
  /** PKCE code verifier (RFC 7636). */
  readonly verifier: string;
  readonly redirectUri: string;
  readonly expiresAtMs: number;
  readonly returnTo?: string;
  /** Requested, and therefore enforced on the ID token (OpenID Connect Core section 3.1.2.1). */
  readonly maxAgeS?: number;
  readonly acrValues?: readonly string[];
}

/** A sign-in that succeeded. Only its destination is stored, for a user who reloads the callback. */
export interface UsedFlow {
  readonly id: string;
  readonly expiresAtMs: number;
  readonly returnTo?: string;
}

export interface FlowCookie {
  readonly flows: readonly Flow[];
  readonly used: readonly UsedFlow[];
}

/** The number of parallel tabs. Finished sign-ins count too, and are dropped first. */
export const FLOWS_MAX = 4;

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
const usedSchema = z.object({ s: z.string(), e: z.number(), r: z.string().optional() });
const cookieSchema = z.object({
  idp: z.string(),
  cid: z.string(),
  flows: z.array(flowSchema),
  used: z.array(usedSchema).default([]),
});

/**
 * Returns the content of a request's flow cookie, expired flows included, and an empty one for a cookie that is
 * not ours. Never throws.
 */
export function readFlowCookie(env: OidcContext, headers: Headers): FlowCookie {
  return (
    readOnlyCookie(headers, cookieName(env, 'flow'), (value) => parseFlows(env, value)) ?? {
      flows: [],
      used: [],
    }
  );
}

/**
 * Returns the `Set-Cookie` values after a new flow: at most four live ones, and no more than fit; the oldest go
 * first.
 */
export function flowCookiesWith(env: OidcContext, headers: Headers, origin: string, flow: Flow): string[] {
  const { flows, used } = readLive(env, headers);
  return setFlowCookie(env, origin, { flows: [...flows, flow], used });
}

/**
 * Returns the `Set-Cookie` values after a flow failed: none when the cookie does not hold it. Flows of other tabs
 * stay.
 */
export function flowCookiesWithout(env: OidcContext, headers: Headers, origin: string, id: string): string[] {
  if (!readFlowCookie(env, headers).flows.some((flow) => flow.id === id)) return [];
  const { flows, used } = readLive(env, headers);
  return setFlowCookie(env, origin, { flows: flows.filter((flow) => flow.id !== id), used });
}

/**
 * Returns the `Set-Cookie` values after a flow succeeded. Its verifier and nonce are removed, so that it can never
 * be completed again; its `returnTo` stays for the rest of its ten minutes. A flow that the cookie never held is
 * recorded as used even without a `returnTo`, since its supporting flow may still be there.
 */
export function flowCookiesAfter(env: OidcContext, headers: Headers, origin: string, flow: Flow): string[] {
  const { flows, used } = readLive(env, headers);
  const { id, expiresAtMs, returnTo } = flow;
  const others = flows.filter((other) => other.id !== id);
  const isWorthKeeping = returnTo !== undefined || others.length === flows.length;
  const now: UsedFlow = { id, expiresAtMs, ...(returnTo === undefined ? {} : { returnTo }) };
  return setFlowCookie(env, origin, { flows: others, used: isWorthKeeping ? [...used, now] : used });
}

/** Whether a flow's ten minutes are over. Our own clock set them, so there is no tolerance. */
export function isExpired(env: OidcContext, flow: Pick<Flow, 'expiresAtMs'>): boolean {
  // Negated, so that a clock that returns NaN ends every flow.
  return !(env.now() < flow.expiresAtMs);
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
  // Pending flows matter more than finished ones.
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
      s: flow.id,
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
        : used.map(({ id, expiresAtMs, returnTo }) => ({ s: id, e: expiresAtMs, r: returnTo })),
  });
}

function parseFlows(env: OidcContext, value: string): FlowCookie | null {
  const parsed = cookieSchema.safeParse(env.signers.flow.verify(value));
  // A flow belongs to the provider at which it was started; a changed configuration must not inherit it.
  if (!parsed.success || parsed.data.idp !== env.env.issuer || parsed.data.cid !== env.env.clientId)
    return null;
  const used = parsed.data.used.map(({ s, e, r }) => ({
    id: s,
    expiresAtMs: e,
    ...(r === undefined ? {} : { returnTo: r }),
  }));
  const flows = parsed.data.flows.map((flow) => ({
    id: flow.s,
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
