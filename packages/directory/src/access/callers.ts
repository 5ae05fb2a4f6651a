/**
 * Callers: the actor behind a bearer token, and the check that a caller still has its access when its call is performed.
 * Both read the rows of that moment. Nothing is cached, so that a revoked token works for not one more call.
 */
import { accessOf } from '@freehold/auth/grants';
import { PlatformError, type ProgramAccess, type TenantId } from '@freehold/contracts';
import type { SqlDatabase, UnitContext, UnitStub } from '@freehold/store';
import type { AdminOperation } from '../declarations/admin-operation.ts';
import { PLATFORM_GRANTS, type PlatformGrant } from '../declarations/platform-grants.ts';
import { type RosterRole, STAFF_PREFIX, type StaffRole } from '../declarations/staff.ts';
import type { TokenRights } from '../declarations/tokens.ts';
import type { Actor, AdminCall, MemberActor } from './actors.ts';
import { requireReach } from './reach.ts';
import { hashSecret, isWellFormedSecret, PROGRAM_PREFIX, TOKEN_PREFIXES } from './secret.ts';

/** The time of last use is exact to a minute: a busy token costs one write a minute. */
const LAST_USE_STEP_MS = 60_000;

/** The tables that a token is looked up in. */
type CallerKind = 'staff' | 'program' | 'other';

export interface Caller {
  readonly actor: Actor;
  /** The id of the token, or of the program's grant. */
  readonly token: string;
  readonly lastUsedAtMs: number | null;
}

/** The methods of the unit. */
export const callerMethods = ({ db, now }: UnitContext) => ({
  /** The actor of a token with the rights that it has now; null for a token that does not work. A query. */
  caller: ({ kind, ...shown }: Omit<ShownToken, 'nowMs'> & { readonly kind: CallerKind }): Caller | null =>
    LOOK_UPS[kind](db, { ...shown, nowMs: now() }),

  /** Notes that a token was used, at most once a minute; of a program also from where. */
  touchToken: ({ token, kind, from }: Touched): null => {
    const nowMs = now();
    const [table, column, noted] = USES[kind];
    db.run(
      `UPDATE ${table} SET ${column} = ?${noted} WHERE id = ? AND (${column} IS NULL OR ${column} <= ?)`,
      ...[nowMs, ...(kind === 'program' ? [from] : []), token, nowMs - LAST_USE_STEP_MS],
    );
    return null;
  },
});

/** A token as a request shows it. */
export interface ShownToken {
  readonly hash: string;
  /** The issuer at which members sign in now; null for none. */
  readonly issuer: string | null;
  readonly nowMs: number;
}

export interface Touched {
  readonly token: string;
  readonly kind: CallerKind;
  /** The network address; null for an unknown one. */
  readonly from: string | null;
}

const LOOK_UPS = { staff: memberOfToken, program: memberOfProgram, other: actorOfToken } as const;

/** Where the last use is noted. */
const USES: Readonly<Record<CallerKind, readonly [table: string, column: string, more: string]>> = {
  staff: ['staff_tokens', 'last_used_at', ''],
  program: ['program_grants', 'used_at', ', used_from = ?'],
  other: ['tokens', 'last_used_at', ''],
};

export interface AuthenticateDeps {
  readonly directory: UnitStub<ReturnType<typeof callerMethods>>;
  readonly now: () => number;
  /** See `HostAdminOptions.staffIssuer`. */
  readonly staffIssuer: string | null;
  readonly onIncident: (error: unknown) => void;
}

/** Makes the function that returns the actor of a bearer token, or null for a token that does not work. */
export function makeAuthenticate({ directory, now, staffIssuer, onIncident }: AuthenticateDeps) {
  /** Tokens whose last use is being written. */
  const touching = new Set<string>();
  return async (secret: string, from: string | null = null): Promise<Actor | null> => {
    if (!isWellFormedSecret(secret)) return null;
    const kind = kindOf(secret);
    const found = await directory.caller({ hash: hashSecret(secret), kind, issuer: staffIssuer });
    if (!found) return null;
    const { actor, token, lastUsedAtMs } = found;
    if (touching.has(token) || (lastUsedAtMs !== null && now() - lastUsedAtMs < LAST_USE_STEP_MS))
      return actor;
    touching.add(token);
    // The call does not wait for this write: losing it costs a minute of exactness.
    void directory
      .touchToken({ token, kind, from })
      .catch(onIncident)
      .finally(() => touching.delete(token));
    return actor;
  };
}

function kindOf(secret: string): CallerKind {
  if (secret.startsWith(PROGRAM_PREFIX)) return 'program';
  return secret.startsWith(TOKEN_PREFIXES.staff) ? 'staff' : 'other';
}

