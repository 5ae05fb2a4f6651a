/** Bundles: from the platform, by digest, into isolates of their own. */
import type { StoredBundle } from '../lib/bundle.ts';
import type { HostEnv } from './env.ts';
import { UNLOAD_MODULE, unloadModule } from './isolates.ts';

interface Surroundings {
  /** Takes every outgoing call. Null: there is no network. */
  readonly outbound: Fetcher | null;
  /** Takes the logs and exceptions. Null: they are dropped. */
  readonly tail: Fetcher | null;
}

/**
 * Fetches a bundle. What it gets as `env` is the same for every tenant: nothing. All instances of a bundle share it.
 * @throws Error when the platform does not have it.
 */
export async function loadedFrom(
  { SERVICES }: Pick<HostEnv, 'SERVICES'>,
  digest: string,
  { outbound, tail }: Surroundings,
): Promise<WorkerLoaderWorkerCode> {
  const response = await SERVICES.fetch(`http://platform.internal/bundles/${encodeURIComponent(digest)}`);
  if (!response.ok) throw new Error(`the platform answered ${response.status} for the bundle ${digest}`);
  const { mainModule, compatibilityDate, compatibilityFlags, modules } =
    (await response.json()) as StoredBundle;
  return {
    mainModule: UNLOAD_MODULE,
    compatibilityDate,
    compatibilityFlags: [...compatibilityFlags],
    modules: {
      ...Object.fromEntries(
        Object.entries(modules).map(([name, module]) => [
          name,
          'js' in module ? { js: module.js } : { data: bytesOf(module.data) },
        ]),
      ),
      [UNLOAD_MODULE]: { js: unloadModule(mainModule) },
    },
    env: {},
    globalOutbound: outbound,
    tails: tail === null ? [] : [tail],
  };
}

function bytesOf(base64: string): ArrayBuffer {
  return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0)).buffer;
}
