/** What a new instance is delivered: what its provisioning names, and beside it what the platform gives every one. */

import type { CallOf } from '../lib/handlers.ts';
import type { scopesProvision } from './operations.ts';

/** Settings as they are delivered: null removes one. */
export type SettingsPatch = NonNullable<CallOf<typeof scopesProvision>['body']['config']>;

/**
 * Given settings win, and all of the platform's are left out where one of them is named: they belong together, as a
 * secret does to the client that it is for.
 */
export function settingsOfNewScope(
  given: SettingsPatch | undefined,
  ofPlatform: Readonly<Record<string, string>>,
): SettingsPatch | undefined {
  const keys = Object.keys(ofPlatform);
  const isOwn = keys.some((key) => Object.hasOwn(given ?? {}, key));
  return keys.length === 0 || isOwn ? given : { ...ofPlatform, ...given };
}