/** As much of an operation as says whether a vertical may call it. */
type Callable = { readonly vertical?: PlatformGrant };

/**
 * Refuses a caller whose access ended after the request was authenticated. A body may take its sender any time, so that a
 * caller who expects a revocation could hold a call open. The transaction that performs the call asks again.
 * @param operation what is called. Without it no vertical may act: its grants are grants for operations.
 * @throws PlatformError `forbidden`, reason `tenant_not_active`, `access_ended`, or `not_granted` for a vertical.
 */
export function requireActing(db: SqlDatabase, actor: Actor, operation: Callable = {}): void {
  // No request comes as the system.
  if (actor.kind === 'system') return;
  if (actor.kind === 'vertical') {
    requireGrant(db, actor.id, operation.vertical);
    return;
  }
  requireActingTenant(db, actor);
  const isUnchanged =
    actor.kind !== 'service' && actor.id.startsWith(`${STAFF_PREFIX}_`)
      ? isOnRoster(db, actor)
      : actor.kind === 'staff' || isTokenGood(db, actor);
  if (isUnchanged) return;
  throw new PlatformError('forbidden', 'Your access ended or changed while this call was on its way.', {
    reason: 'access_ended',
  });
}

/**
 * Refuses a caller whose access ended, and a call about what the caller does not reach.
 * @throws PlatformError as {@link requireActing} and `requireReach` do.
 */
export function requireCall(db: SqlDatabase, operation: AdminOperation, call: AdminCall): void {
  requireActing(db, call.actor, operation);
  if (call.actor.kind === 'builder') requireReach(db, call, operation.audit === 'access');
}

/**
 * A builder may act while its tenant is active.
 * @throws PlatformError `forbidden`, reason `tenant_not_active`.
 */
export function requireActingTenant(db: SqlDatabase, actor: Actor): void {
  if (actor.kind !== 'builder' || isActive(db, actor.tenant)) return;
  throw new PlatformError('forbidden', 'Your tenant is not active.', { reason: 'tenant_not_active' });
}

/** Whether a tenant is active. While it is not, its builders cannot act. */
export function isActive(db: SqlDatabase, tenant: string): boolean {
  return db.get("SELECT 1 FROM tenants WHERE id = ? AND status = 'active'", tenant) !== undefined;
}

interface Member {
  readonly id: string;
  readonly name: string;
  readonly role: RosterRole;
  readonly tenant: TenantId | null;
}

/**
 * The actor of a member of the roster: staff, or a builder of their tenant. Null for the builder of a tenant that is not
 * active.
 * @param shown the session, or the token of a program, that the member came with.
 */
export function memberActor(
  db: SqlDatabase,
  { id, name, role, tenant }: Member,
  shown: { readonly session: string } | Pick<MemberActor, 'token' | 'program'>,
): MemberActor | null {
  if (role !== 'builder') return { kind: 'staff', id, name, role, ...shown };
  return tenant !== null && isActive(db, tenant) ? { kind: 'builder', id, name, tenant, ...shown } : null;
}

interface TokenRow {
  readonly id: string;
  readonly name: string;
  readonly tenant: TenantId | null;
  readonly rights: TokenRights['kind'] | null;
  /** JSON lists. */
  readonly verticals: string | null;
  readonly scopes: string | null;
  readonly owner: string | null;
  /** The owner's role now; null also for an owner who left the staff. */
  readonly ownerRole: StaffRole | null;
  readonly expiresAtMs: number;
  readonly revokedAtMs: number | null;
  readonly lastUsedAtMs: number | null;
}

const TOKENS = `SELECT id, name, tenant, rights, verticals, scopes, owner,
    (SELECT role FROM staff WHERE staff.id = tokens.owner AND staff.tenant IS NULL) AS ownerRole,
    expires_at AS expiresAtMs, revoked_at AS revokedAtMs, last_used_at AS lastUsedAtMs FROM tokens`;

/** The actor of a push token or a service token. */
function actorOfToken(db: SqlDatabase, { hash, nowMs }: ShownToken): Caller | null {
  const row = db.get<TokenRow>(`${TOKENS} WHERE hash = ?`, hash);
  if (!row || row.revokedAtMs !== null || row.expiresAtMs <= nowMs) return null;
  const { id, name, tenant, owner, ownerRole, lastUsedAtMs } = row;
  const found = (actor: Actor): Caller => ({ actor, token: id, lastUsedAtMs });
  if (tenant !== null)
    return isActive(db, tenant)
      ? found({ kind: 'builder', id, name, tenant, rights: rightsOfRow(row) })
      : null;
  // The operator's own tokens have no owner and may do everything.
  if (owner === null) return found({ kind: 'service', id, name });
  return ownerRole === null ? null : found({ kind: 'service', id, name, owner, role: ownerRole });
}

