/** Verdicts about copies: whether what is kept a second time is up to date (spec 6.4). Pure: looked at from outside. */
import type { SweepUnit } from '@freehold/directory';
import type { ArchiveStatus } from '@freehold/engine-node';
import type { BlobArchiveStatus } from '../storage/blob-archive.ts';

/** Everything is sent about a second after each change; so late, something is wrong. */
export const LAG_MAX_MS = 10 * 60_000;

type Verdict = Pick<SweepUnit & { kind: 'freshness' }, 'outcome' | 'reason'>;

/** The databases. Null where there is no archive: nothing is promised, so nothing is late. */
export function archiveVerdict({ state, lagMs }: Pick<ArchiveStatus, 'state' | 'lagMs'>): Verdict | null {
  if (state === 'off') return null;
  if (state === 'refused') return { outcome: 'stale', reason: 'archive_not_ours' };
  if (lagMs > LAG_MAX_MS) return { outcome: 'stale', reason: state === 'failing' ? 'failing' : 'lagging' };
  return { outcome: 'fresh', reason: state };
}

/** The bytes of attachments. */
export function attachmentsVerdict({ waiting, lagMs }: BlobArchiveStatus): Verdict {
  if (lagMs > LAG_MAX_MS) return { outcome: 'stale', reason: 'lagging' };
  return { outcome: 'fresh', reason: waiting > 0 ? 'shipping' : 'current' };
}

/** Both as units of a sweep. */
export function* freshnessUnits(
  databases: Pick<ArchiveStatus, 'state' | 'lagMs'>,
  attachments: BlobArchiveStatus | null,
): Generator<SweepUnit, void, undefined> {
  const verdict = archiveVerdict(databases);
  if (verdict) yield { kind: 'freshness', unit: 'archive/databases', ...verdict };
  if (attachments)
    yield { kind: 'freshness', unit: 'archive/attachments', ...attachmentsVerdict(attachments) };
}
