/** What every route of the provider works with: the provider's own things, and those of one request. */
import type { SessionCookies, VerifiedSession } from '@freehold/oidc-rp';
import type { Account, Attempt } from '../accounts/contract.ts';
import type { IdentityDirectory } from '../identity-directory/unit.ts';
import type { Mail } from '../mailer.ts';
import type { VerifiedSubject } from '../subject.ts';
import type { PasswordHasher } from './passwords/password-hash.ts';
import type { CompleteTheme } from './theme.ts';

/** What the provider needs of a tenant's identity directory. */
export type AccountDirectory = Pick<
  IdentityDirectory,
  | 'sessionState'
  | 'recordSignIn'
  | 'endSession'
  | 'endAllSessions'
  | 'listSessions'
  | 'endOwnSession'
  | 'beginSignUp'
  | 'beginReset'
  | 'beginEmailChange'
  | 'showLink'
  | 'completeSignUp'
  | 'completeReset'
  | 'completeEmailChange'
  | 'beginPassword'
  | 'beginConfirm'
  | 'finishPassword'
  | 'finishSecondFactor'
  | 'beginPasskey'
  | 'takeChallenge'
  | 'findPasskey'
  | 'finishPasskey'
  | 'addPasskey'
  | 'renamePasskey'
  | 'removePasskey'
  | 'setPassword'
  | 'beginTotp'
  | 'enableTotp'
  | 'disableTotp'
  | 'makeRecoveryCodes'
  | 'accountSecurity'
  | 'findAccount'
  | 'renameAccount'
>;

/** The provider. */
export interface ProviderContext {
  readonly scopeId: string;
  /** The issuer of its subjects. */
  readonly issuer: string;
  readonly directory: AccountDirectory;
  readonly hasher: PasswordHasher;
  readonly theme: CompleteTheme;
  readonly signUp: 'open' | 'closed';
  readonly passkeys: { readonly rpName?: string | undefined; readonly rpId?: string | undefined };
  /** Where a sign-in ends that named no `returnTo`. */
  readonly onSuccess: string;
  readonly now: () => number;
  readonly random: (bytes: number) => Uint8Array;
  /** Sessions that are minted at this moment, in milliseconds since the epoch. */
  readonly cookiesAt: (atMs: number) => SessionCookies;
  /** Reads and clears sessions. */
  readonly cookies: SessionCookies;
  /** Sends a mail without anybody waiting for it: how long it takes would tell whether there is an account. */
  readonly post: (mail: Mail) => void;
  /** Tells the operator of what nobody expected. */
  readonly report: (error: unknown) => void;
  readonly originOf: (request: Request) => string;
}

/** One request. */
export interface Exchange {
  readonly request: Request;
  readonly query: URLSearchParams;
  /** The application's own origin, as its users see it. */
  readonly origin: string;
  /** The application's name, as its pages and mails say it. */
  readonly appName: string;
  /** Where attempts of this request are counted. */
  readonly attempt: Attempt;
}

/** Answers one method of one address. */
export type Handler = (context: ProviderContext, exchange: Exchange) => Promise<Response>;

/** The subject of an account, in a session if there is one. */
export function subjectOf(issuer: string, account: Account, session?: VerifiedSession): VerifiedSubject {
  return {
    issuer,
    sub: account.userId,
    email: account.email,
    name: account.name,
    emailVerified: account.emailVerified,
    ...(session ? { session: { sid: session.sid, issuedAtMs: session.issuedAtMs } } : {}),
  };
}
