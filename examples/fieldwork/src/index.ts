/** Fieldwork: work orders for trades people. Start with `fieldwork.ts`, or with `orders/states.ts` for what it is about. */
export { type Fieldwork, makeFieldwork } from './fieldwork.ts';
export { manifest } from './lib/manifest.ts';
export type { Bindings, FieldworkDeps, Node, WebFile, WebFiles } from './server/env.ts';
export { findModelFault } from './server/model-settings.ts';
export { PUBLIC_PATHS } from './server/public-routes.ts';
export { operations } from './vertical/operations.ts';
export { defineFieldwork, type FieldworkHands } from './vertical/vertical.ts';
