/**
 * Who is behind a request, in one reading of the tenant's directory: whether the instance's configuration is still the
 * one that the caller knows, which of the presented sessions is live, and the principal of its person.
 */
import type { UnitContext } from '@freehold/store';
import type { Account } from '../accounts/contract.ts';
import { directoryIssuer } from '../accounts/contract.ts';
import type { InstanceConfig } from '../config/operations.ts';
import type { FoundPrincipal, ResolvePrincipalInput } from '../people/operations.ts';
import { sessionStateOf } from '../sessions/session-state.ts';
import type { SubjectSession, VerifiedSubject } from '../lib/subject.ts';

/** Proof that a request brings, verified as far as it goes without the directory. */
export type Presented =
  /** A subject as the issuer named it. Without a session it is a token's, which the directory does not end. */
  | { readonly subject: VerifiedSubject }
  /** The holder of an account of the directory itself, which knows how they are called now. */
  | { readonly userId: string; readonly session: SubjectSession };

export interface RecogniseInput {
  readonly scopeId: string;
  /** The version of the configuration that the proofs were verified under. */
  readonly knownVersion: string;
  readonly presented: readonly Presented[];
}

export type Recognised =
  /** The configuration is another one now, and so may be what verifies: nothing was judged. */
  | { readonly changed: true }
  | {
      readonly changed: false;
      /** Null for nobody: nothing live was presented, or more than one session that is. */
      readonly subject: VerifiedSubject | null;
      readonly found: FoundPrincipal | null;
    };

export interface RecogniseParts {
  readonly unit: UnitContext;
  readInstanceConfig(input: { scopeId: string; knownVersion?: string }): InstanceConfig;
  findAccount(input: { readonly userId: string }): Account | null;
  findPrincipal(input: ResolvePrincipalInput): FoundPrincipal;
}

export function makeRecogniseOperation({ unit, ...directory }: RecogniseParts) {
  const judge = (presented: Presented): VerifiedSubject | null => {
    if ('subject' in presented) {
      const { subject } = presented;
      if (!subject.session) return subject;
      return sessionStateOf(unit, subject, subject.session) === 'live' ? subject : null;
    }
    const { userId, session } = presented;
    const issuer = directoryIssuer(unit.key);
    if (sessionStateOf(unit, { issuer, sub: userId }, session) === 'ended') return null;
    const account = directory.findAccount({ userId });
    return account && accountSubject(issuer, account, session);
  };

  return {
    recognise({ scopeId, knownVersion, presented }: RecogniseInput): Recognised {
      if (directory.readInstanceConfig({ scopeId, knownVersion }).changed) return { changed: true };
      const live = presented.map(judge).filter((subject) => subject !== null);
      // Two that live are nobody's: see `findLiveSession`.
      const [only] = live;
      if (!only || live.length > 1) return { changed: false, subject: null, found: null };
      const { session, ...subject } = only;
      const found = directory.findPrincipal({ scopeId, subject, ...(session ? { session } : {}) });
      return { changed: false, subject: only, found };
    },
  };
}

/** The subject of an account, in a session if there is one. */
export function accountSubject(
  issuer: string,
  account: Account,
  session?: SubjectSession | undefined,
): VerifiedSubject {
  return {
    issuer,
    sub: account.userId,
    email: account.email,
    name: account.name,
    emailVerified: account.emailVerified,
    ...(session ? { session: { sid: session.sid, issuedAtMs: session.issuedAtMs } } : {}),
  };
}
