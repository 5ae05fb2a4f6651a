/**
 * Accounts: the people whose credentials a tenant's own directory keeps (spec 2.6), as `doAuthProvider` sees them.
 * Everything here is one transaction. What is slow (hashing a password, verifying a passkey's signature) is done by
 * the provider between two calls; what must happen once (a code, a token, an attempt) is decided inside one.
 */
import type { SubjectSession } from '../lib/subject.ts';

/** Who an account is, as a session and a page show it. */
export interface Account {
  /** `usr_…`: the `sub` of the account's subjects. */
  readonly userId: string;
  /** In its one spelling (NFKC, lower case), to which mail is written too. */
  readonly email: string;
  readonly name: string | null;
  /** Whether the account's holder has shown that mail to the address reaches them. */
  readonly emailVerified: boolean;
}

/** What an account can sign in with. */
export interface AccountSecurity extends Account {
  readonly createdMs: number;
  /** Null when the account has no password. */
  readonly passwordChangedMs: number | null;
  readonly totp: boolean;
  /** How many recovery codes are unused. */
  readonly recoveryCodes: number;
  readonly passkeys: readonly Passkey[];
  /** What its passkeys know it by, base64url: one for all of them. */
  readonly passkeyHandle: string;
}

/** A passkey, as its holder sees it. */
export interface Passkey {
  /** The credential id, base64url. */
  readonly id: string;
  /** The holder's own name for it. */
  readonly name: string;
  /** Whether it is kept in more than one device. */
  readonly backedUp: boolean;
  readonly createdMs: number;
  readonly usedMs: number | null;
}

/** What verifying a passkey's assertion takes. */
export interface PasskeyKey {
  readonly userId: string;
  readonly id: string;
  /** COSE key, base64url. */
  readonly publicKey: string;
  /** What the passkey knows its account by. One that says otherwise was made for another account. */
  readonly userHandle: string;
}

/** A browser in which an account has signed in before (OWASP, "device cookies"). The caller has verified its cookie. */
export interface KnownBrowser {
  /** The browser's own, for this account. */
  readonly id: string;
  readonly userId: string;
  /** When it signed in. A password that is newer makes it unknown. */
  readonly sinceMs: number;
}

/** Where an attempt comes from. */
export interface Attempt {
  readonly scopeId: string;
  /** The client's network address, if the caller knows it: attempts are limited per address as well. */
  readonly address?: string | undefined;
  /** Attempts from a browser that its account knows are counted by themselves: nobody else can use them up. */
  readonly browser?: KnownBrowser | undefined;
}

/** Somebody who is signed in and changes their own account. */
export interface Holder {
  readonly scopeId: string;
  readonly userId: string;
  /** It must still stand in the transaction that makes the change. */
  readonly session: SubjectSession;
}

/** Too many attempts: nothing was looked up. */
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

/** What a link is for. Each is single use, and a newer one of the same purpose and address retires the older. */
export type LinkPurpose = 'sign_up' | 'reset' | 'email_change' | 'email_revert';

/** What is kept of a passkey that was registered. */
export interface NewPasskey {
  readonly id: string;
  readonly publicKey: string;
  readonly counter: number;
  readonly backedUp: boolean;
  readonly name: string;
}

/** A passkey challenge that the caller made and has seen answered. It is recorded as used with what it was for. */
export interface Challenge {
  /** Stands for the challenge, and for no other. */
  readonly id: string;
  readonly expiresAtMs: number;
}

/** How an account proves itself from now on. */
export type NewCredential =
  | { readonly kind: 'password'; readonly hash: string }
  | {
      readonly kind: 'passkey';
      readonly passkey: NewPasskey;
      readonly challenge: Challenge;
      /** What the passkey was told to know the account by. */
      readonly userHandle: string;
    };

