/** Operations as tools of the Model Context Protocol. */
export * from './message.ts';
export * from './meta.ts';
