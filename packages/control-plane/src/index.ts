/** Component C: the control plane's HTTP API and its description. Start with `app.ts`; the client is `./client`. */
export type { PlatformSecret } from '@freehold/contracts/http';
export { type ControlPlaneOptions, controlPlaneApp } from './app.ts';
export type { AdminOperationTable } from './declared/operations.ts';
export type { ControlPlaneEnv, IncidentPlace, RequestLine } from './http/env.ts';
export {
  ANONYMOUS_LIMITS_DEFAULT,
  type AnonymousLimits,
  RATE_LIMIT_DEFAULT,
} from './http/rate-limit.ts';
export { type Degradation, readyBody } from './http/service-routes.ts';
export {
  CONTROL_PLANE_INFO,
  type OpenApiInfo,
  openApiDocument,
} from './openapi/document.ts';
export type { ArrivedStaff, StaffOptions, StaffRelyingParty } from './staff/staff-options.ts';
