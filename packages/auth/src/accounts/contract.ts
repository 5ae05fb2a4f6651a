/**
 * Accounts: the people whose credentials a tenant's own directory keeps (spec 2.6), as `doAuthProvider` sees them.
 * Everything here is one transaction. What is slow (hashing a password, verifying a passkey's signature) is done by
 * the provider between two calls; what must happen once (a code, a token, an attempt) is decided inside one.
 */

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
  readonly counter: number;
  readonly transports: readonly string[];
}

/** Where an attempt comes from. */
export interface Attempt {
  readonly scopeId: string;
  /** The client's network address, if the caller knows it: attempts are limited per address as well. */
  readonly address?: string | undefined;
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
export type LinkPurpose = 'sign_up' | 'reset' | 'email_change';

/** What is kept of a passkey that was registered. */
export interface NewPasskey {
  readonly id: string;
  readonly publicKey: string;
  readonly counter: number;
  readonly transports: readonly string[];
  readonly backedUp: boolean;
  readonly name: string;
}

/** How an account proves itself from now on. */
export type NewCredential =
  | { readonly kind: 'password'; readonly hash: string }
  | { readonly kind: 'passkey'; readonly passkey: NewPasskey };

/** Whether a sign-in is complete after its first factor. */
export type SignInStep =
  | { readonly outcome: 'signed_in'; readonly account: Account }
  /** A second factor is asked for. The token stands for the first, for five minutes and five tries. */
  | { readonly outcome: 'second_factor'; readonly token: string; readonly expiresAtMs: number }
  | { readonly outcome: 'refused' };

/**
 * The accounts feature of the identity directory. Inputs name the account by `userId` once somebody is signed in.
 * Every operation that takes an e-mail address throws `validation_failed` when it is none, and every one that takes a
 * `userId` and changes something `not_found`, reason `account_unknown`, when there is no such account.
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
    input: Attempt & { readonly userId: string; readonly email: string },
  ): MadeLink | { readonly outcome: 'known' } | Limited;

  /** Whom a link is for, without using it; null when it is unknown, used, retired or expired. A query. */
  showLink(input: {
    readonly token: string;
    readonly purpose: LinkPurpose;
  }): { readonly email: string; readonly name: string | null } | null;

  /**
   * Makes the account that a link was sent for, with its first credential and a verified address.
   * @throws PlatformError `conflict`, reason `link_used`, `link_expired` or `account_exists`; `not_found`, reason `link_unknown`.
   */
  completeSignUp(input: {
    readonly scopeId: string;
    readonly token: string;
    readonly name?: string;
    readonly credential: NewCredential;
  }): Account;

  /**
   * Sets a new password, verifies the address, ends every session of the account and lifts its lock. A second factor
   * stays: the answer is what `finishPassword` would answer.
   * @throws PlatformError as {@link completeSignUp} does.
   */
  completeReset(input: {
    readonly scopeId: string;
    readonly token: string;
    readonly hash: string;
  }): SignInStep;

  /** @throws PlatformError as {@link completeSignUp} does. Answers the former address too, so that it can be told. */
  completeEmailChange(input: { readonly scopeId: string; readonly token: string }): {
    readonly account: Account;
    readonly formerEmail: string;
  };

  /**
   * Counts an attempt before it is judged, so that a burst of guesses is a burst of counted ones, and answers the
   * hash to compare with: null for an unknown address and for an account without a password, which the caller
   * must make to cost the same. Unknown addresses are counted and locked as known ones are.
   */
  beginPassword(
    input: Attempt & { readonly email: string },
  ): { readonly outcome: 'judge'; readonly userId: string | null; readonly hash: string | null } | Limited;

  /** The same for somebody who is signed in and proves once more who they are. */
  beginConfirm(
    input: Attempt & { readonly userId: string },
  ): { readonly outcome: 'judge'; readonly userId: string; readonly hash: string | null } | Limited;

