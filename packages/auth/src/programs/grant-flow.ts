/**
 * The way of a grant from a person's consent to its end: codes, access tokens and refresh tokens (OAuth 2.1, sections 4.1
 * and 4.3; RFC 7009). Instances and the control plane share it, each over tables of the same form in its own unit.
 *
 * Every refusal that must leave a trace is an answer and no error, because an error would roll the trace back.
 */
import { mintCheckedSecret, type ProgramAccess } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { hashToken, isSameHash } from '../lib/token.ts';
import { accessOf } from './access.ts';
import { useAssertion } from './assertions.ts';
import {
  type ClientProof,
  type CodeBinding,
  hasKeys,
  type RedeemCodeInput,
  type RefreshInput,
  type StoredClient,
  type TokenAnswer,
} from './contract.ts';
import { isVerifierOf, SECRET_PREFIXES } from './secrets.ts';
import {
  deleteClientsBefore,
  deleteOver,
  deleteToken,
  type GrantRow,
  insertGrant,
  insertToken,
  loadClient,
  loadGrant,
  loadGrantsOfPerson,
  loadToken,
  saveClient,
  type TokenRow,
  updateTokenUse,
} from './store.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** OAuth 2.1, section 4.1.2, recommends at most ten minutes; a program redeems it at once. */
const CODE_TTL_MS = 2 * MINUTE_MS;
/** A redeemed code is known for so long, so that a second use of it ends what the first began. */
const CODE_KNOWN_MS = DAY_MS;
const ACCESS_TTL_MS = 60 * MINUTE_MS;
/** A program that was not used for so long asks its person again. */
const REFRESH_TTL_MS = 60 * DAY_MS;
/** After so long every program asks its person again: an issuer does not tell that a person has left. */
const GRANT_TTL_MS = 180 * DAY_MS;
/** A client that no grant needs is remembered for so long: programs keep their registration. */
const CLIENT_KNOWN_MS = 400 * DAY_MS;
/** Of one person in one scope; the oldest beyond them is ended. */
const GRANTS_MAX = 50;

/** The reason of an end that no person asked for. */
export type EndReason =
  | 'all_sessions_ended'
  | 'limit'
  | 'member_removed'
  | 'policy'
  | 'secret_rotated'
  | 'token_reused';

/** The cause of an end, or the principal who ended it; undefined for the program itself. */
export type EndedBy = { readonly cause: EndReason } | { readonly by: string | undefined };

/** The parts in which an instance and the control plane differ. */
export interface GrantRules {
  /** The id of a new grant. */
  readonly newId: () => string;
  /** Whether the grant's person may still act. */
  readonly isActing: (grant: GrantRow) => boolean;
  /** Deletes the grant, and records its end in the same transaction. */
  readonly end: (grant: GrantRow, why: EndedBy) => void;
}

/** The facts of a new grant. */
export interface NewGrant {
  readonly scopeId: string;
  /** The person's row, and the principal that the grant acts as. */
  readonly personId: string;
  readonly principal: string;
  readonly clientIdHash: string | null;
  readonly name: string;
  readonly host: string | null;
  readonly allowed: ProgramAccess;
  /** Default: that of a program. */
  readonly ttlMs?: number;
}

export interface AdmittedProgram extends Omit<NewGrant, 'clientIdHash' | 'ttlMs'> {
  readonly client: StoredClient;
  readonly code: CodeBinding;
}

