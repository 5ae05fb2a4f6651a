/** The platform's grants for the wiring: what the platform's mail asks before it sends. */
import type { UnitStub } from '@freehold/store';
import type { PlatformGrant } from '../declarations/platform-grants.ts';
import type { DirectoryMethods } from '../unit.ts';

export interface PlatformGrants {
  /** Whether a vertical has a grant now. Not to be kept: it can be taken away at any time. */
  hasPlatformGrant(vertical: string, grant: PlatformGrant): Promise<boolean>;
}

export function makePlatformGrants(directory: UnitStub<DirectoryMethods>): PlatformGrants {
  return { hasPlatformGrant: (vertical, grant) => directory.platformGrant({ vertical, grant }) };
}
