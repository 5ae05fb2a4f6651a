/**
 * What each row of the admin log says was taken away, or given back. This is the one table of it: an operation that takes
 * something away and is not in it would be undone by a restore, and a test asks for every one of them. How each thing is
 * taken away again is in `taking-again.ts`.
 *
 * Invariant: the newest word about a thing counts; whoever gives it back has the last word too.
 */
import type { SqlDatabase } from '@freehold/store';
import {
  blocked,
  deleted,
  disconnected,
  erased,
  exchanged,
  given,
  hostnameIs,
  identity,
  identityFields,
  left,
  platformGrant,
  rejected,
  revoked,
  roleIs,
  runsOut,
  scopeIs,
  shownTo,
  takenOver,
  tenantIs,
} from './taking-again.ts';

/** What a row says of a record, before or after. */
export type Fields = Readonly<Record<string, unknown>>;

/** A row of the log that says what was done. */
export interface LoggedRow {
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

/** The moment of a restore, for what it changes. */
export interface TakingAgain {
  /** The sequence of the row that the restore ends with. */
  readonly revision: number;
  readonly nowMs: number;
}

/** What one row says of one thing. */
export interface Word {
  /** Words about the same thing replace one another: `hostname shop.acme.example tnt_…`. */
  readonly thing: string;
  /** False: it was given, and there is nothing to be taken. */
  readonly taken: boolean;
  /** Takes it away again, and answers how many rows that changed. */
  again(db: SqlDatabase, at: TakingAgain): number;
}

type Says = (row: LoggedRow) => readonly Word[];

/** Every action that takes away or gives back, with what its rows say. */
export const WORDS: Readonly<Record<string, Says>> = {
  'tenants.set-status': ({ tenant, after }) => [tenantIs(tenant, after.status)],
  'tenants.reap': ({ tenant }) => [tenantIs(tenant, 'reaped')],
  'scopes.set-status': ({ scope, after }) => [scopeIs(scope, after.status)],
  'scopes.reap': ({ scope, after }) => [
    scopeIs(scope, 'reaped'),
    ...erased(after).map((connection) => disconnected(connection, null)),
  ],
  'identities.add': (row) => [given(identity(row.tenant, row.after))],
  'identities.remove': (row) => [
    deleted(
      identity(row.tenant, row.before),
      'tenant_identities WHERE tenant = ? AND kind = ? AND issuer = ? AND value = ?',
      [row.tenant, ...identityFields(row.before)],
    ),
  ],
  'entitlements.put': ({ tenant, other }) => [given(`entitlement ${tenant} ${other}`)],
  'entitlements.delete': ({ tenant, other }) => [
    deleted(`entitlement ${tenant} ${other}`, 'entitlements WHERE tenant = ? AND key = ?', [tenant, other]),
  ],
  'hostnames.bind': (row) => [hostnameIs(row)],
  'hostnames.set-status': (row) => [hostnameIs(row)],
  'hostnames.verify': (row) => [
    // Unbound while it was looked at: the row of that says what there is to say.
    ...(row.after.reason === 'unbound' ? [] : [hostnameIs(row)]),
    ...(typeof row.after.takenFrom === 'string' ? [takenOver(row.other, row.after.takenFrom)] : []),
  ],
  'hostnames.delete': ({ tenant, other }) => [
    deleted(`hostname ${other} ${tenant}`, 'hostnames WHERE hostname = ? AND tenant = ?', [other, tenant]),
  ],
  'connection-grants.put': ({ scope, other }) => [given(`connection grant ${other} ${scope}`)],
  'connection-grants.delete': ({ scope, other }) => [
    deleted(`connection grant ${other} ${scope}`, 'connection_grants WHERE connection = ? AND scope = ?', [
      other,
      scope,
    ]),
  ],
  'connections.rotate': ({ other, after }) => [exchanged(other, after.fingerprint)],
  'connections.disconnect': ({ other, after }) => [disconnected(other, after.reason)],
  'roles.put': ({ other, before, after }) => [roleIs(other, before.permissions, after.permissions)],
  'roles.delete': ({ other }) => [deleted(`role ${other}`, 'roles WHERE key = ?', [other])],
  'email-sender.put': ({ vertical, other }) => [given(`grant ${vertical} ${other}`)],
  'email-sender.delete': (row) => [platformGrant(row)],
  'tenant-provisioner.put': ({ vertical, other }) => [given(`grant ${vertical} ${other}`)],
  'tenant-provisioner.delete': (row) => [platformGrant(row)],
  'install-blocks.put': (row) => [blocked(row)],
  'install-blocks.delete': ({ vertical }) => [given(`installing ${vertical}`)],
  'vertical-versions.admit': ({ other }) => [given(`version ${other}`)],
  'vertical-versions.reject': (row) => [rejected(row)],
  'listings.put': ({ vertical, after }) => [shownTo(vertical, after.tier)],
  'snapshots.delete': ({ scope, other }) => [
    deleted(`snapshot ${scope} ${other}`, 'snapshots WHERE scope = ? AND id = ?', [scope, other]),
  ],
  'push-tokens.revoke': ({ other }) => [revoked(other)],
  'push-tokens.rotate': (row) => runsOut(row),
  'service-tokens.revoke': ({ other }) => [revoked(other)],
  'service-tokens.rotate': (row) => runsOut(row),
  'staff.remove': ({ other }) => [left(other)],
  // Whoever changed sides came back under another id.
  'staff.put': ({ before }) => (typeof before.member === 'string' ? [left(before.member)] : []),
};

/**
 * What is taken away for ever: its id is never given again. The whole log is asked, because such a thing can be gone
 * through one restore and come back through the next.
 */
export const FOR_EVER: readonly string[] = [
  ...['push-tokens.revoke', 'push-tokens.rotate', 'service-tokens.revoke', 'service-tokens.rotate'],
  ...['connections.disconnect', 'staff.remove', 'staff.put'],
];

/** Operations that look as if they took something away, and why a restore of the directory does not bring it back. */
export const NOT_BROUGHT_BACK: Readonly<Record<string, string>> = {
  'staff-tokens.revoke': 'no restore touches the tokens of staff: they are as they are now',
  'subjects.shred': 'receipts of erasures stay, and the keys that were destroyed are in no directory',
  'session-secret.rotate': 'the secret lies with the application, and no directory holds it',
  'scope-backups.delete': 'the list of backups stays, and is given none of those that it lost',
  'directory-backups.delete': 'the list of backups stays, and is given none of those that it lost',
  'operations.cancel': 'no restore touches the list of long work',
  'issues.set-status': 'no restore touches issues',
};
