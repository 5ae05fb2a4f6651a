/**
 * Decides who may admit a version and whose verdict counts, and compares a version with the one that serves, for the
 * reviewer.
 */
import { type PermissionChange, PlatformError, permissionDiff } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { Actor } from '../access/actors.ts';
import type { DeclaredMigration, VersionChanges } from '../declarations/vertical-records.ts';
import { loadContent, loadVersion, type VersionContent, type VersionRow } from './versions-store.ts';
import type { VerticalRow } from './verticals-store.ts';

/**
 * The role in which an actor reviews a vertical.
 * @throws PlatformError `forbidden`, reason `staff_review_required`, for the owner of a vertical that others see or use.
 */
export function reviewerOf(db: SqlDatabase, actor: Actor, vertical: VerticalRow): 'platform' | 'owner' {
  if (actor.kind !== 'builder') return 'platform';
  if (ownerReviews(db, vertical)) return 'owner';
  throw staffReviewRequired();
}

/**
 * A promotion needs a version that was admitted by a reviewer whose verdict counts.
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
  // The owner admitted it while no other tenant used the vertical, so that staff have not reviewed it.
  if (actor.kind === 'builder' && version.reviewedBy !== 'platform' && !ownerReviews(db, vertical))
    throw staffReviewRequired();
}

/** @throws PlatformError `unsupported`, reason `built_in_version`, for another version than the compiled one. */
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
 * An owner decides alone as long as it alone bears the consequences. A vertical that was made private again may still have
 * instances of other tenants.
 */
function ownerReviews(db: SqlDatabase, vertical: VerticalRow): boolean {
  const { slug, ownerTenant, tier } = vertical;
  return ownerTenant !== null && tier === 'private' && !db.get(USED_BY_OTHERS, slug, ownerTenant);
}

export const USED_BY_OTHERS =
  "SELECT 1 FROM scopes WHERE vertical = ? AND tenant <> ? AND status <> 'reaped' LIMIT 1";

export function staffReviewRequired(): PlatformError {
  return new PlatformError(
    'forbidden',
    'Others see or use this vertical, so that staff review its versions.',
    {
      reason: 'staff_review_required',
    },
  );
}

/** The changes against the version that serves; null while none does. */
export function changesAgainstServing(
  db: SqlDatabase,
  vertical: VerticalRow,
  after: VersionContent,
): VersionChanges | null {
  const serving = vertical.serving === null ? undefined : loadVersion(db, vertical.slug, vertical.serving);
  if (!serving) return null;
  return { serving: serving.version, ...versionChanges(loadContent(db, serving.id), after) };
}

/** Compares two versions. Everything is sorted, so that equal differences are equal texts. */
function versionChanges(before: VersionContent, after: VersionContent): Omit<VersionChanges, 'serving'> {
  return {
    permissions: permissionDiff(before.manifest, after.manifest),
    migrations: migrationChanges(before.migrations, after.migrations),
    egress: difference(before.egress, after.egress),
    settings: difference(Object.keys(before.manifest.env), Object.keys(after.manifest.env)),
  };
}

function migrationChanges(
  before: readonly DeclaredMigration[],
  after: readonly DeclaredMigration[],
): VersionChanges['migrations'] {
  const [had, has] = [before, after].map(
    (migrations) => new Map(migrations.map((each) => [`${each.version} ${each.set}`, each])),
  ) as [Map<string, DeclaredMigration>, Map<string, DeclaredMigration>];
  const added = [...has].flatMap(([key, each]) => (had.has(key) ? [] : [each]));
  const removed = [...had].flatMap(([key, each]) => (has.has(key) ? [] : [each]));
  const changed = [...has].flatMap(([key, each]) => {
    const earlier = had.get(key);
    return earlier && earlier.digest !== each.digest ? [{ before: earlier, after: each }] : [];
  });
  return { added, removed, changed, differs: added.length + removed.length + changed.length > 0 };
}

function difference(before: readonly string[], after: readonly string[]): PermissionChange {
  const [had, has] = [new Set(before), new Set(after)];
  return {
    gained: [...has].filter((key) => !had.has(key)).sort(),
    lost: [...had].filter((key) => !has.has(key)).sort(),
  };
}
