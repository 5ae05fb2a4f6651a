/** The embedded engine. Start with `engine.ts`. */
export { type NodeEngine, type NodeEngineOptions, openNodeEngine } from './engine.ts';
