/**
 * A consent round from end to end (spec 4.7): a URL is issued, a browser is sent to the provider, and the provider's answer
 * becomes a connection.
 *
 * A round hangs on one random secret in the browser's cookie. The OAuth `state` and the PKCE verifier are derived from it
 * one way, and the directory keeps only a hash of the state: neither the callback's address nor the database reveals the
 * browser's secret or the verifier (RFC 6749, section 10.12; RFC 7636; RFC 9700, section 2.1).
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { PlatformError, type ScopeId, type TenantId, toTimestamp } from '@freehold/contracts';
import type { ConnectUrlRequest, ConnectUrlResponse } from '@freehold/contracts/http';
import type { ConnectionTarget } from './connection-record.ts';
import { credentialOfTokens } from './credential.ts';
import { authorizationUrl, redeemCode, type Tokens } from './oauth.ts';
import { type Account, ProviderFailure, probeToken, requireConsentProvider } from './provider-exchange.ts';
import { isLoopbackHost, type OAuthProvider } from './providers.ts';
import { CONSENT_TTL_MS, type RoundRow, type TicketClaims } from './rounds.ts';
import { type ConnectionDeps, expiryOf, type TokenKeeper } from './token-keeper.ts';

/** The path of the connect routes at the control plane. */
const CONNECT_PATH = '/connect';
/** 256 bits. */
const SECRET_BYTES = 32;
/** The most attempts at a slot that another call takes meanwhile. */
const SLOT_TRIES = 3;

/** A cookie for the connect routes alone: HttpOnly, SameSite=Lax, host-only. An empty value clears it. */
export interface ConnectCookie {
  readonly name: string;
  readonly value: string;
  readonly maxAgeSeconds: number;
  /** False on plain http, which is development: a browser would drop it. */
  readonly secure: boolean;
}

/** The next address of the browser. */
export interface ConnectStep {
  readonly location: string;
  /** Null where there is none to set. */
  readonly cookie: ConnectCookie | null;
}

/** The provider's answer, as the browser brings it. */
export interface ConsentAnswer {
  /** The provider whose callback address it is. */
  readonly provider: string;
  readonly parameters: URLSearchParams;
  /** The value of one of the browser's cookies. */
  readonly cookie: (name: string) => string | undefined;
  readonly requestId: string;
}

/** A vertical's request; the caller has checked the vertical's secret. */
export interface ConsentOrder extends ConnectUrlRequest {
  readonly vertical: string;
}

/** The work of the connect routes. Every method rejects with a `PlatformError`. */
export interface ConsentRounds {
  /** Issues a consent URL, for a scope that the directory records as the vertical's. Stores nothing. */
  requestUrl(order: ConsentOrder): Promise<ConnectUrlResponse>;
  /** Uses a ticket up, and gives the round to this browser. */
  start(ticket: string): Promise<ConnectStep>;
  /** Takes the provider's answer, once, from the browser that began. */
  finish(answer: ConsentAnswer): Promise<ConnectStep>;
}

interface ConsentDeps extends ConnectionDeps {
  /** The origin of the control plane: `https://api.example.com`. */
  readonly baseUrl: () => string;
  /** The origin of a host name. */
  readonly originOf: (hostname: string) => string;
}

