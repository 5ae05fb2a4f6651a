/**
 * Sign-ins under way: what the browser must bring back with the callback (B-04), and what becomes of one that it
 * lost. Tabs that begin at the same moment overwrite each other's cookie, of which the last one stays. A tab whose
 * flow was lost so begins anew, once, and leans on a flow that the browser still has: its secrets are derived from
 * that one's, and no cookie is written that could overwrite another tab's again.
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
  /** It never begins anew (see `StateClaims`). */
  readonly isFinal: boolean;
}

/** A flow, and the `state` that finds it again. */
export interface StartedFlow {
  readonly flow: Flow;
  readonly state: string;
}

/** A longer `returnTo` is left out rather than let it push other tabs' flows from the cookie. */
export const RETURN_TO_BYTES_MAX = 512;

const NONCE_BYTES = 16;
/** RFC 7636 section 4.1: 43 characters. */
const VERIFIER_BYTES = 32;

/** A new flow with fresh state, nonce and verifier, valid for 10 minutes. */
export function startFlow(env: OidcContext, asked: NewFlow): StartedFlow {
  const { redirectUri, maxAgeS, acrValues, isFinal } = asked;
  const secret = (bytes: number): string => base64url.encode(env.random(bytes));
  const path = landingPath(asked.returnTo);
  // The path is ASCII after normalisation, so characters are bytes.
  const kept = path !== null && path.length <= RETURN_TO_BYTES_MAX ? { returnTo: path } : {};
  const state = sealState(env, { ...kept, isFinal });
  const flow = {
    id: stateId(state),
    nonce: secret(NONCE_BYTES),
    verifier: secret(VERIFIER_BYTES),
    redirectUri,
    expiresAtMs: env.now() + FLOW_TTL_MS,
    ...kept,
    ...(maxAgeS === undefined ? {} : { maxAgeS }),
    ...(acrValues === undefined ? {} : { acrValues }),
  };
  return { flow, state };
}

/**
 * A second try for the flow of a state that this browser no longer has, or null. There is one only if we made that
 * state, it is not final, it was not used, and another sign-in is under way in this browser: that is what tells a
 * browser in which tabs overtook each other from one that somebody else's answer was put into. Even there nothing of
 * the answer is used, and whoever signs in is whom the issuer finds in this browser.
 */
export function restartFlow(env: OidcContext, headers: Headers, state: string): StartedFlow | null {
  const claims = openState(env, state);
  if (claims === null || claims.isFinal) return null;
  const { flows, used } = readFlowCookie(env, headers);
  const support = newest(flows.filter((flow) => !isExpired(env, flow)));
  if (support === undefined || used.some(({ id }) => id === stateId(state))) return null;
  const { returnTo } = claims;
  const kept = returnTo === undefined ? {} : { returnTo };
  const second = sealState(env, { ...kept, leansOn: support.id, isFinal: true });
  return { flow: leaningFlow(support, second, returnTo), state: second };
}

/** The flow that a state belongs to in this browser, be it expired; undefined if there is none or it was used. */
export function findFlow(env: OidcContext, headers: Headers, state: string): Flow | undefined {
  const { flows, used } = readFlowCookie(env, headers);
  const id = stateId(state);
  const own = flows.find((flow) => flow.id === id);
  if (own !== undefined || used.some((flow) => flow.id === id)) return own;
  const claims = openState(env, state);
  const support = flows.find((flow) => flow.id === claims?.leansOn);
  return support && leaningFlow(support, state, claims?.returnTo);
}

/** Whether any sign-in is under way in this browser. */
export function isSigningIn(env: OidcContext, headers: Headers): boolean {
  return readFlowCookie(env, headers).flows.some((flow) => !isExpired(env, flow));
}

/** Where the flow of a state leads, be it under way, expired, used or lost. */
export function returnToOf(env: OidcContext, headers: Headers, state: string): string | undefined {
  const { flows, used } = readFlowCookie(env, headers);
  const id = stateId(state);
  return (
    [...flows, ...used].find((candidate) => candidate.id === id)?.returnTo ?? openState(env, state)?.returnTo
  );
}

/**
 * Another flow of the same browser, as unguessable as the one it leans on and over when that is over. Nobody who
 * knows one of its secrets learns the other, or one of the supporting flow's.
 */
function leaningFlow(support: Flow, state: string, returnTo: string | undefined): Flow {
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
