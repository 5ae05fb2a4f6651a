/**
 * The provider that signs people in by credentials of the tenant's own identity directory (spec 2.2, A-02, A-18;
 * design: identity, "doAuthProvider"). An application constructs it directly; `provider()` never selects it.
 */
import { landingPath, makeSessionCookies, resolveOrigin } from '@freehold/oidc-rp';
import { accountSubject, directoryIssuer } from '../accounts/contract.ts';
import { type AuthRuntime, completeRuntime } from '../lib/runtime.ts';
import { makeSeals } from '../lib/seals.ts';
import { possibleSessions, type VerifiedSubject, type VerifyingAuthProvider } from '../lib/subject.ts';
import { type Connection, dispatch } from './dispatch.ts';
import type { AccountDirectory, ProviderContext } from './lib/context.ts';
import type { Mail, Mailer } from './lib/mails.ts';
import { findSession } from './lib/sessions.ts';
import { type AuthTheme, completeTheme } from './pages/theme.ts';
import { makePasswordHasher, type PasswordHasher } from './passwords/password-hash.ts';

export interface DoAuthProviderOptions {
  readonly tenantId: string;
  readonly scopeId: string;
  /** The tenant's own, each at least 32 bytes: the first signs, all verify. */
  readonly sessionSecret: string | readonly string[];
  readonly directory: AccountDirectory;
  readonly mailer: Mailer;
  /**
   * The origin of links in mails, and of the application. Default: the request's own, which is safe only where no
   * request reaches the provider under a foreign host name: a requester of a mail could otherwise choose where its
   * link leads.
   */
  readonly baseUrl?: string;
  /** Default: the host name as the application's name, a dark green. */
  readonly theme?: AuthTheme;
  /** Whether any visitor may ask for an account. Default `open`. */
  readonly signUp?: 'open' | 'closed';
  /** Default: the theme's name, and the host name of the origin. */
  readonly passkeys?: { readonly rpName?: string; readonly rpId?: string };
  /** Default: the system's clock and randomness, host-only cookies, `/` after a sign-in. */
  readonly runtime?: Pick<AuthRuntime, 'now' | 'random' | 'cookieDomain' | 'trustForwarded' | 'onSuccess'>;
  /** One for the whole process bounds how many passwords are hashed at once. Default: one of this provider's own. */
  readonly passwordHasher?: PasswordHasher | undefined;
  /**
   * Keeps the process alive for background tasks, such as a mail (`waitUntil` on workerd). Default: runs them. The
   * promise never rejects.
   */
  readonly background?: (task: Promise<unknown>) => void;
  /** Is called with unexpected errors: a mail that could not be sent, a directory that failed. */
  readonly onIncident: (error: unknown) => void;
}

export interface DirectoryAuthProvider extends VerifyingAuthProvider {
  /** Serves `/api/auth/*`. Never rejects. */
  handle(request: Request, connection?: Connection): Promise<Response>;
}

/**
 * Makes the provider. Its subjects are `(directoryIssuer(tenantId), userId)`; `resolve` returns them as they are
 * now, and rejects when the directory cannot say.
 * @throws TypeError for an unusable theme, base URL or landing path; OidcConfigError for a secret that is too short.
 */
export function doAuthProvider(options: DoAuthProviderOptions): DirectoryAuthProvider {
  const context = makeContext(options);
  const { directory, issuer } = context;
  return {
    issuer,
    present: async (headers) =>
      possibleSessions(context.cookies.readAll(headers), context.now()).map(({ user, sid, issuedAtMs }) => ({
        userId: user.id,
        session: { sid, issuedAtMs },
      })),
    resolve: async (headers): Promise<VerifiedSubject | null> => {
      const found = await findSession(context, headers, (input) => directory.findAccount(input));
      return found === null ? null : accountSubject(issuer, found.account, found.session);
    },
    handle: (request, connection) => dispatch(context, request, connection),
  };
}

function makeContext(options: DoAuthProviderOptions): ProviderContext {
  const { tenantId, scopeId, directory, baseUrl, signUp = 'open', passkeys = {}, onIncident } = options;
  const {
    now,
    random = randomBytes,
    trustForwarded = false,
    onSuccess = '/',
    cookieDomain,
  } = completeRuntime(options.runtime);
  if (baseUrl !== undefined && (!URL.canParse(baseUrl) || new URL(baseUrl).origin !== baseUrl))
    throw new TypeError('baseUrl must be an origin, such as https://app.example.');
  if (landingPath(onSuccess) === null)
    throw new TypeError('runtime.onSuccess must be a same-origin absolute path outside the sign-in routes.');
  // The secret is the tenant's. The audience keeps the sessions of its instances apart.
  const audience = `${tenantId}/${scopeId}`;
  const secrets = [options.sessionSecret].flat();
  const issuer = directoryIssuer(tenantId);
  const env = baseUrl === undefined ? {} : { baseUrl };
  return {
    scopeId,
    issuer,
    directory,
    hasher: options.passwordHasher ?? makePasswordHasher({ random }),
    theme: completeTheme(options.theme),
    signUp,
    passkeys,
    onSuccess,
    now,
    random,
    cookies: makeSessionCookies({
      issuer,
      secrets,
      audience,
      now,
      random,
      ...(cookieDomain === undefined ? {} : { cookieDomain }),
    }),
    seals: makeSeals({ secrets, audience }),
    post: makePost(options),
    report: onIncident,
    originOf: (request) => resolveOrigin({ env, trustForwarded }, request),
  };
}

function makePost({
  mailer,
  background = () => undefined,
  onIncident,
}: DoAuthProviderOptions): (mail: Mail) => void {
  return (mail) => {
    // Started in a later turn: a mailer that fails at once must not fail the answer.
    const sent = Promise.resolve()
      .then(() => mailer.send(mail))
      .catch((cause: unknown) => onIncident(new Error('A mail could not be sent.', { cause })));
    background(sent);
  };
}

/** The one place in this package where the platform's randomness is named. */
function randomBytes(bytes: number): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(bytes));
}
