/** A vertical is a declaration. Start with `declaration/app.ts`; `make-app.ts` serves it. */
export {
  type App,
  type AppDeclaration,
  type AppLook,
  type AppRoutes,
  type AppTools,
  type AttachmentRules,
  defineApp,
  type ErasablePerson,
  type ErasureRules,
  type PublicSurface,
  type VisitorTools,
} from './declaration/app.ts';
export type {
  AppContext,
  AppEnv,
  AppServices,
  Bindings,
  Node,
  WebFile,
  WebFiles,
} from './declaration/env.ts';
export {
  AppDeclarationError,
  DECLARATION_CODES,
  type DeclarationCode,
  type DeclarationProblem,
} from './declaration/mistakes.ts';
export type { GovernedModel } from './declaration/model.ts';
export { type AuthenticatedPrincipal, signedIn, unauthenticated } from './declaration/seam.ts';
export { TEAM_PERMISSIONS } from './declaration/supplied.ts';
export * from './kit.ts';
export { makeApp, type RunningApp } from './make-app.ts';
export { modelOperations } from './model-accounting/operations.ts';
export { MODEL_TABLES } from './model-accounting/store.ts';
export { inPlainWords, isForOperator } from './models/model-refusals.ts';
export { findModelFault } from './models/model-settings.ts';
export { day, minutes, money, type RelatedRecord, relation, timeOfDay } from './records/fields.ts';
export { fillWords } from './records/fill-words.ts';
export { type RecordOf, type Records, type RecordsOptions, records } from './records/records.ts';
export { requireFilled } from './records/require-filled.ts';
export { statementsOf } from './records/tables.ts';
export { mountRoutes, type Route, readBody } from './request/routes.ts';
