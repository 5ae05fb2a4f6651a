/** The shared contracts of all parts of the platform. Start with `problems.ts`, `operations.ts` and `management/`. */
export * from './canonical-json.ts';
export { IN_WORDS } from './error-map.ts';
export * from './ids.ts';
export * from './management/connectors.ts';
export * from './management/copies.ts';
export * from './management/data-window.ts';
export * from './management/entitlements.ts';
export * from './management/events.ts';
export * from './management/platform-requests.ts';
export * from './management/routes.ts';
export * from './management/scope-host.ts';
export * from './management/shared.ts';
export * from './manifest.ts';
export * from './model-usage.ts';
export * from './operations.ts';
export * from './pages.ts';
export * from './permission-diff.ts';
export * from './problems.ts';
