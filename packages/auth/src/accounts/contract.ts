/**
 * Accounts: the people whose credentials a tenant's own directory stores (spec 2.6), as `doAuthProvider` sees them. Each
 * operation is one transaction. The provider does slow work (hashing a password, verifying a signature) between two
 * calls; whatever must happen once (a code, a token, an attempt) is decided inside one.
 */
import type { SubjectSession, VerifiedSubject } from '../lib/subject.ts';

export interface Account {
  /** `usr_…`: the `sub` of the account's subjects. */
  readonly userId: string;
  /** In its one spelling (NFKC, lower case), to which mail is sent too. */
  readonly email: string;
  readonly name: string | null;
  /** Whether the account's holder has shown that mail to the address reaches them. */
  readonly emailVerified: boolean;
}

export interface AccountSecurity extends Account {
  readonly createdMs: number;
  /** Null when the account has no password. */
  readonly passwordChangedMs: number | null;
  readonly totp: boolean;
  readonly recoveryCodes: number;
  readonly passkeys: readonly Passkey[];
  readonly passkeyHandle: string;
}

export interface Passkey {
  readonly id: string;
  readonly name: string;
  /** Whether more than one device holds it. */
  readonly backedUp: boolean;
  readonly createdMs: number;
  readonly usedMs: number | null;
}

export interface PasskeyKey {
  readonly userId: string;
  readonly id: string;
  readonly publicKey: string;
  /** The handle by which it knows its account. A passkey with another one was made for another account. */
  readonly userHandle: string;
}

/** A browser in which an account has signed in before (OWASP, "device cookies"). The caller has verified its cookie. */
export interface KnownBrowser {
  readonly id: string;
  readonly userId: string;
  /** When it signed in. A newer password makes it unknown. */
  readonly sinceMs: number;
}

export interface Attempt {
  readonly scopeId: string;
  /** The client's network address, if the caller knows it: attempts are limited per address as well. */
  readonly address?: string | undefined;
  /** A known browser's attempts are counted separately, so that no attacker can use them up. */
  readonly browser?: KnownBrowser | undefined;
}

export interface Holder {
  readonly scopeId: string;
  readonly userId: string;
  /** It must still be live in the transaction that makes the change. */
  readonly session: SubjectSession;
}

/** Too many attempts: the directory looked nothing up. */
export interface Limited {
  readonly outcome: 'limited';
  readonly retryAfterMs: number;
}

/** A link that was made for an address. The token exists in this answer and nowhere else. */
export interface MadeLink {
  readonly outcome: 'made';
  readonly token: string;
  readonly expiresAtMs: number;
  readonly email: string;
  readonly name: string | null;
}

/** The purpose of a link. Each is single use, and a newer one of the same purpose and address retires the older. */
export type LinkPurpose = 'sign_up' | 'reset' | 'email_change' | 'email_revert';

export interface NewPasskey {
  readonly id: string;
  readonly publicKey: string;
  readonly counter: number;
  readonly backedUp: boolean;
  readonly name: string;
}

/** A passkey challenge that the caller made and has seen answered. It is recorded as used with its answer. */
export interface Challenge {
  readonly id: string;
  readonly expiresAtMs: number;
}

export type NewCredential =
  | { readonly kind: 'password'; readonly hash: string }
  | {
      readonly kind: 'passkey';
      readonly passkey: NewPasskey;
      readonly challenge: Challenge;
      readonly userHandle: string;
    };

export interface SignedInStep {
  readonly outcome: 'signed_in';
  readonly account: Account;
  /**
   * When the session is to be issued: above all that was ended, and below all that will be. A later end of all
   * sessions ends it too, also before it is recorded.
   */
  readonly sessionAtMs: number;
  /** Present when a recovery code was used: how many are left. */
  readonly recoveryCodesLeft?: number;
}

/** The hash to compare a password with. */
export interface PasswordToJudge {
  readonly outcome: 'judge';
  readonly userId: string | null;
  readonly hash: string | null;
  /** Goes back with the verdict, which is about the password of that time. */
  readonly passwordChangedMs: number | null;
}

export type SignInStep =
  | SignedInStep
  /** A second factor is needed. The token stands for the first, for five minutes and five tries. */
  | { readonly outcome: 'second_factor'; readonly token: string; readonly expiresAtMs: number }
  | {
      readonly outcome: 'refused';
      /** Present, once a day at most, when this locked the account: the caller notifies its holder. */
      readonly locked?: Account;
    };

