/**
 * The `state` of an authorization request (RFC 6749 section 10.12): worth nothing without the flow cookie of the
 * browser that began. It tells us, and nobody else, where that sign-in was to lead, should the browser have lost it.
 */
import { createHash } from 'node:crypto';
import { base64url } from 'jose';
import type { OidcContext } from './context.ts';
import { isRecord, textOrUndefined } from './lib/record.ts';

/** What a state says when it comes back. */
export interface StateClaims {
  readonly returnTo?: string;
  /** The id of the flow whose secrets this one's are derived from (see `flow.ts`). */
  readonly leansOn?: string;
  /** It never begins anew: it is a second try already, or asked for more than an ordinary sign-in. */
  readonly isFinal: boolean;
}

/** Ours have at most 800; whoever sends more wants our time. */
const STATE_CHARS_MAX = 1024;
/** 128 bits of a hash: nobody finds another state with the same id. */
const ID_BYTES = 16;

/**
 * A fresh state. Sealed and not only signed, since a `returnTo` can hold what is not for the issuer, such as a claim
 * link. Guessed with probability at most 2^-128 (RFC 6749 section 10.10): it ends in a tag of so many bits.
 */
export function sealState(env: OidcContext, { returnTo, leansOn, isFinal }: StateClaims): string {
  // Members that are undefined are left out by JSON.
  return env.states.seal(JSON.stringify({ r: returnTo, p: leansOn, f: isFinal ? 1 : undefined }));
}

/** What a state of ours says, of this audience, issuer and client; null for any other text. Never throws. */
export function openState(env: OidcContext, state: string): StateClaims | null {
  const text = state.length > STATE_CHARS_MAX ? null : env.states.open(state);
  if (text === null) return null;
  const claims: unknown = JSON.parse(text);
  if (!isRecord(claims)) return null;
  const returnTo = textOrUndefined(claims.r);
  const leansOn = textOrUndefined(claims.p);
  return {
    ...(returnTo === undefined ? {} : { returnTo }),
    ...(leansOn === undefined ? {} : { leansOn }),
    isFinal: claims.f !== undefined,
  };
}

/** What stands for a state in the flow cookie, where four states of full length would not fit. */
export function stateId(state: string): string {
  return base64url.encode(createHash('sha256').update(state).digest().subarray(0, ID_BYTES));
}
