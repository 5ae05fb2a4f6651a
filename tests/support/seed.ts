/**
 * The seed of every property test. A developer's run draws a new one and prints it with a finding; CI runs the same
 * examples every time, so that only a change turns it red. `FREEHOLD_FUZZ_SEED=N` repeats a run.
 */
import fc from 'fast-check';

const CI_SEED = '20261121';

const seed = process.env.FREEHOLD_FUZZ_SEED ?? (process.env.CI ? CI_SEED : undefined);
if (seed !== undefined) fc.configureGlobal({ seed: Number(seed) });

/**
 * The HTTP server replaces these with lighter classes when it starts. Files share a worker, and each begins with
 * Node's own.
 */
interface Shared {
  nativesOfNode?: { readonly Request: typeof Request; readonly Response: typeof Response };
}
const shared: Shared = globalThis as Shared;
shared.nativesOfNode ??= { Request, Response };
for (const [name, value] of Object.entries(shared.nativesOfNode))
  Object.defineProperty(globalThis, name, { value });
