/** Third step of a start: what answers at each host name, and the socket that people reach it through. */

import type { DirectoryHostAdmin } from '@freehold/directory';
import { makeHome } from '../applications/home.ts';
import type { CoLocatedVertical } from '../applications/verticals.ts';
import { observed, type ServedRequest } from '../feeds/serving.ts';
import type { OwnAddresses } from '../network/addresses.ts';
import { listen } from '../network/listener.ts';
import { makeProxyReader } from '../network/proxies.ts';
import { makeRouter, type Router } from '../network/router.ts';
import type { Settings } from '../settings/settings.ts';
import type { Cleanup } from './lifecycle.ts';
import type { Core } from './open-core.ts';
import type { Directory } from './open-directory.ts';

export interface FrontOptions {
  readonly settings: Settings;
  readonly core: Core;
  readonly addresses: OwnAddresses;
  readonly directory: Directory;
  readonly verticals: ReadonlyMap<string, CoLocatedVertical>;
  readonly isReady: () => Promise<boolean>;
  /** An application has answered a request. */
  readonly onServed: (served: ServedRequest) => void;
}

/** Builds the router over everything that answers. */
export function openRouter(options: FrontOptions): Router {
  const { settings, core, addresses, directory, verticals, isReady, onServed } = options;
  const { hostAdmin, controlPlane } = directory;
  const { apiHostname, apiHostnames, homeHostnames, originOf, publicOriginOf } = addresses;
  const home = makeHome({
    ready: isReady,
    routes: homeRoutes(settings, hostAdmin),
    apiHostname,
    outbox: core.mail.outbox,
    ...(publicOriginOf === undefined ? {} : { originOf: publicOriginOf }),
  });
  const serving = new Map(
    [...verticals].map(([slug, { fetch }]) => [slug, observed(fetch, { now: core.world.now, onServed })]),
  );
  return makeRouter({
    apiHostnames,
    controlPlane,
    home: (request, client) => home.fetch(request, client),
    homeHostnames,
    vertical: (slug) => serving.get(slug) ?? null,
    route: (hostname) => hostAdmin.route(hostname),
    challenge: (request) => hostAdmin.hostnames.answerChallenge(request),
    // Never the request's own: whoever sends it writes its host and port, and tokens and mails are made for the origin.
    originOf,
  });
}

/** In production it is nobody's business who the tenants are. */
function homeRoutes(
  { production }: Settings,
  hostAdmin: Pick<DirectoryHostAdmin, 'routes'>,
): DirectoryHostAdmin['routes'] | null {
  return production ? null : () => hostAdmin.routes();
}

/** Listens, and lets the addresses know where. @throws SettingsError when the port or the address cannot be had. */
export async function openSocket(
  { settings, core, addresses }: Pick<FrontOptions, 'settings' | 'core' | 'addresses'>,
  router: Router,
  cleanup: Cleanup,
): Promise<void> {
  const throughProxies = makeProxyReader(settings.trustedProxies);
  const listener = await listen({
    port: settings.port,
    host: settings.host,
    fetch: (received, peer) => {
      const { request, clientAddress } = throughProxies(received, peer);
      return router.fetch(request, { clientAddress });
    },
    onIncident: (error) => core.feeds.onIncident(error, { kind: 'platform', key: 'http', method: 'fetch' }),
  });
  cleanup.add(() => listener.close());
  addresses.listensOn(listener.port);
}
