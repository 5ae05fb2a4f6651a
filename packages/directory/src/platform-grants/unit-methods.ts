/** What the directory's unit knows of the platform's grants, beyond its reads and changes. */
import type { UnitContext } from '@freehold/store';
import type { PlatformGrant } from '../declarations/platform-grants.ts';
import { loadGrant } from './store.ts';

/** The methods that only read: see `UnitDefinition.queries`. */
export const GRANT_QUERIES = ['platformGrant'] as const;

export const platformGrantMethods = ({ db }: UnitContext) => ({
  platformGrant: ({
    vertical,
    grant,
  }: {
    readonly vertical: string;
    readonly grant: PlatformGrant;
  }): boolean => loadGrant(db, { vertical, name: grant }) !== undefined,
});
