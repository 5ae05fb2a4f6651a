/** Loads the application of a folder once, for a command that looks at its declaration. */
import { DevError } from '../lib/dev-error.ts';
import { type Fault, placeOf } from '../lib/events.ts';
import type { Project } from '../project/project.ts';
import { asBundleError, type Bundle, type Bundler, clearBundles, openBundler } from './bundle.ts';
import { appSource, type LoadedApp, makeInProcessLoader } from './loader.ts';
import { Positions } from './positions.ts';

/**
 * Loads it, and lets `work` use it while its bundle is there.
 * @throws DevError with a line for each mistake, and its place.
 */
export async function withLoaded<T>(project: Project, work: (loaded: LoadedApp) => Promise<T>): Promise<T> {
  const positions = new Positions(project);
  const bundler: Bundler = await openBundler(project, appSource(project));
  let bundle: Bundle | null = null;
  try {
    bundle = await bundler.bundle();
    positions.add(bundle);
    return await work(await makeInProcessLoader(project).load(bundle));
  } catch (error) {
    throw error instanceof DevError
      ? error
      : withPlaces(positions.describeAll(asBundleError(error), bundle), error);
  } finally {
    await bundler.close();
    clearBundles(project);
  }
}

function withPlaces(faults: readonly Fault[], cause: unknown): DevError {
  const lines = faults.map((fault) =>
    [placeOf(fault), fault.message].filter((part) => part !== null).join(': '),
  );
  return new DevError('validation_failed', lines.join('\n'), { cause });
}
