/**
 * The environment that lets a program of a test load compiled code of the programs before it (Node.js, "Module compile
 * cache"): loading our sources takes a second of CPU otherwise. Empty where the run has no such cache.
 */
const { NODE_COMPILE_CACHE } = process.env;
export const compileCache: Readonly<Record<string, string>> = NODE_COMPILE_CACHE
  ? { NODE_COMPILE_CACHE }
  : {};
