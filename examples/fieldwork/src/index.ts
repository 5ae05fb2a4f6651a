/** Fieldwork: work orders for trades people. Start with `fieldwork.ts`, or with `orders/states.ts` for what it is about. */
export { type Fieldwork, makeFieldwork } from './fieldwork.ts';
export { manifest } from './manifest.ts';
export { operations } from './operations.ts';
export type { Bindings, FieldworkDeps, Node, WebFile, WebFiles } from './server/env.ts';
export { findModelFault } from './server/model-settings.ts';
export { defineFieldwork, type FieldworkHands } from './vertical.ts';
