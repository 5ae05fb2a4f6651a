/** A database that cannot be read: the operator's sentence about it, and `npm start -- recover`, which brings it back. */
import { PlatformError } from '@freehold/contracts';
import { recoverUnit, UnreadableFile } from '@freehold/engine-node';
import { nameOfArchive, openArchive } from '../settings/archive-settings.ts';
import { type Settings, SettingsError } from '../settings/settings.ts';
import { putAsideDeployed } from './deployed-copies.ts';
import { changeOlderScope } from './older-scope.ts';

export const RECOVER_USAGE = 'npm start -- recover KIND/KEY';

/** Stands for the databases of a deployed instance, which are named by its scope. */
const DEPLOYED = 'deployed';

/** Units whose key is their tenant. */
const OF_A_TENANT = new Set(['identity', 'vault', 'erasures']);

export interface RecoveryFacts {
  /** The tenant of a scope that this process has seen; undefined for another scope. */
  readonly tenantOf: (scope: string) => string | undefined;
  /** Whether units of a kind are made anew. */
  readonly isDerived: (kind: string) => boolean;
}

/** Returns the incident of a database that cannot be read with its tenant and the way back; every other one as it is. */
export function withRecovery(error: unknown, { tenantOf, isDerived }: RecoveryFacts): unknown {
  if (!(error instanceof UnreadableFile)) return error;
  const { kind, key } = error.unit;
  const how = { reason: 'unit_unreadable', cause: error.cause };
  if (isDerived(kind))
    return new PlatformError(
      'unavailable',
      `${error.message} It was put aside beside its place and is made anew: nothing is lost.`,
      how,
    );
  const tenant = OF_A_TENANT.has(kind) ? key : tenantOf(key);
  const whose = tenant === undefined ? '' : ` It belongs to the tenant ${tenant}.`;
  const way = `Stop the platform, run npm start -- recover ${kind}/${key}, and start it again.`;
  return new PlatformError('unavailable', `${error.message} It was left untouched.${whose} ${way}`, how);
}

/**
 * Recovers one database, and returns the lines to show the operator.
 * @throws SettingsError or PlatformError, with one sentence.
 */
export async function recover(
  args: readonly string[],
  { archive, dataDirectory }: Pick<Settings, 'archive' | 'dataDirectory'>,
): Promise<readonly string[]> {
  const [unit = '', ...more] = args;
  const [, kind, key] = /^([a-z][a-z0-9-]*)\/([a-zA-Z0-9_-]+)$/.exec(unit) ?? [];
  if (kind === undefined || key === undefined || more.length > 0)
    throw new SettingsError(
      `Name one database, as the log does: ${RECOVER_USAGE}, such as npm start -- recover identity/tnt_….`,
    );
  if (kind === DEPLOYED) {
    const aside = putAsideDeployed(dataDirectory, key, Date.now());
    return [
      `The next start makes the databases of ${key} again from their copy: what was stored in the seconds before the copy is lost.`,
      ...aside.map((path) => `Put aside: ${path}. Delete it when everything is in order.`),
    ];
  }
  const { from, missing, aside } = await recoverUnit({
    dataDirectory,
    kind,
    key,
    nowMs: Date.now(),
    archive: archive && openArchive(archive),
    changeOlder: changeOlderScope,
  });
  return [
    from === 'history'
      ? `Recovered ${unit} from its own history: ${missing === null ? 'nothing is lost.' : `what was stored in the last moments may be lost, because ${missing}.`}`
      : `Recovered ${unit} from ${archive && nameOfArchive(archive)}, as it had arrived there: what was stored after that is lost.`,
    ...(aside === null ? [] : [`The damaged file is now ${aside}. Delete it when everything is in order.`]),
  ];
}
