/** What a version changes against the one that serves: what somebody is shown before it is admitted or promoted. */
import { type PermissionChange, permissionDiff } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { DeclaredMigration, VersionChanges } from '../declarations/vertical-records.ts';
import { loadContent, loadVersion, type VersionContent } from './versions-store.ts';
import type { VerticalRow } from './verticals-store.ts';

/** Against the version that serves; null while none does. */
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
export function versionChanges(
  before: VersionContent,
  after: VersionContent,
): Omit<VersionChanges, 'serving'> {
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