/**
 * The accounts feature of the identity directory. Inputs name the account by `userId` once its holder is signed in.
 * Every operation that takes an e-mail address throws `validation_failed` when it is none, and every one that takes a
 * `userId` and changes something `not_found`, reason `account_unknown`, when there is no such account. A
 * {@link Holder}'s request is `unauthenticated`, reason `session_ended`, when their session is over by then.
 */
export interface AccountOperations {
  /**
   * Asks for an account. An address that has one gets no second: the caller writes to its holder instead, and
   * answers all people alike. Limited per network address and per e-mail address.
   */
  beginSignUp(
    input: Attempt & { readonly email: string; readonly name?: string },
  ): MadeLink | { readonly outcome: 'known'; readonly account: Account } | Limited;

  /** Asks for a new password. `unknown` is for the caller alone: all people are answered alike. */
  beginReset(
    input: Attempt & { readonly email: string },
  ): MadeLink | { readonly outcome: 'unknown' } | Limited;

  /** Asks to change the address of an account. A new address that has an account is `known`. */
  beginEmailChange(
    input: Attempt & Holder & { readonly email: string },
  ): MadeLink | { readonly outcome: 'known' } | Limited;

  /** Returns the address and account of a link without using it; null when it cannot be used. A query. */
  showLink(input: { readonly token: string; readonly purpose: LinkPurpose }): {
    readonly email: string;
    readonly name: string | null;
    readonly userId: string | null;
    /** The account's credentials besides a password. */
    readonly passkeys: readonly Passkey[];
  } | null;

  /**
   * Makes the account that a link was sent for, with its first credential and a verified address.
   * @throws PlatformError `conflict`, reason `link_used`, `link_expired` or `account_exists`; `not_found`, reason `link_unknown`.
   */
  completeSignUp(input: {
    readonly scopeId: string;
    readonly token: string;
    readonly name?: string;
    readonly credential: NewCredential;
  }): SignedInStep;

  /**
   * Sets a new password, verifies the address, ends every session of the account and lifts its lock. Passkeys are
   * removed on request. A second factor stays: the answer is that of `finishPassword`.
   * @throws PlatformError as {@link completeSignUp} does.
   */
  completeReset(
    input: Attempt & {
      readonly token: string;
      readonly hash: string;
      readonly removePasskeys?: boolean;
    },
  ): SignInStep;

  /**
   * Moves the account to the address that a link was sent to, for its holder only: the reader of a mistyped address's
   * mail must not get the account. Returns the former address, so that the caller can notify it; and, if that was
   * verified, a link for it that reverts the change within 7 days.
   * @throws PlatformError as {@link completeSignUp} does; `not_found`, reason `link_unknown`, for another account's.
   */
  completeEmailChange(input: Holder & { readonly token: string }): {
    readonly account: Account;
    readonly formerEmail: string;
    readonly revert: MadeLink | null;
  };

  /**
   * Gives an account its former address back, by the link that was sent there. Every session of the account ends, and
   * its pending sign-ins and links are void.
   * @throws PlatformError as {@link completeSignUp} does.
   */
  revertEmailChange(input: { readonly scopeId: string; readonly token: string }): Account;

  /**
   * Counts an attempt before it is judged, so that a burst of guesses is a burst of counted ones. Returns the hash to
   * compare with: null for an unknown address and for an account without a password, which the caller must make to
   * cost the same. Unknown addresses are counted and locked as known ones are.
   */
  beginPassword(input: Attempt & { readonly email: string }): PasswordToJudge | Limited;

  /** The same for a signed-in holder who confirms their identity. */
  beginConfirm(input: Attempt & Holder): PasswordToJudge | Limited;

  /**
   * Takes the verdict of the comparison. A right password clears the attempts of the account, and the sign-in is
   * complete or needs its second factor. That holds for a confirmation too: a session from before the second factor
   * must not be enough to turn it off. A password that was changed since is `refused`. `rehash` replaces the hash.
   * @throws PlatformError `unauthenticated`, reason `session_ended`, with a `session` that is over.
   */
  finishPassword(
    input: Attempt & {
      readonly email: string;
      readonly userId: string | null;
      readonly passwordChangedMs: number | null;
      readonly right: boolean;
      readonly rehash?: string;
      readonly session?: SubjectSession;
    },
  ): SignInStep;