export function makeConsentRounds(deps: ConsentDeps, keeper: TokenKeeper): ConsentRounds {
  const { directory, registry, vault, access, now, random, publish, incident } = deps;
  const base = (): string => deps.baseUrl().replace(/\/$/, '');
  const callbackOf = (provider: string): string => `${base()}${CONNECT_PATH}/callback/${provider}`;

  const cookieOf = (round: string, value: string): ConnectCookie => ({
    name: cookieName(round, base()),
    value,
    maxAgeSeconds: value === '' ? 0 : CONSENT_TTL_MS / 1000,
    secure: isHttps(base()),
  });

  /** Redeems the answer and keeps the connection. Returns the result for the application. */
  const complete = async (round: RoundRow, answer: ConsentAnswer, verifier: string): Promise<RoundResult> => {
    const provider = registry.find(round.provider);
    if (provider?.kind !== 'oauth2') return failure('provider_unavailable');
    const judged = judgeAnswer(provider, round, answer);
    if ('error' in judged) return judged;
    const redirectUri = callbackOf(round.provider);
    const tokens = await redeemCode(access, provider, { code: judged.code, redirectUri, verifier });
    try {
      return await saveRound(round, { provider, tokens, requestId: answer.requestId });
    } catch (error) {
      // These tokens will never be used.
      await keeper.revoke(provider, credentialOfTokens(tokens, null)).catch(incident('revoke'));
      throw error;
    }
  };

  const saveRound = async (
    round: RoundRow,
    given: { readonly provider: OAuthProvider; readonly tokens: Tokens; readonly requestId: string },
  ): Promise<RoundResult> => {
    const { provider, tokens, requestId } = given;
    const account: Account = provider.identity
      ? await probeToken(access, provider.identity, tokens.accessToken)
      : { account: null, accountName: null };
    for (let tries = 1; ; tries++) {
      const { connection } = await directory.connectionSlot(targetOf(round, account));
      const place = { tenant: round.tenant, connection };
      const credential = vault.seal(place, credentialOfTokens(tokens, null), expiryOf(tokens, now()));
      const verified = { ...account, connection, credential, scopes: tokens.scopes ?? provider.scopes };
      try {
        const { head } = await directory.connect({ round, verified, requestId });
        await publish(head);
        return { connection };
      } catch (error) {
        if (tries < SLOT_TRIES && reasonOf(error) === 'slot_taken') continue;
        throw error;
      }
    }
  };

  return {
    requestUrl: async (request) => {
      requireConsentProvider(registry, request.provider);
      const returnUrl = parseReturnUrl(request.returnUrl, deps.originOf);
      // Without a sealing key the end of the round could not be stored.
      vault.requireKey();
      const { ticket, vertical, expiresAtMs } = await directory.issueTicket({
        tenant: request.tenantId,
        scope: request.scopeId,
        vertical: request.vertical,
        provider: request.provider,
        createdBy: request.createdBy,
        subjectRef: request.subjectRef,
        returnUrl: returnUrl.href,
        hostname: returnUrl.hostname,
        ttlMs: request.ttlSeconds * 1000,
      });
      return { url: `${base()}${CONNECT_PATH}/${ticket}`, expiresAt: toTimestamp(expiresAtMs), vertical };
    },

    start: async (ticket) => {
      const secret = Buffer.from(random(SECRET_BYTES)).toString('base64url');
      const state = derived(secret, 'state');
      const round: TicketClaims = await directory.startRound({ ticket, stateHash: sha256(state) });
      const provider = registry.find(round.provider);
      if (provider?.kind !== 'oauth2') {
        const gone = failure('provider_unavailable');
        return { location: wayBack(round.returnUrl, round.subjectRef, gone), cookie: null };
      }
      const redirectUri = callbackOf(round.provider);
      const location = authorizationUrl(provider, {
        redirectUri,
        state,
        verifier: derived(secret, 'verifier'),
      });
      return { location, cookie: cookieOf(round.id, secret) };
    },

    finish: async (answer) => {
      const [state = '', ...others] = answer.parameters.getAll('state');
      const stateHash = sha256(state);
      const round = others.length === 0 ? await directory.connectRound(stateHash) : null;
      if (!round)
        throw new PlatformError('not_found', 'This consent was not begun here. Go back and connect again.', {
          reason: 'unknown_round',
        });
      const secret = answer.cookie(cookieName(round.id, base()));
      if (secret === undefined || !isSame(derived(secret, 'state'), state))
        throw new PlatformError(
          'forbidden',
          'This was begun in another browser. Go back and connect again.',
          {
            reason: 'wrong_browser',
          },
        );
      const { late } = await directory.takeAnswer({ stateHash });
      const result = late
        ? failure('expired')
        : await complete(round, answer, derived(secret, 'verifier')).catch((error: unknown) =>
            resultOf(error, incident('connect')),
          );
      const location = wayBack(round.returnUrl, round.subjectRef, result);
      return { location, cookie: cookieOf(round.id, '') };
    },
  };
}

/**
 * The code of an authorization response (RFC 6749, section 4.1.2). Its origin is judged first: an error that another
 * provider sent is not reported (RFC 9207, section 2.4). Each provider has a callback address of its own besides, for
 * providers that do not name themselves (RFC 9700, section 4.4.2).
 */
export function judgeAnswer(
  provider: Pick<OAuthProvider, 'issuer'>,
  round: Pick<RoundRow, 'provider'>,
  { provider: answered, parameters }: Pick<ConsentAnswer, 'provider' | 'parameters'>,
): { readonly code: string } | { readonly error: ConsentError } {
  if (answered !== round.provider) return failure('issuer_mismatch');
  const issuers = parameters.getAll('iss');
  if (provider.issuer !== undefined && (issuers.length !== 1 || issuers[0] !== provider.issuer))
    return failure('issuer_mismatch');
  const errors = parameters.getAll('error');
  if (errors.length > 0)
    return failure(errors[0] === 'access_denied' ? 'consent_denied' : errorOf(errors[0] as string));
  const [code, ...others] = parameters.getAll('code');
  if (code === undefined || code === '' || others.length > 0) return failure('provider_answer');
  return { code };
}

