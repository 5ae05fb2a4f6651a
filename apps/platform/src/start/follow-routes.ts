/** What has to learn of it when host names, or what they lead to, have changed. */

import type { DirectoryHostAdmin, RoutesChange } from '@freehold/directory';
import type { IncidentSink } from '@freehold/store';
import type { OwnAddresses } from '../network/addresses.ts';
import type { OwnIssuer } from './open-issuer.ts';

export interface RoutesOptions {
  readonly hostAdmin: Pick<DirectoryHostAdmin, 'routes' | 'onRoutesChanged'>;
  readonly addresses: Pick<OwnAddresses, 'apiOrigin' | 'originOf'>;
  readonly issuer: Pick<OwnIssuer, 'tellOrigins'>;
  /** The router, and whoever keeps scopes at work. */
  readonly onChanged: (change: RoutesChange) => void;
  /**
   * The whole directory was replaced, by a restore: what this process wrote there at its start has to be written again.
   */
  readonly onReplaced: () => Promise<void>;
  readonly onIncident: IncidentSink;
}

/** Follows them from here on. The answer tells the issuer of them as they are now. */
export function followRoutes(options: RoutesOptions): () => Promise<void> {
  const { hostAdmin, addresses, issuer, onChanged, onReplaced, onIncident } = options;
  const tellIssuer = (): Promise<void> =>
    issuer.tellOrigins(async () => {
      const names = (await hostAdmin.routes()).map(({ hostname }) => addresses.originOf(hostname));
      // Staff sign in at the control plane itself.
      return [addresses.apiOrigin(), ...names];
    });
  hostAdmin.onRoutesChanged((change) => {
    onChanged(change);
    if (isEverything(change))
      onReplaced().catch((error: unknown) =>
        onIncident(error, { kind: 'platform', key: 'directory', method: 'onReplaced' }),
      );
    tellIssuer().catch((error: unknown) =>
      onIncident(error, { kind: 'platform', key: 'issuer', method: 'putClient' }),
    );
  });
  return tellIssuer;
}

function isEverything({ tenant, scope, vertical }: RoutesChange): boolean {
  return tenant === null && scope === null && vertical === null;
}