/** Somebody is signed in. */
export interface SignedInStep {
  readonly outcome: 'signed_in';
  readonly account: Account;
  /**
   * When the session is to be issued: above what was ended, and below what will be. Whatever ends all sessions from
   * now on ends it too, also before it is recorded.
   */
  readonly sessionAtMs: number;
  /** Present when a recovery code was used: how many are left. */
  readonly recoveryCodesLeft?: number;
}

/** What a password is to be compared with. */
export interface PasswordToJudge {
  readonly outcome: 'judge';
  readonly userId: string | null;
  readonly hash: string | null;
  /** Goes back with the verdict, which is about the password of that time. */
  readonly passwordChangedMs: number | null;
}

/** Whether a sign-in is complete after its first factor. */
export type SignInStep =
  | SignedInStep
  /** A second factor is asked for. The token stands for the first, for five minutes and five tries. */
  | { readonly outcome: 'second_factor'; readonly token: string; readonly expiresAtMs: number }
  | {
      readonly outcome: 'refused';
      /** Present, once a day at most, when the account was locked by it: its holder is to be told. */
      readonly locked?: Account;
    };

/**
 * The accounts feature of the identity directory. Inputs name the account by `userId` once somebody is signed in.
 * Every operation that takes an e-mail address throws `validation_failed` when it is none, and every one that takes a
 * `userId` and changes something `not_found`, reason `account_unknown`, when there is no such account. What a
 * {@link Holder} asks for is `unauthenticated`, reason `session_ended`, when their session is over by then.
 */
export interface AccountOperations {
  /**
   * Asks for an account. An address that has one gets no second: the caller writes to its holder instead, and
   * answers everybody alike. Limited per address and per e-mail.
   */
  beginSignUp(
    input: Attempt & { readonly email: string; readonly name?: string },
  ): MadeLink | { readonly outcome: 'known'; readonly account: Account } | Limited;

  /** Asks for a new password. `unknown` is for the caller alone: everybody is answered alike. */
  beginReset(
    input: Attempt & { readonly email: string },
  ): MadeLink | { readonly outcome: 'unknown' } | Limited;

  /**
   * Asks to change the address of an account. A new address that has an account is `known`.
   * @throws PlatformError `validation_failed` when it is no address.
   */
  beginEmailChange(
    input: Attempt & Holder & { readonly email: string },
  ): MadeLink | { readonly outcome: 'known' } | Limited;

