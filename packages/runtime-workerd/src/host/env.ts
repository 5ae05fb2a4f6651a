/** The bindings of the host worker: `config.ts` writes them. */
import type { Supervisor } from './supervisor.ts';

declare global {
  namespace Cloudflare {
    interface GlobalProps {
      /** The classes that `ctx.exports` makes capabilities of. */
      readonly mainModule: typeof import('./host.ts');
      readonly durableNamespaces: 'Supervisor';
    }
  }
}

export interface HostEnv {
  readonly LOADER: WorkerLoader;
  readonly SCOPES: DurableObjectNamespace<Supervisor>;
  /** The platform, over the socket of this vertical. */
  readonly SERVICES: Fetcher;
  /** Public addresses alone: workerd judges them after it resolved the name. */
  readonly INTERNET: Fetcher;
  readonly VERTICAL: string;
  /** The longest time that work waits which a crash cut off, in milliseconds. */
  readonly RECOVER_MS: string;
}

/** Calls the platform on behalf of one instance. */
export function askPlatform(
  { SERVICES }: Pick<HostEnv, 'SERVICES'>,
  path: string,
  { tenant, scope }: { readonly tenant: string; readonly scope: string },
  init: RequestInit = {},
): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set('x-freehold-tenant', tenant);
  headers.set('x-freehold-scope', scope);
  return SERVICES.fetch(`http://platform.internal${path}`, { ...init, headers });
}
