/** What has to learn of it when host names, or what they lead to, have changed. */
import type { DirectoryHostAdmin } from '@freehold/directory';
import type { IncidentSink } from '@freehold/store';
import type { OwnAddresses } from './addresses.ts';
import type { OwnIssuer } from './open-issuer.ts';

export interface RoutesOptions {
  readonly hostAdmin: Pick<DirectoryHostAdmin, 'routes' | 'onRoutesChanged'>;
  readonly addresses: Pick<OwnAddresses, 'apiOrigin' | 'originOf'>;
  readonly issuer: Pick<OwnIssuer, 'tellOrigins'>;
  /** The router, and whoever keeps scopes at work. */
  readonly onChanged: () => void;
  readonly onIncident: IncidentSink;
}

/** Follows them from here on. The answer tells the issuer of them as they are now. */
export function followRoutes(options: RoutesOptions): () => Promise<void> {
  const { hostAdmin, addresses, issuer, onChanged, onIncident } = options;
  const tellIssuer = (): Promise<void> =>
    issuer.tellOrigins(async () => {
      const names = (await hostAdmin.routes()).map(({ hostname }) => addresses.originOf(hostname));
      // Staff sign in at the control plane itself.
      return [addresses.apiOrigin(), ...names];
    });
  hostAdmin.onRoutesChanged(() => {
    onChanged();
    tellIssuer().catch((error: unknown) =>
      onIncident(error, { kind: 'platform', key: 'issuer', method: 'putClient' }),
    );
  });
  return tellIssuer;
}
