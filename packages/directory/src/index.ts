/** What the platform knows, and the host administration over it. Start with `host-admin.ts`, then `unit.ts`. */
export * from './actors.ts';
export type { LogAnchor } from './audit/host-admin-anchor.ts';
export type { ConnectCookie, ConnectStep, ConsentAnswer, ConsentRounds } from './connections/consent.ts';
export type { Connections, ConnectionsOptions } from './connections/make-connections.ts';
export type {
  AccountProbe,
  ApiKeyProvider,
  ConnectionProvider,
  ConnectionProviders,
  OAuthProvider,
} from './connections/providers.ts';
export type { ConnectionSweep } from './connections/sweep.ts';
export type { UsableCredential } from './connections/token-keeper.ts';
export * from './gateway.ts';
export * from './host-admin.ts';
export type { Incident, IncidentIntake } from './issues/incident-intake.ts';
export {
  type DirectoryHostAdmin,
  type HostAdminOptions,
  makeHostAdmin,
  type ServiceTokenRequest,
} from './make-host-admin.ts';
export type { OperationsLog, OpsFailureInput, SweepTotals, SweepUnit } from './operations-log/recorder.ts';
export type { ServiceToken } from './tokens/service-tokens.ts';
export { type AccessInput, DIRECTORY_KEY, type DirectoryMethods, directoryUnit } from './unit.ts';
export type { CollectedUsage } from './usage/collect.ts';
export type { MeterInput, UsageIntake } from './usage/make-usage.ts';
export type { Deadline } from './verticals/client.ts';
