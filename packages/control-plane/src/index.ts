/** Component C: the control plane's HTTP API and its description. Start with `app.ts`; the client is `./client`. */
export type { PlatformSecret } from '@freehold/contracts/http';
export {
  type ControlPlaneEnv,
  type ControlPlaneOptions,
  controlPlaneApp,
  type IncidentPlace,
  type RequestLine,
} from './app.ts';
export type { AdminOperationTable } from './declared/operations.ts';
export { RATE_LIMIT_DEFAULT, type RateLimit } from './http/rate-limit.ts';
export {
  ANONYMOUS_LIMITS_DEFAULT as STRANGER_LIMITS_DEFAULT,
  type AnonymousLimits as StrangerLimits,
} from './http/rate-limit-anonymous.ts';
export {
  CONTROL_PLANE_INFO,
  type OpenApiInfo,
  openApiDocument,
} from './openapi/document.ts';
export type { ArrivedStaff, StaffOptions, StaffRelyingParty } from './staff/staff-options.ts';
