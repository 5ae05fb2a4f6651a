/**
 * A consent round from end to end (spec 4.7): a URL is issued, a browser is sent to the provider, and what it brings back
 * becomes a connection.
 *
 * What holds the round together is one random secret in the browser's cookie. The OAuth `state` and the PKCE verifier are
 * derived from it one way, and the directory keeps a hash of the state alone: whoever has the address of the callback, or
 * the database, has neither the browser nor the verifier (RFC 6749, section 10.12; RFC 7636; RFC 9700, section 2.1).
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { PlatformError, type ScopeId, type TenantId, toTimestamp } from '@freehold/contracts';
import type { ConnectUrlRequest, ConnectUrlResponse } from '@freehold/contracts/http';
import { type Account, probeToken } from './account-probe.ts';
import type { ConnectionTarget } from './connection-record.ts';
import { credentialOfTokens } from './credential.ts';
import type { ConnectionDeps } from './deps.ts';
import { authorizationUrl, redeemCode, type Tokens } from './oauth.ts';
import { requireConsentProvider } from './problems.ts';
import { ProviderFailure } from './provider-exchange.ts';
import type { OAuthProvider } from './providers.ts';
import { type ConsentError, parseReturnUrl, type RoundResult, wayBack } from './return-url.ts';
import { CONSENT_TTL_MS } from './rounds.ts';
import type { RoundRow } from './rounds-store.ts';
import type { TicketClaims } from './ticket.ts';
import { expiryOf, type TokenKeeper } from './token-keeper.ts';

/** Where browsers are sent to, below the control plane's own address. */
export const CONNECT_PATH = '/connect';
/** 256 bits. */
const SECRET_BYTES = 32;
/** How often a slot is looked for that another call takes meanwhile. */
const SLOT_TRIES = 3;

/** A cookie for the connect routes alone: HttpOnly, SameSite=Lax, host-only. An empty value clears it. */
export interface ConnectCookie {
  readonly name: string;
  readonly value: string;
  readonly maxAgeSeconds: number;
  /** False on plain http, which is development: a browser would drop it. */
  readonly secure: boolean;
}

/** Where the browser goes next. */
export interface ConnectStep {
  readonly location: string;
  /** Null where there is none to set. */
  readonly cookie: ConnectCookie | null;
}

/** What a provider sent a browser back with. */
export interface ConsentAnswer {
  /** The provider whose callback address it is. */
  readonly provider: string;
  readonly parameters: URLSearchParams;
  /** The value of one of the browser's cookies. */
  readonly cookie: (name: string) => string | undefined;
  readonly requestId: string;
}

/** What a vertical asks for, and which one it is: the caller has seen its secret. */
export interface ConsentOrder extends ConnectUrlRequest {
  readonly vertical: string;
}

/** What the connect routes are made of. Every method rejects with a `PlatformError`. */
export interface ConsentRounds {
  /** Issues a consent URL, for a scope that the directory records as the vertical's. Stores nothing. */
  requestUrl(order: ConsentOrder): Promise<ConnectUrlResponse>;
  /** Uses a ticket: from here on it is spent, and the round is this browser's. */
  start(ticket: string): Promise<ConnectStep>;
  /** Takes the provider's answer, once, from the browser that began. */
  finish(answer: ConsentAnswer): Promise<ConnectStep>;
}

export interface ConsentDeps extends ConnectionDeps {
  /** Where browsers reach the control plane: `https://api.example.com`. */
  readonly baseUrl: () => string;
  /** Where a host name is reached. */
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

  /** The provider's part and ours. Answers what the application is to be told. */
  const complete = async (round: RoundRow, answer: ConsentAnswer, verifier: string): Promise<RoundResult> => {
    const provider = registry.find(round.provider);
    if (provider?.kind !== 'oauth2') return failure('provider_unavailable');
    const judged = judgeAnswer(provider, round, answer);
    if ('error' in judged) return judged;
    const redirectUri = callbackOf(round.provider);
    const tokens = await redeemCode(access, provider, { code: judged.code, redirectUri, verifier });
    try {
      return await keep(round, { provider, tokens, requestId: answer.requestId });
    } catch (error) {
      // Nobody will ever use what the provider has just given.
      await keeper.revoke(provider, credentialOfTokens(tokens, null)).catch(incident('revoke'));
      throw error;
    }
  };

  const keep = async (
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
      // A round whose end could not be kept is not begun.
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
        throw new PlatformError('not_found', 'Nobody began this. Go back and connect again.', {
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
 * The code of an authorization response (RFC 6749, section 4.1.2). Where it comes from is judged first: an error that
 * another provider sent is not ours to report (RFC 9207, section 2.4). Each provider has a callback address of its own
 * besides, for those that do not say who they are (RFC 9700, section 4.4.2).
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

/** What the application is told of whatever went wrong; what nobody expected goes to the operator as well. */
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
  // The address may be somebody else's by now: nobody is sent there.
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

/** Each round has a cookie of its own, so that several can be under way. The prefix keeps sibling hosts from planting one. */
function cookieName(round: string, base: string): string {
  return `${isHttps(base) ? '__Host-' : ''}fh_connect_${round.slice(round.indexOf('_') + 1)}`;
}

function isHttps(base: string): boolean {
  return base.startsWith('https:');
}

/** A value that follows from the browser's secret, and from which the secret does not follow. 43 characters. */
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