function errorOf(error: string): ConsentError {
  return error === 'server_error' || error === 'temporarily_unavailable'
    ? 'provider_unavailable'
    : 'provider_refused';
}

/** The result of a round that failed. An unexpected error is reported to the operator as well. */
function resultOf(error: unknown, onIncident: (error: unknown) => void): RoundResult {
  if (error instanceof ProviderFailure) {
    const byFault = {
      refused: 'provider_refused',
      unreachable: 'provider_unavailable',
      unusable: 'provider_answer',
    } as const;
    return failure(byFault[error.fault]);
  }
  if (reasonOf(error) === 'account_connected') return failure('account_connected');
  // The address may belong to another tenant by now: no browser is sent there.
  if (reasonOf(error) === 'target_changed') throw error;
  if (!(error instanceof PlatformError)) onIncident(error);
  return failure('unavailable');
}

function targetOf(round: RoundRow, { account }: Account): ConnectionTarget {
  const { vertical, provider, subjectRef } = round;
  const place = { tenant: round.tenant as TenantId, scope: round.scope as ScopeId };
  return { ...place, vertical, provider, subjectRef, account };
}

function failure(error: ConsentError): { readonly error: ConsentError } {
  return { error };
}

function reasonOf(error: unknown): string | undefined {
  return error instanceof PlatformError ? error.reason : undefined;
}

/** Each round has its own cookie, so that several can run at once. The prefix keeps sibling hosts from planting one. */
function cookieName(round: string, base: string): string {
  return `${isHttps(base) ? '__Host-' : ''}fh_connect_${round.slice(round.indexOf('_') + 1)}`;
}

function isHttps(base: string): boolean {
  return base.startsWith('https:');
}

/** Derived one way from the browser's secret. 43 characters. */
function derived(secret: string, purpose: 'state' | 'verifier'): string {
  return createHmac('sha256', secret).update(`freehold.connect.${purpose}.v1`).digest('base64url');
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Constant in time for texts of one length, which hashes are. */
function isSame(left: string, right: string): boolean {
  return timingSafeEqual(
    createHash('sha256').update(left).digest(),
    createHash('sha256').update(right).digest(),
  );
}

/**
 * Judges the form of an address; the directory judges whether its host name leads to the scope.
 * @param originOf the origin of a host name of the platform.
 * @throws PlatformError `validation_failed`, reason `return_url_invalid`, `return_url_not_https` or `return_url_unbound`.
 */
export function parseReturnUrl(text: string, originOf: (hostname: string) => string): URL {
  const url = URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '')
    throw refused('return_url_invalid', 'must be an absolute URL without credentials');
  const isOwnOrigin = url.origin === originOf(url.hostname);
  // While developing, everything under localhost is served over plain http.
  const isDevelopment = url.protocol === 'http:' && isLoopbackHost(url.hostname);
  if (url.protocol !== 'https:' && !isDevelopment)
    throw refused('return_url_not_https', 'must be an https URL');
  // Another port of the same host is another server's.
  const isDefaultPort = url.protocol === 'https:' && url.port === '';
  if (!isOwnOrigin && !isDefaultPort)
    throw refused('return_url_unbound', 'must be where the platform serves this scope');
  return url;
}

/** The result for the application, in the query of its address. */
type RoundResult = { readonly connection: string } | { readonly error: ConsentError };

/** The failure of a consent round. A closed list, and never the provider's own words. */
type ConsentError =
  /** The person said no. */
  | 'consent_denied'
  /** The provider refused the request, or to redeem its code. */
  | 'provider_refused'
  | 'provider_unavailable'
  /** The provider answered something that is not of the protocol. */
  | 'provider_answer'
  /** The answer came from another provider than was asked (RFC 9207). */
  | 'issuer_mismatch'
  /** The answer came too late. */
  | 'expired'
  /** Another scope of this tenant has this account. */
  | 'account_connected'
  /** The platform could not keep the credential. */
  | 'unavailable';

const OURS = ['connection', 'subjectRef', 'error'];

/** The address to send the browser to. The application's own values under these names are replaced. */
export function wayBack(returnUrl: string, subjectRef: string, result: RoundResult): string {
  const url = new URL(returnUrl);
  for (const name of OURS) url.searchParams.delete(name);
  for (const [name, value] of Object.entries({ ...result, subjectRef })) url.searchParams.set(name, value);
  return url.href;
}

function refused(reason: string, message: string): PlatformError {
  return new PlatformError('validation_failed', `The body is not valid. returnUrl: ${message}.`, {
    reason,
    errors: [{ path: 'returnUrl', message }],
  });
}
