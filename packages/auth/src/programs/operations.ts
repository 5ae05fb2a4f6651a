/**
 * Programs in the identity directory: what people allowed, and the codes and tokens that stand for it. Every refusal that
 * must leave a trace is an answer and no error, because an error would roll the trace back.
 */
import { ID_PREFIXES, mintCheckedSecret, type ProgramAccess } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { recordEvent } from '../events/operations.ts';
import { invalid, refusal } from '../lib/refusals.ts';
import type { SubjectKey } from '../lib/subject.ts';
import { hashToken, isSameHash } from '../lib/token.ts';
import { loadBinding, loadPerson } from '../people/store.ts';
import {
  admits,
  type ClientProof,
  type LetInInput,
  type ListedProgram,
  POLICY_DEFAULT,
  type ProgramPolicy,
  type RedeemCodeInput,
  type RefreshInput,
  type StoredClient,
  type TokenAnswer,
} from './contract.ts';
import { accessOf, endGrant, noteOf } from './grants.ts';
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
  loadGrants,
  loadGrantsOfPerson,
  loadPolicy,
  loadToken,
  loadUsableGrants,
  type ShownGrantRow,
  saveClient,
  savePolicy,
  type TokenRow,
  updateGrantUse,
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
const PERSONAL_TTL_MAX_MS = 366 * DAY_MS;
/** A client that no grant needs is remembered for so long: programs keep their registration. */
const CLIENT_KNOWN_MS = 400 * DAY_MS;
/** Of one person in one scope; the oldest beyond them is ended. */
const GRANTS_MAX = 50;
const NAME_LENGTH_MAX = 80;
const HOSTS_MAX = 100;
const HOST = /^[a-z0-9][a-z0-9.+-]{0,252}$|^\[[0-9a-f:.]+\]$/;

export interface PersonalTokenInput {
  readonly scopeId: string;
  readonly subject: SubjectKey;
  readonly name: string;
  readonly allowed: ProgramAccess;
  readonly ttlMs: number;
}

