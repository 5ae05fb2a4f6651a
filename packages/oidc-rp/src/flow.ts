/**
 * Pending sign-ins: the values that the browser must bring back with the callback (B-04), and the recovery of a
 * lost one. Tabs that start at the same moment overwrite each other's cookie, and only the last one's flow is
 * stored. A tab whose flow was lost starts again, once, supported by a flow that the browser still has: its
 * secrets are derived from that one's, and no cookie is written that could overwrite another tab's again.
 */
import { createHmac } from 'node:crypto';
import { base64url } from 'jose';
import type { OidcContext } from './context.ts';
import { FLOW_TTL_MS } from './cookies.ts';
import { type Flow, isExpired, readFlowCookie } from './flow-cookie.ts';
import { landingPath } from './safe-path.ts';
import { openState, sealState, stateId } from './state.ts';

export interface NewFlow extends Pick<Flow, 'redirectUri' | 'maxAgeS' | 'acrValues'> {
  readonly returnTo?: unknown;
  /** True for a flow that must not be restarted (see `StateClaims`). */
  readonly isFinal: boolean;
}

/** A flow, and the `state` that identifies it. */
export interface StartedFlow {
  readonly flow: Flow;
  readonly state: string;
}

/** A longer `returnTo` is omitted, so that it cannot push other tabs' flows out of the cookie. */
export const RETURN_TO_BYTES_MAX = 512;

const NONCE_BYTES = 16;
/** RFC 7636 section 4.1: 43 characters. */
const VERIFIER_BYTES = 32;

/** Returns a new flow with fresh state, nonce and verifier, valid for 10 minutes. */
export function startFlow(env: OidcContext, asked: NewFlow): StartedFlow {
  const { redirectUri, maxAgeS, acrValues, isFinal } = asked;
  const secret = (bytes: number): string => base64url.encode(env.random(bytes));
  const path = landingPath(asked.returnTo);
  // The path is ASCII after normalisation, so characters are bytes.
  const destination = path !== null && path.length <= RETURN_TO_BYTES_MAX ? { returnTo: path } : {};
  const state = sealState(env, { ...destination, isFinal });
  const flow = {
    id: stateId(state),
    nonce: secret(NONCE_BYTES),
    verifier: secret(VERIFIER_BYTES),
    redirectUri,
    expiresAtMs: env.now() + FLOW_TTL_MS,
    ...destination,
    ...(maxAgeS === undefined ? {} : { maxAgeS }),
    ...(acrValues === undefined ? {} : { acrValues }),
  };
  return { flow, state };
}

/**
 * Returns a second flow for a state that this browser no longer has, or null. There is one only if we made that
 * state, it is not final and not used, and another sign-in is pending in this browser: that distinguishes a
 * browser whose tabs overwrote each other from one into which an attacker put a foreign answer. Nothing of the
 * answer is used, and the user who signs in is the one that the issuer knows in this browser.
 */
export function restartFlow(env: OidcContext, headers: Headers, state: string): StartedFlow | null {
  const claims = openState(env, state);
  if (claims === null || claims.isFinal) return null;
  const { flows, used } = readFlowCookie(env, headers);
  const support = newest(flows.filter((flow) => !isExpired(env, flow)));
  if (support === undefined || used.some(({ id }) => id === stateId(state))) return null;
  const { returnTo } = claims;
  const destination = returnTo === undefined ? {} : { returnTo };
  const second = sealState(env, { ...destination, supportId: support.id, isFinal: true });
  return { flow: supportedFlow(support, second, returnTo), state: second };
}

/** Returns the flow of a state in this browser, expired or not; undefined if there is none or it was used. */
export function findFlow(env: OidcContext, headers: Headers, state: string): Flow | undefined {
  const { flows, used } = readFlowCookie(env, headers);
  const id = stateId(state);
  const own = flows.find((flow) => flow.id === id);
  if (own !== undefined || used.some((flow) => flow.id === id)) return own;
  const claims = openState(env, state);
  const support = flows.find((flow) => flow.id === claims?.supportId);
  return support && supportedFlow(support, state, claims?.returnTo);
}

/** Whether any sign-in is pending in this browser. */
export function isSigningIn(env: OidcContext, headers: Headers): boolean {
  return readFlowCookie(env, headers).flows.some((flow) => !isExpired(env, flow));
}

/** Returns the destination of a state's flow, be it pending, expired, used or lost. */
export function returnToOf(env: OidcContext, headers: Headers, state: string): string | undefined {
  const { flows, used } = readFlowCookie(env, headers);
  const id = stateId(state);
  return (
    [...flows, ...used].find((candidate) => candidate.id === id)?.returnTo ?? openState(env, state)?.returnTo
  );
}

/**
 * Derives another flow of the same browser. It is as unguessable as its supporting flow and expires with it. A
 * known secret of one reveals none of the other.
 */
function supportedFlow(support: Flow, state: string, returnTo: string | undefined): Flow {
  const derive = (secret: string): string =>
    createHmac('sha256', support.verifier).update(`${secret} of ${state}`).digest('base64url');
  return {
    id: stateId(state),
    nonce: derive('nonce'),
    verifier: derive('verifier'),
    redirectUri: support.redirectUri,
    expiresAtMs: support.expiresAtMs,
    ...(returnTo === undefined ? {} : { returnTo }),
  };
}

function newest(flows: readonly Flow[]): Flow | undefined {
  return flows.toSorted((a, b) => b.expiresAtMs - a.expiresAtMs)[0];
}
