/** The directory and the host administration over it. Start with `make-host-admin.ts`, then `unit.ts`. */

export * from './access/actors.ts';
export { mayCall, memberBehind, staffAccessOf } from './access/admission.ts';
export { offeredPermissions, type StaffPermission } from './access/program-access.ts';
export type { AlertsTest, TestedChannel } from './alerts/operations.ts';
export type { AccessInput } from './audit/access-log.ts';
export type { LogAnchor } from './audit/anchor.ts';
export type { BackupStore, StoredBackup } from './backups/backup-store.ts';
export type { BackupLine, BackupMaintenance } from './backups/maintenance.ts';
export type { BackupPolicy } from './backups/schedule.ts';
export type {
  ConnectCookie,
  ConnectStep,
  ConsentAnswer,
  ConsentOrder,
  ConsentRounds,
} from './connections/consent.ts';
export type { Connections, ConnectionsOptions } from './connections/make-connections.ts';
export type {
  AccountProbe,
  ApiKeyProvider,
  ConnectionProvider,
  ConnectionProviders,
  OAuthProvider,
} from './connections/providers.ts';
export { isLoopbackHost, providerSchema } from './connections/providers.ts';
export type { UsableCredential } from './connections/token-keeper.ts';
export type { PreviewRef } from './declarations/previews.ts';
export * from './host-admin.ts';
export type { HostAdminOptions } from './host-admin-options.ts';
export { CHALLENGE_PATH } from './hostnames/challenge.ts';
export type {
  AddressAnswer,
  HostnameProbes,
  HostnameResolver,
  LookupOutcome,
  TxtAnswer,
} from './hostnames/look-up.ts';
export type { HostnameMaintenance } from './hostnames/maintenance.ts';
export type { HostDestination, HostRoute } from './hostnames/store.ts';
export type { Incident, IncidentIntake } from './issues/incident-intake.ts';
export { DIRECTORY_KEY } from './lib/feature.ts';
export type { RoutesChange } from './lib/handlers.ts';
export { makeHostAdmin } from './make-host-admin.ts';
export type { Telemetry } from './observability/observability.ts';
export type {
  ConnectionSweep,
  OperationsLog,
  OpsFailureInput,
  SweepTotals,
  SweepUnit,
} from './operations-log/recorder.ts';
export { connectionUnits } from './operations-log/recorder.ts';
export type { PlatformGrants } from './platform-grants/operations.ts';
export type { PreviewMaintenance } from './previews/make-previews.ts';
export type { Entitlements, EntitlementTotals, RoleProjection } from './projections.ts';
export { archiveScript, servingScript } from './service-refs/script-names.ts';
export { CONTROL_PLANE, type StaffProgram } from './staff/program-store.ts';
export type {
  EndedSessions,
  GrantedToken,
  SignInRefusal,
  StaffPrograms,
  StaffSession,
  StaffSignIn,
  StaffSignIns,
} from './staff/sign-in.ts';
export type { ServiceToken, ServiceTokenRequest } from './tokens/service-tokens.ts';
export { type DirectoryMethods, directoryUnit } from './unit.ts';
export type { CollectedUsage } from './usage/collect.ts';
export type { GaugeInput, MeterInput, UsageIntake } from './usage/make-usage.ts';
export type { BuiltIn } from './vertical-registry/built-in.ts';
export { declaredMigrations } from './vertical-registry/built-in.ts';
export type {
  PreviewRuntime,
  RuntimeModule,
  TakenModules,
  VerticalRuntime,
} from './vertical-registry/deploy.ts';
export type { EgressObserver, ObservedHost } from './vertical-registry/egress.ts';
export type { RegistryIntake } from './vertical-registry/make-registry.ts';
export type { VerticalSecrets } from './vertical-secrets/make-secrets.ts';
export type { Deadline } from './verticals/client.ts';
export * from './verticals/gateway.ts';
