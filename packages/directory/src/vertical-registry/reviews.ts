/** Who may decide that a version can serve, and whose word counts for whom. */
import { PlatformError } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { Actor } from '../actors.ts';
import type { VersionRow } from './versions-store.ts';
import type { VerticalRow } from './verticals-store.ts';

/**
 * As whom somebody reviews a vertical that it may work on.
 * @throws PlatformError `forbidden`, reason `staff_review_required`, for the owner of a vertical that others see or use.
 */
export function reviewerOf(db: SqlDatabase, actor: Actor, vertical: VerticalRow): 'platform' | 'owner' {
  if (actor.kind !== 'builder') return 'platform';
  if (ownerReviews(db, vertical)) return 'owner';
  throw staffReviewRequired();
}

/**
 * A promotion needs a version that was admitted, and by somebody whose word counts.
 * @throws PlatformError `invalid_transition`, reason `version_not_admitted`; `forbidden`, `staff_review_required`.
 */
export function requireServable(
  db: SqlDatabase,
  actor: Actor,
  vertical: VerticalRow,
  version: Pick<VersionRow, 'id' | 'status' | 'version' | 'reviewedBy'>,
): void {
  requireCompiledIn(db, vertical, version);
  if (version.status !== 'admitted') throw notAdmitted(version);
  // What an owner admitted while nobody else had its vertical was looked at by nobody else.
  if (actor.kind === 'builder' && version.reviewedBy !== 'platform' && !ownerReviews(db, vertical))
    throw staffReviewRequired();
}

/** @throws PlatformError `unsupported`, reason `built_in_version`, for a version that this platform does not have. */
export function requireCompiledIn(
  db: SqlDatabase,
  vertical: VerticalRow,
  version: Pick<VersionRow, 'id' | 'version'>,
): void {
  if (vertical.builtIn === null || vertical.builtIn === version.id) return;
  const present = db.get<{ version: string }>(
    'SELECT version FROM vertical_versions WHERE id = ?',
    vertical.builtIn,
  );
  throw new PlatformError(
    'unsupported',
    `${vertical.name} is compiled into this platform as version ${present?.version}, and cannot run as ${version.version}.`,
    { reason: 'built_in_version' },
  );
}

export function notAdmitted({ version, status }: Pick<VersionRow, 'version' | 'status'>): PlatformError {
  return new PlatformError(
    'invalid_transition',
    `Version ${version} is ${status}, and only an admitted one can run.`,
    {
      reason: 'version_not_admitted',
    },
  );
}

/**
 * An owner decides alone as long as it alone bears the consequences. A vertical that was made private again is not its
 * owner's alone while another tenant still has an instance of it.
 */
function ownerReviews(db: SqlDatabase, vertical: VerticalRow): boolean {
  return vertical.ownerTenant !== null && vertical.tier === 'private' && !isUsedByOthers(db, vertical);
}

/** Whether a tenant that does not own a vertical has an instance of it. */
export const USED_BY_OTHERS =
  "SELECT 1 FROM scopes WHERE vertical = ? AND tenant <> ? AND status <> 'reaped' LIMIT 1";

function isUsedByOthers(db: SqlDatabase, { slug, ownerTenant }: VerticalRow): boolean {
  return db.get(USED_BY_OTHERS, slug, ownerTenant) !== undefined;
}

export function staffReviewRequired(): PlatformError {
  return new PlatformError(
    'forbidden',
    'Others see or use this vertical, so that staff review its versions.',
    {
      reason: 'staff_review_required',
    },
  );
}
