/**
 * The rules of revocations: the floors that each operation of the admin log sets or lifts. `floors.ts` applies them to a
 * restored directory. A test walks the declarations, so that no new operation is forgotten.
 *
 * Invariant: the newest change of a thing decides; giving it back lifts its floor.
 */
import { fromTimestamp } from '@freehold/contracts';
import { type Floors, type RevocationKind, type Target, weakerThan } from './floors.ts';

/** A row of the admin log with the outcome `done`. */
export interface DoneRow {
  readonly sequence: number;
  readonly at: number;
  readonly action: string;
  readonly tenant: string | null;
  readonly scope: string | null;
  readonly vertical: string | null;
  readonly other: string | null;
  readonly before: Fields;
  readonly after: Fields;
}

type Fields = Readonly<Record<string, unknown>>;

/** The floor that one row sets under one thing. */
export interface Revocation<K extends RevocationKind = RevocationKind> {
  readonly kind: K;
  readonly target: Target;
  /** Null lifts the floor. */
  readonly floor: Floors[K] | null;
  /** Whether it revoked something. A role that only grew has a floor too. */
  readonly taken: boolean;
}

type Rule = (row: DoneRow) => readonly Revocation[];

export const REVOCATION_RULES: Readonly<Record<string, Rule>> = {
  'tenants.set-status': ({ tenant, after }) => [lowered('tenant', tenant, after.status)],
  'tenants.reap': ({ tenant }) => [lowered('tenant', tenant, 'reaped')],
  'scopes.set-status': ({ scope, after }) => [lowered('scope', scope, after.status)],
  'scopes.reap': ({ scope, after }) => [
    lowered('scope', scope, 'reaped'),
    ...disconnectedWith(after).map((connection) => set('connection', [connection], { reason: null })),
  ],
  'identities.add': ({ tenant, after }) => [lifted('identity', identityKey(tenant, after))],
  'identities.remove': ({ tenant, before }) => [removed('identity', identityKey(tenant, before))],
  'entitlements.put': (row) => [entitlementFloor(row)],
  'entitlements.delete': ({ tenant, other }) => [removed('entitlement', [tenant, other])],
  'hostnames.bind': (row) => [hostnameFloor(row)],
  'hostnames.set-status': (row) => [hostnameFloor(row)],
  'hostnames.verify': (row) => [
    // Unbound during the verification: the row of the unbinding decides.
    ...(row.after.reason === 'unbound' ? [] : [hostnameFloor(row)]),
    ...(typeof row.after.takenFrom === 'string'
      ? [set('hostname', [row.other, row.after.takenFrom], { status: 'taken_over' })]
      : []),
  ],
  'hostnames.delete': ({ tenant, other }) => [set('hostname', [other, tenant], { status: 'removed' })],
  'connection-grants.put': ({ scope, other }) => [lifted('connection-grant', [other, scope])],
  'connection-grants.delete': ({ scope, other }) => [removed('connection-grant', [other, scope])],
  'connections.rotate': ({ other, after }) => [
    set('credential', [other], { fingerprint: String(after.fingerprint) }),
  ],
  'connections.disconnect': ({ other, after }) => [
    set('connection', [other], { reason: textOrNull(after.reason) }),
  ],
  'roles.put': (row) => [roleFloor(row)],
  'roles.delete': ({ other }) => [removed('role', [other])],
  'email-sender.put': ({ vertical, other }) => [lifted('platform-grant', [vertical, other])],
  'email-sender.delete': ({ vertical, other }) => [removed('platform-grant', [vertical, other])],
  'tenant-provisioner.put': ({ vertical, other }) => [lifted('platform-grant', [vertical, other])],
  'tenant-provisioner.delete': ({ vertical, other }) => [removed('platform-grant', [vertical, other])],
  'install-blocks.put': ({ vertical, after, at }) => [
    set('install-block', [vertical], { reason: String(after.reason), by: String(after.by), sinceMs: at }),
  ],
  'install-blocks.delete': ({ vertical }) => [lifted('install-block', [vertical])],
  'vertical-versions.admit': ({ other }) => [lifted('version', [other])],
  'vertical-versions.reject': ({ other, after }) => [
    set('version', [other], { reviewedBy: textOrNull(after.reviewedBy), note: textOrNull(after.note) }),
  ],
  'vertical-versions.discard': ({ other }) => [removed('version-files', [other])],
  'verticals.deploy': ({ other, after }) => [
    lifted('version-files', [other]),
    ...(after.status === 'admitted' ? [lifted('version', [other])] : []),
  ],
  'listings.put': ({ vertical, after }) => [lowered('listing', vertical, after.tier)],
  'snapshots.delete': ({ scope, other }) => [removed('snapshot', [scope, other])],
  'push-tokens.revoke': ({ other, after }) => [other, ...texts(after.ended)].map(revokedToken),
  'push-tokens.rotate': tokenEnd,
  'service-tokens.revoke': ({ other, after }) => [other, ...texts(after.ended)].map(revokedToken),
  'service-tokens.rotate': tokenEnd,
  'staff.remove': ({ other, before }) => [
    removed('member', [other]),
    ...texts(before.pushTokens).map(revokedToken),
  ],
  // A member who changed between staff and builder, or between tenants, has a new id since.
  'staff.put': ({ before }) => [
    ...(typeof before.member === 'string' ? [removed('member', [before.member])] : []),
    ...texts(before.pushTokens).map(revokedToken),
  ],
};

