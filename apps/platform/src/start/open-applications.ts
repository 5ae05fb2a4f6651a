/** The applications of this process, bound to what the platform provides, and the way to their management. */

import type { VerticalGateway } from '@freehold/directory';
import { bindingsOf } from '../applications/sign-in.ts';
import { type CoLocatedVertical, makeGateway, openVerticals } from '../applications/verticals.ts';
import { type IdleScopes, makeIdleScopes } from '../jobs/idle-scopes.ts';
import type { OwnAddresses } from '../network/addresses.ts';
import { makeGuardedFetch } from '../network/guarded-fetch.ts';
import type { Settings } from '../settings/settings.ts';
import type { Core } from './open-core.ts';

export interface Applications {
  /** By slug. */
  readonly verticals: ReadonlyMap<string, CoLocatedVertical>;
  readonly gateway: VerticalGateway;
  /** Which of their scopes have nothing to do. */
  readonly idleScopes: IdleScopes;
}

export interface ApplicationsOptions {
  readonly settings: Settings;
  readonly core: Core;
  readonly addresses: Pick<OwnAddresses, 'apiOrigin'>;
  /** Something was put in line in a scope. */
  readonly onWork: (slug: string, scopeId: string) => void;
}

export async function openApplications({
  settings,
  core,
  addresses,
  onWork,
}: ApplicationsOptions): Promise<Applications> {
  const { world, feeds, storage, mail, ownIssuer, platformSecrets, knownFleet } = core;
  const idleScopes = makeIdleScopes({ engine: storage.engine, now: world.now });
  const verticals = await openVerticals({
    engine: idleScopes.watch(storage.engine),
    vault: storage.vault,
    sealing: storage.keyring,
    blobs: storage.blobs,
    ...world,
    platformSecret: platformSecrets[0],
    fetch: makeGuardedFetch({ ownIssuer, allowed: settings.allowedIssuers }),
    mailer: mail.mailer,
    // The port of the control plane is known only when it listens.
    bindings: () => ({
      ...bindingsOf(settings.signIn, ownIssuer),
      ...settings.models,
      CONTROL_PLANE_URL: addresses.apiOrigin(),
    }),
    onIncident: feeds.onIncident,
    onWork,
  });
  for (const [slug, { manifest }] of verticals) knownFleet.noteVertical(slug, manifest.version);
  return { verticals, gateway: makeGateway(verticals), idleScopes };
}
