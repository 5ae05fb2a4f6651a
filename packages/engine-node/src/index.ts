/** The embedded engine. Start with `engine.ts`. */
export { makeNodeBlobStore, type NodeBlobStoreOptions } from './blob-store.ts';
export { type NodeEngine, type NodeEngineOptions, openNodeEngine } from './engine.ts';
