/** A look at the archive when the platform starts: an operator should not find out on the day it is needed. */
import { PlatformError } from '@freehold/contracts';
import type { NodeEngine } from '@freehold/engine-node';
import { within } from '../within.ts';

/** How long a start waits for the archive's first word. */
const PATIENCE_MS = 3_000;

/**
 * What there is to say about the archive, or null when it answers. It is shipped to in the background either way.
 * @throws PlatformError `conflict`, reason `archive_not_ours`: the operator named somebody else's archive.
 */
export async function checkArchive(
  engine: Pick<NodeEngine, 'flushArchive' | 'archiveStatus'>,
  patienceMs = PATIENCE_MS,
): Promise<string | null> {
  const failure = await within(
    patienceMs,
    engine.flushArchive().then(
      () => null,
      (error: unknown) => error,
    ),
  );
  const { state, lastError } = engine.archiveStatus();
  if (state === 'refused')
    throw failure instanceof PlatformError
      ? failure
      : new PlatformError('conflict', 'The archive belongs to another data directory.', {
          reason: 'archive_not_ours',
        });
  return state === 'failing' ? `nothing is archived at the moment: ${lastError ?? 'it failed.'}` : null;
}
