/** The migrations of a vertical's scopes as a version declares them. */
import { type MigrationSet, migrationDigest } from '@freehold/store';
import type { DeclaredMigration } from '../declarations/vertical-records.ts';

/**
 * What a version declares, from the sets that its unit of scopes applies, with the digests that a scope's own journal has.
 * @param sets the vertical's own: the platform's tables change with the platform, and say nothing about its version.
 */
export function declaredMigrations(sets: readonly MigrationSet[]): DeclaredMigration[] {
  return sets.flatMap(({ name: set, migrations }) =>
    migrations.map((migration) => ({
      set,
      version: migration.version,
      name: migration.name,
      digest: migrationDigest(migration),
    })),
  );
}
