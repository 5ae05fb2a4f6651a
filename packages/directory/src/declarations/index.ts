/** Every admin operation there is, by name. Data only: a client imports this without the directory behind it. */
import type { AdminOperation } from './admin-operation.ts';
import {
  connectionGrantsDelete,
  connectionGrantsList,
  connectionGrantsPut,
  connectionsActivity,
  connectionsCreate,
  connectionsCredential,
  connectionsDisconnect,
  connectionsGet,
  connectionsList,
  connectionsRotate,
  connectionsVerify,
} from './connections.ts';
import { hostnamesBind, hostnamesList, hostnamesSetStatus } from './hostnames.ts';
import { issuesList, issuesSetStatus } from './issues.ts';
import { accessLogList, adminLogList, adminLogVerify } from './logs.ts';
import { opsFailuresList, sweepRunsList } from './operations-log.ts';
import { ownerClaimMint, ownerSeatGet } from './owner-seat.ts';
import { pushTokensCreate, pushTokensList, pushTokensRevoke } from './push-tokens.ts';
import { rolesDelete, rolesList, rolesPut } from './roles.ts';
import {
  causeGet,
  deadLettersList,
  denialsList,
  denialsSummary,
  effectsGet,
  facetsGet,
  healthGet,
  historyGet,
  invocationGet,
  queryRun,
  scopesExport,
  tablesList,
  tablesRead,
} from './scope-data.ts';
import {
  bookmarksList,
  migrationsGet,
  scopesConfigure,
  scopesFleet,
  scopesGet,
  scopesList,
  scopesProvision,
  scopesRestore,
  scopesRewind,
  snapshotsDelete,
  snapshotsList,
  snapshotsTake,
} from './scopes.ts';
import { tenantsCreate, tenantsGet, tenantsList, tenantsSetStatus } from './tenants.ts';
import { metersList, modelUsageList } from './usage.ts';

export * from './admin-operation.ts';
export * from './connection-records.ts';
export type { IssueRecord } from './issues.ts';
export type { OpsFailureRecord, SweepRunRecord } from './operations-log.ts';
export { PUSH_TOKEN_DAYS_DEFAULT, TOKEN_DAYS_MAX } from './push-tokens.ts';
export * from './records.ts';
export * from './scope-records.ts';
export type { MeterRecord, ModelUsageRecord } from './usage.ts';

/** The whole table, keyed by operation name, in the order in which the documentation shows it. */
export const adminOperations = {
  'tenants.list': tenantsList,
  'tenants.create': tenantsCreate,
  'tenants.get': tenantsGet,
  'tenants.set-status': tenantsSetStatus,
  'scopes.fleet': scopesFleet,
  'scopes.list': scopesList,
  'scopes.provision': scopesProvision,
  'scopes.get': scopesGet,
  'scopes.configure': scopesConfigure,
  'scopes.restore': scopesRestore,
  'scopes.rewind': scopesRewind,
  'migrations.get': migrationsGet,
  'bookmarks.list': bookmarksList,
  'snapshots.list': snapshotsList,
  'snapshots.take': snapshotsTake,
  'snapshots.delete': snapshotsDelete,
  'owner-seat.get': ownerSeatGet,
  'owner-claim.mint': ownerClaimMint,
  'tables.list': tablesList,
  'tables.read': tablesRead,
  'query.run': queryRun,
  'scopes.export': scopesExport,
  'health.get': healthGet,
  'history.get': historyGet,
  'facets.get': facetsGet,
  'cause.get': causeGet,
  'effects.get': effectsGet,
  'invocation.get': invocationGet,
  'dead-letters.list': deadLettersList,
  'denials.list': denialsList,
  'denials.summary': denialsSummary,
  'hostnames.list': hostnamesList,
  'hostnames.bind': hostnamesBind,
  'hostnames.set-status': hostnamesSetStatus,
  'connections.list': connectionsList,
  'connections.create': connectionsCreate,
  'connections.get': connectionsGet,
  'connections.disconnect': connectionsDisconnect,
  'connections.verify': connectionsVerify,
  'connections.credential': connectionsCredential,
  'connections.rotate': connectionsRotate,
  'connections.activity': connectionsActivity,
  'connection-grants.list': connectionGrantsList,
  'connection-grants.put': connectionGrantsPut,
  'connection-grants.delete': connectionGrantsDelete,
  'roles.list': rolesList,
  'roles.put': rolesPut,
  'roles.delete': rolesDelete,
  'admin-log.list': adminLogList,
  'admin-log.verify': adminLogVerify,
  'access-log.list': accessLogList,
  'ops-failures.list': opsFailuresList,
  'sweep-runs.list': sweepRunsList,
  'issues.list': issuesList,
  'issues.set-status': issuesSetStatus,
  'model-usage.list': modelUsageList,
  'meters.list': metersList,
  'push-tokens.list': pushTokensList,
  'push-tokens.create': pushTokensCreate,
  'push-tokens.revoke': pushTokensRevoke,
} as const satisfies Readonly<Record<string, AdminOperation>>;

export type AdminOperationName = keyof typeof adminOperations;

/** The declaration with this name, or undefined. */
export function findAdminOperation(name: string): AdminOperation | undefined {
  return Object.hasOwn(adminOperations, name) ? adminOperations[name as AdminOperationName] : undefined;
}
