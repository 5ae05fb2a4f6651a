/** Second step of a start: the host administration over the directory, and the control plane over that. */

import { ID_PREFIXES, makeIdFactory } from '@freehold/contracts';
import { controlPlaneApp, type Degradation, type RequestLine } from '@freehold/control-plane';
import {
  type ConnectionProviders,
  type DirectoryHostAdmin,
  makeHostAdmin,
  type VerticalGateway,
} from '@freehold/directory';
import type { EmbeddedTelemetry } from '@freehold/telemetry';
import { openChannels, platformName, sendTest } from '../alerts/channels.ts';
import type { DeployedVerticals } from '../applications/deployed.ts';
import { staffOptions } from '../applications/staff.ts';
import {
  type CoLocatedVertical,
  newScopeSettingsOf,
  type PlatformClient,
} from '../applications/verticals.ts';
import type { OwnAddresses } from '../network/addresses.ts';
import { makeGuardedFetch, makeProviderFetch } from '../network/guarded-fetch.ts';
import { makeNodeResolver } from '../network/resolver.ts';
import type { Client } from '../network/router.ts';
import type { Settings } from '../settings/settings.ts';
import { isBesideData, openAnchor } from '../storage/anchor.ts';
import { openBackups } from '../storage/backups.ts';
import { hasDirectoryDatabase } from '../storage/installation.ts';
import { lagOfArchive, makeTenantErasure } from '../storage/storage.ts';
import { forgetInCopies } from '../storage/upgrades.ts';
import type { Core } from './core.ts';

export interface Directory {
  readonly hostAdmin: DirectoryHostAdmin;
  readonly controlPlane: (request: Request, client: Client) => Promise<Response> | Response;
  /** The same without rate limits, for the platform's own work. */
  readonly ownControlPlane: (request: Request) => Promise<Response>;
}

export interface DirectoryOptions {
  readonly settings: Settings;
  readonly core: Core;
  readonly addresses: OwnAddresses;
  readonly providers: ConnectionProviders;
  readonly gateway: VerticalGateway;
  /** By slug. */
  readonly verticals: ReadonlyMap<string, Pick<CoLocatedVertical, 'units'>>;
  readonly deployed: DeployedVerticals;
  /** Null where nothing is measured. */
  readonly telemetry: EmbeddedTelemetry | null;
  readonly isReady: () => Promise<boolean>;
  readonly degraded: () => readonly Degradation[];
  /** The client that the issuer knows this platform by; staff sign in there. */
  readonly issuerClient: PlatformClient | null;
  /** Undefined: requests leave no line. */
  readonly onRequest: ((line: RequestLine) => void) | undefined;
}

/** Opens both; from here on, faults are reported to the directory. */
export function openDirectory(options: DirectoryOptions): Directory {
  const { core, isReady, onRequest, settings, addresses, issuerClient } = options;
  const { world, feeds, platformSecrets } = core;
  const hostAdmin = openHostAdmin(options);
  feeds.open(hostAdmin);
  const newId = makeIdFactory(world);
  const app = controlPlaneApp({
    hostAdmin,
    now: world.now,
    newRequestId: newId.bind(null, ID_PREFIXES.request),
    onIncident: (error, { operation }) =>
      feeds.onIncident(error, { kind: 'control-plane', key: 'http', method: operation ?? 'none' }),
    ready: isReady,
    readyDetails: () => lagOfArchive(core.storage),
    degraded: options.degraded,
    ...staffOptions({ settings, addresses, hostAdmin, platformSecrets, now: world.now, issuerClient }),
    platformSecret: platformSecrets,
    connect: hostAdmin.connections,
    ...(onRequest === undefined ? {} : { onRequest }),
  });
  return {
    hostAdmin,
    controlPlane: app.fetch,
    ownControlPlane: async (request) => app.fetch(request, { uncounted: true }),
  };
}

function openHostAdmin(options: DirectoryOptions): DirectoryHostAdmin {
  const { settings, core, addresses, providers, gateway, verticals, deployed, telemetry } = options;
  const { apiHostnames, homeHostnames, domain, originOf } = addresses;
  const { world, feeds, storage, versions } = core;
  const guarded = makeGuardedFetch({
    ownIssuer: null,
    allowed: settings.providers.allowed,
    setting: 'FREEHOLD_ALLOWED_PROVIDERS',
  });
  return makeHostAdmin({
    engine: storage.engine,
    gateway,
    onIncident: feeds.onIncident,
    ...world,
    originOf,
    versionOf: (slug) => versions.get(slug) ?? 'unknown',
    reservedHostnames: [...apiHostnames, ...homeHostnames],
    baseDomains: [domain],
    newScopeSettings: (vertical) =>
      verticals.has(vertical) || deployed.has(vertical)
        ? newScopeSettingsOf(settings.signIn, options.issuerClient)
        : {},
    hostnames: {
      resolver: makeNodeResolver(settings.dnsServers ? { servers: settings.dnsServers } : {}),
      fetch: makeGuardedFetch({ ownIssuer: null, allowed: settings.allowedIssuers }),
    },
    backups: openBackups(settings),
    runtime: deployed.runtime,
    sealing: storage.keyring,
    ...(telemetry === null ? {} : { telemetry, egress: telemetry }),
    destroyTenantKeys: makeTenantErasure({
      engine: storage.engine,
      vaultUnit: storage.vaultUnit,
      vaults: storage.vaults,
      forgetCopies: (tenant) => {
        forgetInCopies(settings.dataDirectory, tenant);
        telemetry?.forgetTenant(tenant);
      },
      identityUnits: () => [...verticals.values()].map(({ units }) => units.identity),
    }),
    alertsTest: () => sendTest(openChannels(settings.alerts, core.mail.mailer), platformName(settings)),
    modelMarginBasisPoints: settings.modelMarginBasisPoints,
    connections: {
      providers,
      keyring: storage.keyring,
      fetch: makeProviderFetch(guarded, feeds.onFailure),
      baseUrl: addresses.apiOrigin,
    },
    staffIssuer: options.issuerClient?.url ?? null,
    ...(settings.staff.idleMs === null ? {} : { staffIdleMs: settings.staff.idleMs }),
    ...(settings.anchor === null
      ? {}
      : {
          anchor: {
            ...openAnchor(settings.anchor, !hasDirectoryDatabase(settings.dataDirectory)),
            vouches: !(settings.production && isBesideData(settings)),
          },
        }),
  });
}