  /**
   * Uses a TOTP code (RFC 6238) or a recovery code for a waiting sign-in. Each works once. Wrong codes of an account
   * are counted and locked as wrong passwords are, whichever token they come with.
   */
  finishSecondFactor(
    input: Attempt & { readonly token: string; readonly code: string },
  ): SignInStep | { readonly outcome: 'expired' } | Limited;

  /** Returns the key of a passkey, or null. A query. */
  findPasskey(input: { readonly id: string }): PasskeyKey | null;

  /**
   * Signs in with a passkey whose signature was verified. A passkey is two factors, so no other is needed. A challenge
   * that was used already is refused.
   * @throws PlatformError `unauthenticated`, reason `session_ended`, with a `session` that is over.
   */
  finishPasskey(
    input: Attempt & {
      readonly id: string;
      readonly counter: number;
      readonly backedUp: boolean;
      readonly challenge: Challenge;
      readonly session?: SubjectSession;
    },
  ): SignInStep;

  /**
   * @throws PlatformError `conflict`, reason `passkey_known` or `passkeys_full` (20 of one account); `forbidden`,
   * reason `passkey_refused`, when the challenge was used already.
   */
  addPasskey(input: Holder & { readonly passkey: NewPasskey; readonly challenge: Challenge }): Passkey;
  /** @throws PlatformError `not_found`. */
  renamePasskey(input: Holder & { readonly id: string; readonly name: string }): Passkey;
  /** @throws PlatformError `not_found`; `conflict`, reason `last_credential`. */
  removePasskey(input: Holder & { readonly id: string }): null;

  /** Sets the password, and ends every session of the account. Returns when the next one is issued. */
  setPassword(input: Holder & { readonly hash: string }): { readonly sessionAtMs: number };

  /**
   * Turns TOTP on when a code of the secret (base32, the caller's) is right. Ends every session of the account, since
   * none has proved this factor, and returns ten recovery codes, shown once.
   * @throws PlatformError `validation_failed`, reason `code_wrong`; `conflict`, reason `totp_enabled`.
   */
  enableTotp(input: Holder & { readonly secret: string; readonly code: string }): {
    readonly recoveryCodes: readonly string[];
    readonly sessionAtMs: number;
  };
  disableTotp(input: Holder): null;
  /** Makes ten new codes; the earlier ones are void. @throws PlatformError `conflict`, reason `totp_disabled`. */
  makeRecoveryCodes(input: Holder): { readonly recoveryCodes: readonly string[] };

  /** Returns an account with its credentials, or null. A query. */
  accountSecurity(input: { readonly userId: string }): AccountSecurity | null;
  /** Returns the account behind a session as it is now, or null. A query. */
  findAccount(input: { readonly userId: string }): Account | null;
  renameAccount(input: Holder & { readonly name: string | null }): Account;

  /**
   * Removes an account with all its credentials, and ends its sessions, for its holder or for an admin. The tenant's
   * record of the person and their membership stays: `removeMember` removes that.
   * @throws PlatformError `conflict`, reason `owner_seat_held`, for the holder of an owner seat.
   */
  deleteAccount(
    input: Holder | { readonly scopeId?: string; readonly userId: string; readonly by: string },
  ): null;

  /**
   * Imports an account, with a PHC string of its password if there is one: argon2id or scrypt that costs between half
   * and twice what ours do, since a dearer or cheaper comparison would reveal by its time that there is an account.
   * Leave others out; their holders choose a new password by mail.
   * @throws PlatformError `conflict`, reason `account_exists`; `validation_failed`, reason `hash_unsupported` for such
   * a hash.
   */
  importAccount(input: {
    readonly email: string;
    readonly name?: string | null;
    readonly emailVerified: boolean;
    readonly passwordHash?: string;
  }): Account;
}

/** Returns the issuer that an account's subjects name: the tenant's own directory. */
export function directoryIssuer(tenantId: string): string {
  return `urn:freehold:directory:${tenantId}`;
}

/** Returns the subject of an account, in a session if there is one. */
export function accountSubject(
  issuer: string,
  { userId, email, name, emailVerified }: Account,
  session?: SubjectSession,
): VerifiedSubject {
  return {
    issuer,
    sub: userId,
    email,
    name,
    emailVerified,
    ...(session && { session: { sid: session.sid, issuedAtMs: session.issuedAtMs } }),
  };
}
