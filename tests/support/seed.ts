/**
 * The seed of every property test. A developer's run draws a new one each time, and prints it when something is found; CI
 * runs the same examples every time, so that what turns it red is the change. `FREEHOLD_FUZZ_SEED=N` repeats a run.
 */
import fc from 'fast-check';

const CI_SEED = '20261121';

const seed = process.env.FREEHOLD_FUZZ_SEED ?? (process.env.CI ? CI_SEED : undefined);
if (seed !== undefined) fc.configureGlobal({ seed: Number(seed) });

/**
 * The HTTP server puts lighter classes in the place of these when it starts. Files share a worker, and each begins with
 * those of Node.
 */
interface Shared {
  nativesOfNode?: { readonly Request: typeof Request; readonly Response: typeof Response };
}
const shared: Shared = globalThis as Shared;
shared.nativesOfNode ??= { Request, Response };
for (const [name, value] of Object.entries(shared.nativesOfNode))
  Object.defineProperty(globalThis, name, { value });
