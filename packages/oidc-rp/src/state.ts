/**
 * The `state` of an authorization request (RFC 6749 section 10.12). It is useless without the flow cookie of the
 * browser that started. It tells us, and no other party, the destination of that sign-in, should the browser have
 * lost it.
 */
import { createHash } from 'node:crypto';
import { base64url } from 'jose';
import type { OidcContext } from './context.ts';
import { isRecord, textOrUndefined } from './lib/record.ts';

/** The content of a state. */
export interface StateClaims {
  readonly returnTo?: string;
  /** The id of the flow from whose secrets this one's are derived (see `flow.ts`). */
  readonly supportId?: string;
  /**
   * True for a flow that must not be restarted: it is a second one already, or requested more than an ordinary
   * sign-in.
   */
  readonly isFinal: boolean;
}

/** Ours have at most 800 characters; a longer one only costs time. */
const STATE_CHARS_MAX = 1024;
/** 128 bits of a hash: an attacker finds no other state with the same id. */
const ID_BYTES = 16;

/**
 * Returns a fresh state. It is sealed and not only signed, since a `returnTo` can hold values that the issuer must
 * not see, such as a claim link. Guessed with probability at most 2^-128 (RFC 6749 section 10.10): it ends in a
 * tag of so many bits.
 */
export function sealState(env: OidcContext, { returnTo, supportId, isFinal }: StateClaims): string {
  // JSON omits undefined members.
  return env.states.seal(JSON.stringify({ r: returnTo, p: supportId, f: isFinal ? 1 : undefined }));
}

/**
 * Returns the content of a state of ours, of this audience, issuer and client; null for any other text. Never
 * throws.
 */
export function openState(env: OidcContext, state: string): StateClaims | null {
  const text = state.length > STATE_CHARS_MAX ? null : env.states.open(state);
  if (text === null) return null;
  const claims: unknown = JSON.parse(text);
  if (!isRecord(claims)) return null;
  const returnTo = textOrUndefined(claims.r);
  const supportId = textOrUndefined(claims.p);
  return {
    ...(returnTo === undefined ? {} : { returnTo }),
    ...(supportId === undefined ? {} : { supportId }),
    isFinal: claims.f !== undefined,
  };
}

/** Returns the id of a state for the flow cookie, where four states of full length would not fit. */
export function stateId(state: string): string {
  return base64url.encode(createHash('sha256').update(state).digest().subarray(0, ID_BYTES));
}
