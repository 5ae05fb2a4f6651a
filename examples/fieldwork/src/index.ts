/** Fieldwork: work orders for trades people. Start with `app.ts`, or with `orders/states.ts` for what it is about. */
export { default as fieldwork } from './app.ts';
export { manifest } from './lib/manifest.ts';
export { operations } from './vertical/operations.ts';
