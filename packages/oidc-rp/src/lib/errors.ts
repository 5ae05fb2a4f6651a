/** Every failure of a sign-in or a sign-out, as a closed list of codes that is safe to show in a URL. */

interface OidcFailure {
  readonly status: 400 | 403 | 405 | 502 | 503;
  /** Whether the same attempt can succeed later without a change of settings. */
  readonly retryable: boolean;
  /** One sentence for the user who signs in. */
  readonly message: string;
}

const FAILURES = {
  flow_expired: {
    status: 400,
    retryable: true,
    message:
      'This sign-in took longer than ten minutes, was used already, or the browser did not store its cookie.',
  },
  state_mismatch: {
    status: 400,
    retryable: true,
    message: 'This sign-in was not started in this browser, or later ones replaced it.',
  },
  issuer_mismatch: {
    status: 400,
    retryable: false,
    message:
      'The answer came from another identity provider than the one that was asked. You were not signed in.',
  },
  response_invalid: {
    status: 400,
    retryable: false,
    message: 'The identity provider sent an answer that cannot be read.',
  },
  access_denied: {
    status: 403,
    retryable: true,
    message:
      'The sign-in was cancelled, or the identity provider does not let this account use the application.',
  },
  login_required: {
    status: 403,
    retryable: true,
    message: 'The identity provider wants you to sign in there first.',
  },
  authorization_failed: {
    status: 502,
    retryable: false,
    message: 'The identity provider refused this application. Its operator has to look into it.',
  },
  issuer_unavailable: {
    status: 503,
    retryable: true,
    message: 'The identity provider cannot be reached right now. Try again in a moment.',
  },
  issuer_misconfigured: {
    status: 502,
    retryable: false,
    message: 'The identity provider describes itself in a way that this application cannot use.',
  },
  exchange_failed: {
    status: 502,
    retryable: true,
    message: 'The identity provider did not accept the sign-in code.',
  },
  id_token_invalid: {
    status: 502,
    retryable: false,
    message: 'The identity provider sent an ID token that does not verify.',
  },
  userinfo_invalid: {
    status: 502,
    retryable: false,
    message: 'The identity provider sent user information that cannot be trusted.',
  },
  cookie_too_large: {
    status: 502,
    retryable: false,
    message: 'The identifier of this account is too long: its session does not fit in a cookie.',
  },
  sign_in_refused: {
    status: 403,
    retryable: false,
    message: 'This application does not let this account in.',
  },
  sign_out_incomplete: {
    status: 503,
    retryable: false,
    message: 'You are signed out in this browser, but the session could not be ended everywhere.',
  },
  logout_request_invalid: {
    status: 400,
    retryable: false,
    message: 'The identity provider sent a sign-out that cannot be believed.',
  },
  prefetch_refused: {
    status: 503,
    retryable: true,
    message: 'This address is only for a person who follows the link.',
  },
  navigation_required: {
    status: 403,
    retryable: false,
    message: 'This address is only for a person who follows a link to it.',
  },
  method_not_allowed: { status: 405, retryable: false, message: 'This address answers only GET.' },
} as const satisfies Record<string, OidcFailure>;

/** The closed list of codes. `onError` receives one of them as `?error=`. */
export type OidcErrorCode = keyof typeof FAILURES;

/** Every code, for callers that must handle each of them. */
export const OIDC_ERROR_CODES = Object.keys(FAILURES) as readonly OidcErrorCode[];

/**
 * A sign-in or sign-out that failed. `status` is the HTTP status of the answer: a broken issuer is 502 or 503 and
 * never 401, because no credentials were checked. `detail` and `cause` are for operators; the public `message` and
 * `code` hold nothing that a peer or a caller wrote.
 */
export class OidcError extends Error {
  readonly code: OidcErrorCode;
  readonly status: OidcFailure['status'];
  readonly retryable: boolean;
  /** The failure for the operator's log; never a token, a cookie or a payload. */
  readonly detail: string;

  constructor(code: OidcErrorCode, detail: string, options?: { cause?: unknown }) {
    super(FAILURES[code].message, options);
    this.name = 'OidcError';
    this.code = code;
    this.status = FAILURES[code].status;
    this.retryable = FAILURES[code].retryable;
    this.detail = detail;
  }
}

/**
 * A setting that cannot be used. `variable` names it, the message says which values are valid; no value is
 * repeated.
 */
export class OidcConfigError extends Error {
  readonly variable: string;

  constructor(variable: string, sentence: string) {
    super(sentence);
    this.name = 'OidcConfigError';
    this.variable = variable;
  }
}
