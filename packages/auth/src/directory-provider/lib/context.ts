/** What every route of the provider works with: the provider's own things, and those of one request. */
import type { SessionCookies } from '@freehold/oidc-rp';
import type { Attempt } from '../../accounts/contract.ts';
import type { IdentityDirectory } from '../../identity-directory/unit.ts';
import type { Mail } from '../../mailer.ts';
import type { PasswordHasher } from '../passwords/password-hash.ts';
import type { Seals } from './seals.ts';
import type { CompleteTheme } from '../pages/theme.ts';

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
  | 'revertEmailChange'
  | 'beginPassword'
  | 'beginConfirm'
  | 'finishPassword'
  | 'finishSecondFactor'
  | 'findPasskey'
  | 'finishPasskey'
  | 'addPasskey'
  | 'renamePasskey'
  | 'removePasskey'
  | 'setPassword'
  | 'enableTotp'
  | 'disableTotp'
  | 'makeRecoveryCodes'
  | 'accountSecurity'
  | 'findAccount'
  | 'renameAccount'
  | 'deleteAccount'
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
  /** Makes, reads and clears sessions. */
  readonly cookies: SessionCookies;
  /** What goes out and comes back unchanged. */
  readonly seals: Seals;
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
  /** Where attempts of this request are counted: by its network, or by itself from a browser that an account knows. */
  readonly attempt: Attempt;
}

/** Answers one method of one address. */
export type Handler = (context: ProviderContext, exchange: Exchange) => Promise<Response>;

export { accountSubject as subjectOf } from '../../identity-directory/recognise.ts';