export function makeGrantFlow(unit: UnitContext, rules: GrantRules) {
  const { db } = unit;
  return {
    /** Returns the client of an id that a person let in before; null for an unknown one. A query. */
    findClient: ({ scopeId, id }: { readonly scopeId: string; readonly id: string }): StoredClient | null => {
      const row = loadClient(db, { scopeId, idHash: hashToken(id) });
      return row ? { id: row.id, kind: row.kind, metadata: row.metadata, secretHash: row.secretHash } : null;
    },

    /** Keeps a consent: the client, and a grant with a code, which lives for two minutes. */
    admit: ({
      client,
      code,
      ...given
    }: AdmittedProgram): { readonly grant: GrantRow; readonly code: string } => {
      purge(unit);
      const idHash = hashToken(client.id);
      saveClient(db, { ...client, scopeId: given.scopeId, idHash, usedMs: unit.now() });
      const grant = addGrant(unit, rules, { ...given, clientIdHash: idHash });
      return { grant, code: addToken(unit, grant, 'code', { ttlMs: CODE_TTL_MS, code }) };
    },

    /** Makes a grant with a token that the person themself holds. */
    addPersonal: (
      given: NewGrant & { readonly ttlMs: number },
    ): { readonly grant: GrantRow; readonly token: string } => {
      purge(unit);
      const grant = addGrant(unit, rules, given);
      return { grant, token: addToken(unit, grant, 'personal', { ttlMs: given.ttlMs }) };
    },

    /**
     * Redeems a code (OAuth 2.1, section 4.1.3). A wrong verifier or address, and a second use, end the grant: the code
     * has been in other hands than the client's.
     */
    redeemCode(input: RedeemCodeInput): TokenAnswer {
      const { scopeId, client, redirectUri, verifier } = input;
      const found = findOwn(unit, { scopeId, client, token: input.code, kind: 'code' });
      if (typeof found === 'string') return { outcome: 'refused', because: found };
      const { grant, token } = found;
      const { code } = token;
      if (token.usedMs !== null) return reused(rules, grant);
      if (!isLive(unit, rules, grant) || code === null || unit.now() >= codeEndOf(token)) return REFUSED;
      const isBound =
        (redirectUri === null || redirectUri === code.redirectUri) && isVerifierOf(code.challenge, verifier);
      if (!isBound) return reused(rules, grant);
      updateTokenUse(db, { hash: token.hash, usedMs: unit.now() });
      return issue(unit, grant);
    },

    /**
     * Rotates a refresh token (OAuth 2.1, section 4.3). One that was used before ends the grant: of two holders of it one
     * is a thief (RFC 9700, section 4.14.2).
     */
    refreshTokens({ scopeId, client, refreshToken }: RefreshInput): TokenAnswer {
      const found = findOwn(unit, { scopeId, client, token: refreshToken, kind: 'refresh' });
      if (typeof found === 'string') return { outcome: 'refused', because: found };
      const { grant, token } = found;
      if (token.usedMs !== null) return reused(rules, grant);
      if (!isLive(unit, rules, grant) || unit.now() >= token.expiresMs) return REFUSED;
      updateTokenUse(db, { hash: token.hash, usedMs: unit.now() });
      return issue(unit, grant);
    },

    /**
     * Revokes a token (RFC 7009): a refresh token with its whole grant, an access token alone. An unknown one, and one of
     * another client, is no error (section 2.2). Returns whether the client proved itself.
     */
    revokeToken(input: { scopeId: string; client: ClientProof; token: string }): { isClient: boolean } {
      const { scopeId, client } = input;
      if (!isClient(unit, { scopeId, client })) return { isClient: false };
      const token = loadToken(db, hashToken(input.token));
      const grant = token && loadGrant(db, token.grantId);
      if (token?.scopeId !== scopeId || grant?.clientIdHash !== hashToken(client.id))
        return { isClient: true };
      if (token.kind === 'refresh') rules.end(grant, { by: undefined });
      if (token.kind === 'access') deleteToken(db, token.hash);
      return { isClient: true };
    },
  };
}

const REFUSED: TokenAnswer = { outcome: 'refused', because: 'grant' };

/** Every writing operation removes what is over, so that no job has to. */
function purge(unit: UnitContext): void {
  const nowMs = unit.now();
  deleteOver(unit.db, nowMs);
  deleteClientsBefore(unit.db, nowMs - CLIENT_KNOWN_MS);
}

