/** One operation framework for verticals and the control plane. Start with `operation.ts`. */
export * from './lists.ts';
export * from './operation.ts';
export * from './paths.ts';