/** Operations that seem to revoke something, and the reason why a restore of the directory does not undo them. */
export const UNAFFECTED_BY_RESTORE: Readonly<Record<string, string>> = {
  'staff-tokens.revoke': 'a restore leaves the tokens of staff as they are',
  'staff-programs.end': 'a restore leaves the programs of staff as they are',
  'subjects.shred': 'receipts of erasures stay, and the destroyed keys are in no directory',
  'owner-recovery.end': 'the link lies with the application, and no directory holds it',
  'session-secret.rotate': 'the secret lies with the application, and no directory holds it',
  'scope-backups.delete': 'the list of backups stays, and a restore adds none that it lost',
  'directory-backups.delete': 'the list of backups stays, and a restore adds none that it lost',
  'operations.cancel': 'a restore leaves the list of long work as it is',
  'issues.set-status': 'a restore leaves issues as they are',
  'secrets.rotate': 'a restore leaves the secrets of builders as they are',
  'secrets.remove': 'a restore leaves the secrets of builders as they are',
  'previews.end': 'a restore leaves previews as they are',
};

function set<K extends RevocationKind>(kind: K, target: Target, floor: Floors[K]): Revocation<K> {
  return { kind, target, floor, taken: true };
}

function lifted(kind: RevocationKind, target: Target): Revocation {
  return { kind, target, floor: null, taken: false };
}

type Removable = { [K in RevocationKind]: { removed: true } extends Floors[K] ? K : never }[RevocationKind];

function removed(kind: Removable, target: Target): Revocation {
  return { kind, target, floor: { removed: true }, taken: true };
}

function lowered(kind: 'tenant' | 'scope' | 'listing', id: string | null, state: unknown): Revocation {
  const least = String(state);
  if (weakerThan(kind, least).length === 0) return lifted(kind, [id]);
  return kind === 'listing' ? set(kind, [id], { tier: least }) : set(kind, [id], { status: least });
}

function identityKey(tenant: string | null, { kind, issuer, value }: Fields): Target {
  return [tenant, String(kind), String(issuer), typeof value === 'string' ? value : ''];
}

/** An active claim has a floor too: it leads to this scope and to no earlier one. */
function hostnameFloor({ tenant, scope, other, after: { status } }: DoneRow): Revocation {
  const least = status === 'active' || status === 'disabled' ? status : 'pending';
  return {
    kind: 'hostname',
    target: [other, tenant],
    floor: { status: least, scope },
    taken: status !== 'active',
  };
}

function entitlementFloor({ tenant, other, before, after }: DoneRow): Revocation {
  const [earlier, floor] = [termsOf(before), termsOf(after)];
  const isNew = Object.keys(before).length === 0;
  const isLess = (was: number | null, is: number | null) => is !== null && (was === null || is < was);
  const taken =
    !isNew &&
    (earlier.plan !== floor.plan ||
      isLess(earlier.quota, floor.quota) ||
      isLess(earlier.expiresAtMs, floor.expiresAtMs));
  return { kind: 'entitlement', target: [tenant, other], floor, taken };
}

function termsOf({ plan, quota, expiresAt }: Fields) {
  return {
    plan: textOrNull(plan),
    quota: typeof quota === 'number' ? quota : null,
    expiresAtMs: typeof expiresAt === 'string' ? fromTimestamp(expiresAt) : null,
  };
}

function roleFloor({ other, before, after }: DoneRow): Revocation {
  const [earlier, permissions] = [texts(before.permissions), texts(after.permissions)];
  const taken = earlier.some((permission) => !permissions.includes(permission));
  return { kind: 'role', target: [other], floor: { permissions }, taken };
}

function revokedToken(token: string | null): Revocation {
  return set('token', [token], { revoked: true });
}

function tokenEnd({ before, after }: DoneRow): readonly Revocation[] {
  const replaced = after.replaced as { readonly expiresAt?: string } | undefined;
  if (typeof before.token !== 'string' || replaced?.expiresAt === undefined) return [];
  return [set('token-end', [before.token], { expiresAtMs: fromTimestamp(replaced.expiresAt) })];
}

/** The connections that went with a reaped scope. */
function disconnectedWith({ connections }: Fields): string[] {
  const { disconnected } = (connections ?? {}) as { readonly disconnected?: unknown };
  return texts(disconnected);
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