/** Adds a grant, and ends those beyond the most that one person has. */
function addGrant(
  unit: UnitContext,
  rules: GrantRules,
  { allowed, ttlMs = GRANT_TTL_MS, ...given }: NewGrant,
): GrantRow {
  const { db } = unit;
  const { personId, scopeId } = given;
  const nowMs = unit.now();
  const grant: GrantRow = {
    ...given,
    id: rules.newId(),
    access: allowed.access,
    permissions: allowed.access === 'some' ? [...new Set(allowed.permissions)].sort() : [],
    createdMs: nowMs,
    expiresMs: nowMs + ttlMs,
    usedMs: null,
    usedFrom: null,
  };
  insertGrant(db, grant);
  const all = loadGrantsOfPerson(db, { personId, scopeId }).filter(({ id }) => id !== grant.id);
  for (const surplus of all.slice(0, Math.max(0, all.length + 1 - GRANTS_MAX)))
    rules.end(surplus, { cause: 'limit' });
  return grant;
}

function addToken(
  unit: UnitContext,
  grant: GrantRow,
  kind: TokenRow['kind'],
  { ttlMs, code = null }: { readonly ttlMs: number; readonly code?: TokenRow['code'] },
): string {
  const token = mintCheckedSecret(SECRET_PREFIXES[kind], (bytes) => unit.random(bytes));
  insertToken(unit.db, {
    hash: hashToken(token),
    scopeId: grant.scopeId,
    grantId: grant.id,
    kind,
    code,
    // A code is known for longer than it is good for.
    expiresMs: unit.now() + (kind === 'code' ? CODE_KNOWN_MS : ttlMs),
    usedMs: null,
  });
  return token;
}

function codeEndOf({ expiresMs }: TokenRow): number {
  return expiresMs - CODE_KNOWN_MS + CODE_TTL_MS;
}

function issue(unit: UnitContext, grant: GrantRow): TokenAnswer {
  purge(unit);
  const leftMs = grant.expiresMs - unit.now();
  const expiresInMs = Math.min(ACCESS_TTL_MS, leftMs);
  return {
    outcome: 'issued',
    accessToken: addToken(unit, grant, 'access', { ttlMs: expiresInMs }),
    refreshToken: addToken(unit, grant, 'refresh', { ttlMs: Math.min(REFRESH_TTL_MS, leftMs) }),
    expiresInMs,
    allowed: accessOf(grant),
  };
}

/** Ends a grant of which a code or token was in two hands. */
function reused(rules: GrantRules, grant: GrantRow): TokenAnswer {
  rules.end(grant, { cause: 'token_reused' });
  return REFUSED;
}

function isLive(unit: UnitContext, rules: GrantRules, grant: GrantRow): boolean {
  return unit.now() < grant.expiresMs && rules.isActing(grant);
}

/** Whether the client is known here, and brought its proof if it has one (RFC 6749, section 3.2.1). */
function isClient(
  unit: UnitContext,
  { scopeId, client }: { readonly scopeId: string; readonly client: ClientProof },
): boolean {
  const clientIdHash = hashToken(client.id);
  const row = loadClient(unit.db, { scopeId, idHash: clientIdHash });
  if (!row || hasKeys(row) !== (client.assertion !== undefined)) return false;
  if (client.assertion) return useAssertion(unit, { scopeId, clientIdHash }, client.assertion);
  if (row.secretHash === null) return client.secretHash === null;
  return client.secretHash !== null && isSameHash(row.secretHash, client.secretHash);
}

/** Returns a code or token of this client and scope with its grant; one of another client is as unknown as none. */
function findOwn(
  unit: UnitContext,
  of: {
    readonly scopeId: string;
    readonly client: ClientProof;
    readonly token: string;
    readonly kind: TokenRow['kind'];
  },
): { readonly grant: GrantRow; readonly token: TokenRow } | 'client' | 'grant' {
  if (!isClient(unit, of)) return 'client';
  const token = loadToken(unit.db, hashToken(of.token));
  const grant = token && loadGrant(unit.db, token.grantId);
  if (!token || !grant || token.kind !== of.kind || token.scopeId !== of.scopeId) return 'grant';
  return grant.clientIdHash === hashToken(of.client.id) ? { grant, token } : 'grant';
}
