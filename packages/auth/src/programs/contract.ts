/** The shapes of programs, as callers of the identity directory give and get them. */
import type { AdmittedPrograms, ProgramAccess } from '@freehold/contracts';
import type { SubjectKey } from '../lib/subject.ts';

/** A program's client, as it was when a person let it in. */
export interface StoredClient {
  /** The `client_id`. */
  readonly id: string;
  readonly kind: 'document' | 'registered';
  /** JSON: as the program described itself. */
  readonly metadata: string;
  /** SHA-256 of its secret, in hexadecimal; null for a public client. */
  readonly secretHash: string | null;
}

/** The facts that an authorization code is bound to (RFC 6749, section 4.1.3; RFC 7636, section 4.4). */
export interface CodeBinding {
  readonly redirectUri: string;
  readonly challenge: string;
}

export interface LetInInput {
  readonly scopeId: string;
  readonly subject: SubjectKey;
  readonly client: StoredClient;
  readonly name: string;
  /** The host name, or private-use scheme, by which people and the policy know the program. */
  readonly host: string;
  readonly allowed: ProgramAccess;
  readonly code: CodeBinding;
}

/** A client that asks for tokens, with the proof that it brought. */
export interface ClientProof {
  readonly id: string;
  /** SHA-256 of the secret; null when it brought none. */
  readonly secretHash: string | null;
  /** The assertion, judged but for its use. Absent when it brought none. */
  readonly assertion?: UsedAssertion;
}

/** An assertion works once (RFC 7523, section 3, item 7). */
export interface UsedAssertion {
  /** SHA-256 of its `jti`. */
  readonly hash: string;
  /** From then on it is over, and may be forgotten. */
  readonly untilMs: number;
}

/** Whether a client was let in with keys of its own, so that it proves itself by assertions. */
export function hasKeys({ kind, metadata }: Pick<StoredClient, 'kind' | 'metadata'>): boolean {
  const { authMethod } = JSON.parse(metadata) as { readonly authMethod?: string };
  return kind === 'document' && authMethod === 'private_key_jwt';
}

export interface RedeemCodeInput {
  readonly scopeId: string;
  readonly client: ClientProof;
  readonly code: string;
  /** Absent in OAuth 2.1; where it is sent, it must be that of the authorization request. */
  readonly redirectUri: string | null;
  readonly verifier: string;
}

export interface RefreshInput {
  readonly scopeId: string;
  readonly client: ClientProof;
  readonly refreshToken: string;
}

/** Tokens, in clear: in this answer and nowhere else. */
export type TokenAnswer =
  | {
      readonly outcome: 'issued';
      readonly accessToken: string;
      readonly refreshToken: string;
      readonly expiresInMs: number;
      readonly allowed: ProgramAccess;
    }
  /** `client`: the client is unknown, or did not prove itself. `grant`: the code or token opens nothing. */
  | { readonly outcome: 'refused'; readonly because: 'client' | 'grant' };

/** A program or token that a person let in and that can still be used. */
export interface ListedProgram {
  readonly id: string;
  readonly kind: 'program' | 'token';
  readonly name: string;
  /** Null for a token. */
  readonly host: string | null;
  readonly allowed: ProgramAccess;
  readonly principal: string;
  /** The person's present name; null when it is not known. */
  readonly person: string | null;
  readonly createdMs: number;
  readonly expiresMs: number;
  /** At most some minutes old; null when it was never used. */
  readonly usedMs: number | null;
  /** The network address of that use. */
  readonly usedFrom: string | null;
}

/** The owner's rule for programs. */
export interface ProgramPolicy extends AdmittedPrograms {
  /** The calls that each program may make in a minute; null for any number. */
  readonly callsPerMinute: number | null;
  /** Whether members get a mail when a program is let in for them. */
  readonly mails: boolean;
}

/** Twenty calls a second: enough for a person's work, and too little to slow down the others. */
export const CALLS_PER_MINUTE_DEFAULT = 1_200;

export const POLICY_DEFAULT: ProgramPolicy = {
  programs: 'any',
  hosts: [],
  callsPerMinute: CALLS_PER_MINUTE_DEFAULT,
  mails: true,
};
