/** What the control plane is told of its own address, of the staff who work with it, and of the reference that they read. */
import { apiDocs } from '@freehold/api-docs/node';
import type { ControlPlaneOptions } from '@freehold/control-plane';
import type { DirectoryHostAdmin } from '@freehold/directory';
import type { PlatformClient } from '../applications/sign-in.ts';
import type { Settings } from '../settings/settings.ts';
import type { OwnAddresses } from '../start/addresses.ts';
import type { PlatformSecrets } from '../storage/secrets.ts';
import { makeStaffSignIn } from './staff-sign-in.ts';

export interface StaffWiring {
  readonly settings: Pick<Settings, 'allowedIssuers' | 'staffContact'>;
  readonly addresses: OwnAddresses;
  readonly hostAdmin: Pick<DirectoryHostAdmin, 'staff'>;
  readonly platformSecrets: PlatformSecrets;
  readonly now: () => number;
  /** The client that the issuer knows this platform by, once it is known. */
  readonly issuerClient: () => PlatformClient | null;
}

export function staffOptions({
  settings,
  addresses,
  hostAdmin,
  platformSecrets,
  now,
  issuerClient,
}: StaffWiring): Pick<ControlPlaneOptions, 'origin' | 'hostnames' | 'staff' | 'docs'> {
  const { apiOrigin, apiHostnames } = addresses;
  const { allowedIssuers, staffContact } = settings;
  return {
    origin: apiOrigin,
    hostnames: apiHostnames,
    docs: apiDocs,
    staff: {
      signIns: hostAdmin.staff,
      relyingParty: makeStaffSignIn({
        client: issuerClient,
        origin: apiOrigin,
        platformSecrets,
        allowedIssuers,
        now,
      }),
      ...(staffContact === undefined ? {} : { contact: staffContact }),
    },
  };
}