export function makeProgramOperations(unit: UnitContext) {
  const { db } = unit;
  return {
    /** Returns the client of an id that a person let in here before; null for an unknown one. A query. */
    findClient({ scopeId, id }: { scopeId: string; id: string }): StoredClient | null {
      const row = loadClient(db, { scopeId, idHash: hashToken(id) });
      return row ? { id: row.id, kind: row.kind, metadata: row.metadata, secretHash: row.secretHash } : null;
    },

    /**
     * Lets a program in: the person's consent becomes a grant with a code, which lives for two minutes.
     * @throws PlatformError `forbidden`, reason `not_a_member` or `program_not_admitted`.
     */
    letIn(input: LetInInput): { readonly code: string } {
      const { scopeId, subject, client, name, host, allowed } = input;
      purge(unit);
      requireAdmitted(unit, scopeId, host);
      const idHash = hashToken(client.id);
      saveClient(db, { ...client, scopeId, idHash, usedMs: unit.now() });
      const grant = addGrant(unit, {
        scopeId,
        subject,
        clientIdHash: idHash,
        name,
        host,
        allowed,
        ttlMs: GRANT_TTL_MS,
      });
      recordEvent(unit, 'program_let_in', { ...noteOf(grant), subject, detail: detailOf(grant) });
      return { code: addToken(unit, grant, 'code', { ttlMs: CODE_TTL_MS, code: input.code }) };
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
      if (token.usedMs !== null) return reused(unit, grant);
      if (!isLive(unit, grant) || code === null || unit.now() >= codeEndOf(token)) return REFUSED;
      const isBound =
        (redirectUri === null || redirectUri === code.redirectUri) && isVerifierOf(code.challenge, verifier);
      if (!isBound) return reused(unit, grant);
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
      if (token.usedMs !== null) return reused(unit, grant);
      if (!isLive(unit, grant) || unit.now() >= token.expiresMs) return REFUSED;
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
      if (token.kind === 'refresh') endGrant(unit, grant, { by: undefined });
      if (token.kind === 'access') deleteToken(db, token.hash);
      return { isClient: true };
    },

    /**
     * Makes a token for a person's scripts. It is in this answer and nowhere else.
     * @throws PlatformError `validation_failed`; `forbidden`, reason `not_a_member` or `program_not_admitted`.
     */
    makePersonalToken(input: PersonalTokenInput): { readonly id: string; readonly token: string } {
      const { scopeId, subject, allowed, ttlMs } = input;
      const name = input.name.trim();
      if (name === '' || name.length > NAME_LENGTH_MAX || /[\p{Cc}\p{Cf}\p{Cs}]/u.test(name))
        throw invalid(
          'name',
          `must be one line of 1 to ${NAME_LENGTH_MAX} characters`,
          'A token has a name.',
        );
      if (!Number.isSafeInteger(ttlMs) || ttlMs <= 0 || ttlMs > PERSONAL_TTL_MAX_MS)
        throw invalid('ttlMs', 'must be at most 366 days', 'A token lives for one millisecond to 366 days.');
      purge(unit);
      requireAdmitted(unit, scopeId, null);
      const grant = addGrant(unit, {
        scopeId,
        subject,
        clientIdHash: null,
        name,
        host: null,
        allowed,
        ttlMs,
      });
      recordEvent(unit, 'program_token_made', { ...noteOf(grant), subject, detail: detailOf(grant) });
      return { id: grant.id, token: addToken(unit, grant, 'personal', { ttlMs }) };
    },

    /** Returns what can be used now in a scope, newest first: one member's, or with null all members'. A query. */
    listPrograms(input: { scopeId: string; principal: string | null }): {
      readonly items: readonly ListedProgram[];
    } {
      return { items: loadUsableGrants(db, { ...input, nowMs: unit.now() }).map(toListed) };
    },

    /**
     * Ends a grant. With `of`, another member's is as unknown as none.
     * @throws PlatformError `not_found`, reason `unknown_program`.
     */
    endProgram(input: { scopeId: string; grant: string; of: string | null; by: string }): null {
      const grant = loadGrant(db, input.grant);
      const isFound = grant?.scopeId === input.scopeId && (input.of === null || grant.principal === input.of);
      if (!grant || !isFound)
        throw refusal('not_found', 'unknown_program', 'There is no such program, or it was ended before.');
      endGrant(unit, grant, { by: input.by });
      return null;
    },

    /** Whether the policy of a scope admits a program of this host. A query. */
    admitsProgram: ({ scopeId, host }: { scopeId: string; host: string }): boolean =>
      admits(policyOf(unit, scopeId), host),

    /** A query. */
    programPolicy: ({ scopeId }: { scopeId: string }): ProgramPolicy => policyOf(unit, scopeId),

    /**
     * Sets which programs the scope admits, and ends the grants of those that it no longer does.
     * @throws PlatformError `validation_failed`.
     */
    setProgramPolicy(input: ProgramPolicy & { scopeId: string; by: string }): null {
      const { scopeId, programs, by } = input;
      const hosts = [...new Set(input.hosts.map((each) => each.trim().toLowerCase()))];
      if (hosts.length > HOSTS_MAX || !hosts.every((each) => HOST.test(each)))
        throw invalid(
          'hosts',
          `must be at most ${HOSTS_MAX} host names`,
          'Programs are listed by host name.',
        );
      savePolicy(db, { scopeId, programs, hosts });
      recordEvent(unit, 'program_policy_changed', { scopeId, actor: by, detail: { programs, hosts } });
      for (const grant of loadGrants(db, scopeId))
        if (!admits({ programs, hosts }, grant.host)) endGrant(unit, grant, { cause: 'policy' });
      return null;
    },

    /** Notes that a grant was used, and from where. */
    noteProgramUse({ grant, from }: { grant: string; from: string | null }): null {
      updateGrantUse(db, { id: grant, usedMs: unit.now(), usedFrom: from });
      return null;
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

function policyOf({ db }: UnitContext, scopeId: string): ProgramPolicy {
  const row = loadPolicy(db, scopeId);
  return row ? { programs: row.programs, hosts: row.hosts } : POLICY_DEFAULT;
}

function requireAdmitted(unit: UnitContext, scopeId: string, host: string | null): void {
  if (!admits(policyOf(unit, scopeId), host))
    throw refusal('forbidden', 'program_not_admitted', 'The owner does not admit this program here.');
}

interface NewGrant {
  readonly scopeId: string;
  readonly subject: SubjectKey;
  readonly clientIdHash: string | null;
  readonly name: string;
  readonly host: string | null;
  readonly allowed: ProgramAccess;
  readonly ttlMs: number;
}

/** Adds a grant of a member, and ends those beyond the most that one person has. */
function addGrant(unit: UnitContext, { scopeId, subject, allowed, ttlMs, ...given }: NewGrant): GrantRow {
  const { db } = unit;
  const person = loadPerson(db, subject.issuer, subject.sub);
  const principal = person && loadBinding(db, scopeId, person.id);
  if (!person || principal === undefined)
    throw refusal('forbidden', 'not_a_member', 'Only a member can let a program in.');
  const nowMs = unit.now();
  const grant: GrantRow = {
    ...given,
    id: unit.newId(ID_PREFIXES.programGrant),
    scopeId,
    personId: person.id,
    principal,
    access: allowed.access,
    permissions: allowed.access === 'some' ? [...new Set(allowed.permissions)].sort() : [],
    createdMs: nowMs,
    expiresMs: nowMs + ttlMs,
    usedMs: null,
    usedFrom: null,
  };
  insertGrant(db, grant);
  const all = loadGrantsOfPerson(db, { personId: person.id, scopeId }).filter(({ id }) => id !== grant.id);
  for (const surplus of all.slice(0, Math.max(0, all.length + 1 - GRANTS_MAX)))
    endGrant(unit, surplus, { cause: 'limit' });
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
function reused(unit: UnitContext, grant: GrantRow): TokenAnswer {
  endGrant(unit, grant, { cause: 'token_reused' });
  return REFUSED;
}

/** Whether a grant's person is still the member that they were. */
function isLive(unit: UnitContext, grant: GrantRow): boolean {
  const isBound = loadBinding(unit.db, grant.scopeId, grant.personId) === grant.principal;
  return isBound && unit.now() < grant.expiresMs;
}

/** Whether the client is known here, and brought its secret if it has one (RFC 6749, section 3.2.1). */
function isClient(
  { db }: UnitContext,
  { scopeId, client }: { readonly scopeId: string; readonly client: ClientProof },
): boolean {
  const row = loadClient(db, { scopeId, idHash: hashToken(client.id) });
  if (!row) return false;
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

function detailOf(grant: GrantRow): Readonly<Record<string, string | readonly string[]>> {
  const { access, permissions } = grant;
  return { ...noteOf(grant).detail, access, ...(access === 'some' ? { permissions } : {}) };
}

function toListed(row: ShownGrantRow): ListedProgram {
  return {
    id: row.id,
    kind: row.clientIdHash === null ? 'token' : 'program',
    name: row.name,
    host: row.host,
    allowed: accessOf(row),
    principal: row.principal,
    person: row.person,
    createdMs: row.createdMs,
    expiresMs: row.expiresMs,
    usedMs: row.usedMs,
    usedFrom: row.usedFrom,
  };
}