  /**
   * What the comparison said. Right: the attempts of the account are forgotten, and the sign-in is complete or needs
   * its second factor. `judgedHash` must still be the account's, else the answer is `refused`. `rehash` replaces it.
   */
  finishPassword(
    input: Attempt & {
      readonly email: string;
      readonly userId: string | null;
      readonly judgedHash: string | null;
      readonly right: boolean;
      readonly rehash?: string;
      /** True: only proves who somebody is, so that no second factor is asked for. */
      readonly confirm?: boolean;
    },
  ): SignInStep;

  /**
   * Uses a TOTP code (RFC 6238) or a recovery code for a sign-in that waits for it. Each works once. Wrong codes of
   * an account are counted and locked as wrong passwords are, whichever token they come with.
   */
  finishSecondFactor(
    input: Attempt & { readonly token: string; readonly code: string },
  ): SignInStep | { readonly outcome: 'expired' } | Limited;

  /**
   * A challenge for a passkey ceremony, valid for five minutes and once.
   * @throws PlatformError `validation_failed` for a registration that is for nobody or for two; `not_found`, reason
   * `account_unknown` or `link_unknown`.
   */
  beginPasskey(input: {
    readonly purpose: 'register' | 'sign_in';
    /** The account, when it is known: its own for `register`. A sign-up link's token stands for one to come. */
    readonly userId?: string;
    readonly linkToken?: string;
  }): { readonly challenge: string; readonly expiresAtMs: number };

  /** Uses a challenge up; false when it is unknown, used, expired, or made for something else. */
  takeChallenge(input: {
    readonly challenge: string;
    readonly purpose: 'register' | 'sign_in';
    readonly userId?: string;
    readonly linkToken?: string;
  }): boolean;

  /** The key of a passkey, or null. A query. */
  findPasskey(input: { readonly id: string }): PasskeyKey | null;

  /** A passkey whose signature was verified: who it signs in. A passkey is two factors, so none is asked for. */
  finishPasskey(
    input: Attempt & { readonly id: string; readonly counter: number; readonly backedUp: boolean },
  ): SignInStep;

  /** @throws PlatformError `conflict`, reason `passkey_known` or `passkeys_full` (20 of one account). */
  addPasskey(input: {
    readonly scopeId: string;
    readonly userId: string;
    readonly passkey: NewPasskey;
  }): Passkey;
  /** @throws PlatformError `not_found`. */
  renamePasskey(input: { readonly userId: string; readonly id: string; readonly name: string }): Passkey;
  /** @throws PlatformError `not_found`; `conflict`, reason `last_credential`. */
  removePasskey(input: { readonly scopeId: string; readonly userId: string; readonly id: string }): null;

  /** Sets the password, and ends the account's sessions up to now. @throws PlatformError `not_found`. */
  setPassword(input: { readonly scopeId: string; readonly userId: string; readonly hash: string }): null;

  /** A fresh TOTP secret (base32), not yet in use; a new one replaces it. @throws PlatformError `conflict`, reason `totp_enabled`. */
  beginTotp(input: { readonly userId: string }): { readonly secret: string };
  /**
   * Turns TOTP on when a code of the fresh secret is right, and answers ten recovery codes, shown once.
   * @throws PlatformError `validation_failed`, reason `code_wrong`; `conflict`, reason `totp_not_begun`.
   */
  enableTotp(input: { readonly scopeId: string; readonly userId: string; readonly code: string }): {
    readonly recoveryCodes: readonly string[];
  };
  disableTotp(input: { readonly scopeId: string; readonly userId: string }): null;
  /** Ten new codes; the earlier ones are void. @throws PlatformError `conflict`, reason `totp_disabled`. */
  makeRecoveryCodes(input: { readonly scopeId: string; readonly userId: string }): {
    readonly recoveryCodes: readonly string[];
  };

  /** An account with what it signs in with, or null. A query. */
  accountSecurity(input: { readonly userId: string }): AccountSecurity | null;
  /** The subject of a session as the directory has it now, or null when there is no such account. A query. */
  findAccount(input: { readonly userId: string }): Account | null;
  renameAccount(input: {
    readonly scopeId: string;
    readonly userId: string;
    readonly name: string | null;
  }): Account;

  /**
   * Takes over an account from elsewhere, with a PHC string of its password if there is one.
   * @throws PlatformError `conflict`, reason `account_exists`; `validation_failed`.
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