  /** Whom a link is for, without using it; null when it is unknown, used, retired or expired. A query. */
  showLink(input: { readonly token: string; readonly purpose: LinkPurpose }): {
    readonly email: string;
    readonly name: string | null;
    /** The account, if there is one. */
    readonly userId: string | null;
    /** What it could be signed in with besides a password. */
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
   * removed when that is asked for. A second factor stays: the answer is what `finishPassword` would answer.
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
   * Moves the account to the address that a link was sent to, for its holder only: whoever reads the mail of a
   * mistyped address must not get the account. Answers the former address too, so that it can be told; and, if that
   * was verified, a link for it that takes the change back within 7 days.
   * @throws PlatformError as {@link completeSignUp} does; `not_found`, reason `link_unknown`, for another account's.
   */
  completeEmailChange(input: Holder & { readonly token: string }): {
    readonly account: Account;
    readonly formerEmail: string;
    readonly revert: MadeLink | null;
  };

  /**
   * Gives an account its former address back, by the link that was sent there: every session ends, and whatever was
   * begun in the account's name is void.
   * @throws PlatformError as {@link completeSignUp} does.
   */
  revertEmailChange(input: { readonly scopeId: string; readonly token: string }): Account;

  /**
   * Counts an attempt before it is judged, so that a burst of guesses is a burst of counted ones, and answers the
   * hash to compare with: null for an unknown address and for an account without a password, which the caller
   * must make to cost the same. Unknown addresses are counted and locked as known ones are.
   */
  beginPassword(input: Attempt & { readonly email: string }): PasswordToJudge | Limited;

  /** The same for somebody who is signed in and proves once more who they are. */
  beginConfirm(input: Attempt & Holder): PasswordToJudge | Limited;

  /**
   * What the comparison said. Right: the attempts of the account are forgotten, and the sign-in is complete or needs
   * its second factor, also when it only proves once more who somebody is: a session from before there was a second
   * factor must not be enough to turn that off. A password that was changed since is `refused`. `rehash` replaces
   * the hash.
   * @throws PlatformError `unauthenticated`, reason `session_ended`, with a `session` that is over.
   */
  finishPassword(
    input: Attempt & {
      readonly email: string;
      readonly userId: string | null;
      /** As the begun attempt was told it. */
      readonly passwordChangedMs: number | null;
      readonly right: boolean;
      readonly rehash?: string;
      /** The session of who only proves once more who they are. */
      readonly session?: SubjectSession;
    },
  ): SignInStep;

  /**
   * Uses a TOTP code (RFC 6238) or a recovery code for a sign-in that waits for it. Each works once. Wrong codes of
   * an account are counted and locked as wrong passwords are, whichever token they come with.
   */
  finishSecondFactor(
    input: Attempt & { readonly token: string; readonly code: string },
  ): SignInStep | { readonly outcome: 'expired' } | Limited;

  /** The key of a passkey, or null. A query. */
  findPasskey(input: { readonly id: string }): PasskeyKey | null;

  /**
   * A passkey whose signature was verified: who it signs in. A passkey is two factors, so none is asked for. A
   * challenge that was used already is refused.
   * @throws PlatformError `unauthenticated`, reason `session_ended`, with a `session` that is over.
   */
  finishPasskey(
    input: Attempt & {
      readonly id: string;
      readonly counter: number;
      readonly backedUp: boolean;
      readonly challenge: Challenge;
      /** The session of who only proves once more who they are. */
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

  /** Sets the password, and ends every session of the account. Answers when the next one is issued. */
  setPassword(input: Holder & { readonly hash: string }): { readonly sessionAtMs: number };

  /**
   * Turns TOTP on when a code of the secret (base32, the caller's) is right, ends every session of the account, which
   * did not prove this factor, and answers ten recovery codes, shown once.
   * @throws PlatformError `validation_failed`, reason `code_wrong`; `conflict`, reason `totp_enabled`.
   */
  enableTotp(input: Holder & { readonly secret: string; readonly code: string }): {
    readonly recoveryCodes: readonly string[];
    /** When the next session is issued. */
    readonly sessionAtMs: number;
  };
  disableTotp(input: Holder): null;
  /** Ten new codes; the earlier ones are void. @throws PlatformError `conflict`, reason `totp_disabled`. */
  makeRecoveryCodes(input: Holder): { readonly recoveryCodes: readonly string[] };

  /** An account with what it signs in with, or null. A query. */
  accountSecurity(input: { readonly userId: string }): AccountSecurity | null;
  /** The subject of a session as the directory has it now, or null when there is no such account. A query. */
  findAccount(input: { readonly userId: string }): Account | null;
  renameAccount(input: Holder & { readonly name: string | null }): Account;

  /**
   * Removes an account with everything it signs in with, and ends its sessions. What the tenant knows of the person
   * and of their membership stays: that is `removeMember`'s. Asked for by its holder, or by somebody in charge.
   * @throws PlatformError `conflict`, reason `last_owner`, for the holder of an owner seat.
   */
  deleteAccount(
    input: Holder | { readonly scopeId?: string; readonly userId: string; readonly by: string },
  ): null;

  /**
   * Takes over an account from elsewhere, with a PHC string of its password if there is one. It must be a hash of
   * argon2id or scrypt that costs between half and twice what ours do: comparing with a dearer or a cheaper one would
   * tell by its time that there is an account. Leave others out; their holders choose a new password by mail.
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

/** The issuer that an account's subjects name: the tenant's own directory. */
export function directoryIssuer(tenantId: string): string {
  return `urn:freehold:directory:${tenantId}`;
}
