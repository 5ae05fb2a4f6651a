/** A look at the archive when the platform starts: an operator should not find out on the day it is needed. */
import { PlatformError } from '@freehold/contracts';
import type { NodeEngine } from '@freehold/engine-node';
import { within } from '../within.ts';

/** How long a start waits for the archive's first word. */
const PATIENCE_MS = 3_000;
/** What a file system says of a place that is not there, not ours, or full. */
const NO = new Set(['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'EROFS', 'ENOSPC']);

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
  if (state !== 'failing') return null;
  return `nothing is archived at the moment: ${unwritable(failure) ?? lastError ?? 'it failed.'}`;
}

/** In the words of an operator, where the archive is a directory and the file system says no. */
function unwritable(failure: unknown): string | null {
  const code = failure instanceof Error && 'code' in failure ? String(failure.code) : '';
  return NO.has(code)
    ? `its directory cannot be written (${code}); mount it, or make room. It is tried again.`
    : null;
}