function rightsOfRow({ rights, verticals, scopes }: TokenRow): TokenRights {
  const listed = (json: string | null): string[] | null => (json === null ? null : JSON.parse(json));
  return { kind: rights ?? 'legacy', verticals: listed(verticals), scopes: listed(scopes) };
}

/** The member for whom a program acts with a staff token, if they sign in at the present issuer. */
function memberOfToken(db: SqlDatabase, { hash, issuer, nowMs }: ShownToken): Caller | null {
  type Row = Member & { readonly token: string; readonly lastUsedAtMs: number | null };
  const row = db.get<Row>(
    `SELECT t.id AS token, t.last_used_at AS lastUsedAtMs, s.id, s.name, s.role, s.tenant
     FROM staff_tokens t JOIN staff s ON s.id = t.member
     WHERE t.hash = ? AND t.expires_at > ? AND s.issuer = ?`,
    ...[hash, nowMs, issuer],
  );
  if (!row) return null;
  const { token, lastUsedAtMs } = row;
  const actor = memberActor(db, row, { token });
  return actor && { actor, token, lastUsedAtMs };
}

/**
 * The member for whom a program acts with an access token: one look-up by the token's hash tells the grant and the member
 * as they are now. A member of a former issuer may have left it unnoticed: it tells this one nothing.
 */
export const PROGRAM_CALLER = `SELECT g.id AS "grant", g.name AS program, g.access, g.permissions,
    g.used_at AS lastUsedAtMs, s.id, s.name, s.role, s.tenant
  FROM program_tokens t JOIN program_grants g ON g.id = t.grant_id JOIN staff s ON s.id = g.person_id
  WHERE t.hash = ?1 AND t.kind = 'access' AND t.expires_at > ?2 AND g.expires_at > ?2 AND s.issuer = ?3`;

function memberOfProgram(db: SqlDatabase, { hash, issuer, nowMs }: ShownToken): Caller | null {
  type Row = Member & {
    readonly grant: string;
    readonly program: string;
    readonly access: ProgramAccess['access'];
    readonly permissions: string;
    readonly lastUsedAtMs: number | null;
  };
  const row = db.get<Row>(PROGRAM_CALLER, hash, nowMs, issuer);
  if (!row) return null;
  const { grant, program: name, access, lastUsedAtMs } = row;
  const allowed = accessOf({ access, permissions: JSON.parse(row.permissions) });
  const actor = memberActor(db, row, { token: grant, program: { id: grant, name, ...allowed } });
  return actor && { actor, token: grant, lastUsedAtMs };
}

/** Whether a member has the same role or tenant, and the token or session, with which the call was admitted. */
function isOnRoster(db: SqlDatabase, actor: MemberActor): boolean {
  const { id, token, session, program } = actor;
  const shown = program ? 'program_grants' : 'staff_tokens';
  if (token !== undefined && !db.get(`SELECT 1 FROM ${shown} WHERE id = ?`, token)) return false;
  if (
    session !== undefined &&
    !db.get('SELECT 1 FROM staff_sessions WHERE sid = ? AND member = ?', session, id)
  )
    return false;
  const member = db.get<{ role: string; tenant: string | null }>(
    'SELECT role, tenant FROM staff WHERE id = ?',
    id,
  );
  if (actor.kind === 'staff') return member?.role === actor.role;
  return member?.role === 'builder' && member.tenant === actor.tenant;
}

/** Whether a token is not revoked and has the same rights. A service without a token is the platform itself. */
function isTokenGood(
  db: SqlDatabase,
  actor: Extract<Actor, { readonly kind: 'builder' | 'service' }>,
): boolean {
  const row = db.get<TokenRow>(`${TOKENS} WHERE id = ?`, actor.id);
  if (row && row.revokedAtMs !== null) return false;
  if (actor.kind === 'builder') return true;
  const { owner = null, ownerRole = null } = row ?? {};
  if (owner !== null && ownerRole === null) return false;
  return owner === (actor.owner ?? null) && ownerRole === (actor.role ?? null);
}

/** Read in the transaction that uses it: a revoked grant counts for not one more call. */
function requireGrant(db: SqlDatabase, vertical: string, name: PlatformGrant | undefined): void {
  const held = 'SELECT 1 FROM platform_grants WHERE vertical = ? AND name = ?';
  if (name !== undefined && db.get(held, vertical, name)) return;
  const what = name === undefined ? 'do this' : PLATFORM_GRANTS[name];
  throw new PlatformError('forbidden', `This vertical may not ${what}.`, { reason: 'not_granted' });
}
