/**
 * `npm start -- vertical-secret`: the secret of one vertical, for the operator of a vertical that runs elsewhere. Those of
 * this process are handed theirs at the start.
 */
import { slug as slugSchema } from '@freehold/contracts';
import { verticalSecret } from '@freehold/contracts/http';
import { type Settings, SettingsError } from '../settings/settings.ts';
import { findSecrets } from '../storage/secrets.ts';

export const VERTICAL_SECRET_USAGE = 'npm start -- vertical-secret SLUG';

/**
 * Answers the one line to show: the secret. It follows from the platform's, the first one while that is being replaced, so
 * that the platform may be running or not, and may not know the vertical yet.
 * @throws SettingsError with one sentence.
 */
export async function tellVerticalSecret(
  args: readonly string[],
  { platformSecrets, dataDirectory }: Pick<Settings, 'platformSecrets' | 'dataDirectory'>,
): Promise<readonly string[]> {
  const [slug] = args;
  if (args.length !== 1 || !slugSchema.safeParse(slug).success)
    throw new SettingsError(`Say which vertical, by its slug. Usage: ${VERTICAL_SECRET_USAGE}`);
  const master = platformSecrets?.[0] ?? findSecrets(dataDirectory)?.platformSecret;
  if (master === undefined)
    throw new SettingsError(
      `There is no platform secret yet: set PLATFORM_SECRET, or start the platform once with ${dataDirectory} as its data directory.`,
    );
  return [await verticalSecret(master, slug as string)];
}
