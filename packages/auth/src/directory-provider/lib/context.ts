/** The parts that every route works with: the provider's own, and those of one request. */
import type { SessionCookies } from '@freehold/oidc-rp';
import type { AccountOperations, Attempt } from '../../accounts/contract.ts';
import type { IdentityDirectory } from '../../identity-directory/unit.ts';
import type { Seals } from '../../lib/seals.ts';
import type { CompleteTheme } from '../pages/theme.ts';
import type { PasswordHasher } from '../passwords/password-hash.ts';
import type { Texts } from '../texts/en.ts';
import type { Mail } from './mails.ts';

/** The methods of a tenant's identity directory that the provider calls. */
export type AccountDirectory = Pick<
  IdentityDirectory,
  | Exclude<keyof AccountOperations, 'importAccount'>
  | 'sessionState'
  | 'recordSignIn'
  | 'endSession'
  | 'endAllSessions'
  | 'listSessions'
  | 'endOwnSession'
>;

export interface ProviderContext {
  readonly scopeId: string;
  readonly issuer: string;
  readonly directory: AccountDirectory;
  readonly hasher: PasswordHasher;
  readonly theme: CompleteTheme;
  readonly signUp: 'open' | 'closed';
  readonly passkeys: { readonly rpName?: string | undefined; readonly rpId?: string | undefined };
  readonly onSuccess: string;
  readonly now: () => number;
  readonly random: (bytes: number) => Uint8Array;
  readonly cookies: SessionCookies;
  /** Tags values that go out and must come back unchanged. */
  readonly seals: Seals;
  /** Sends a mail in the background: the time it takes would reveal whether there is an account. */
  readonly post: (mail: Mail) => void;
  /** Reports an unexpected error to the operator. */
  readonly report: (error: unknown) => void;
  readonly originOf: (request: Request) => string;
}

/** One request, with the parts of the provider. */
export interface Exchange extends ProviderContext {
  readonly request: Request;
  readonly query: URLSearchParams;
  /** The application's own origin, as its users see it. */
  readonly origin: string;
  /** The application's name on its pages and mails. */
  readonly appName: string;
  /** The texts in the reader's language, and its tag for `lang`. */
  readonly t: Texts;
  readonly tag: string;
  /** The source of this request's attempts: its network, or a browser that an account knows. */
  readonly attempt: Attempt;
}

export type Handler = (exchange: Exchange) => Promise<Response>;
