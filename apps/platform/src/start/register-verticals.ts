/** The applications of this process in the registry: admitted, and what the channel serves. */
import { type DirectoryHostAdmin, declaredMigrations } from '@freehold/directory';
import type { CoLocatedVertical } from '../applications/verticals.ts';

/** Writes down each build that is new. Its own migrations count, and the ones of the platform below them do not. */
export async function registerVerticals(
  hostAdmin: Pick<DirectoryHostAdmin, 'registerBuiltIn'>,
  verticals: ReadonlyMap<string, Pick<CoLocatedVertical, 'manifest' | 'units'>>,
): Promise<void> {
  for (const { manifest, units } of verticals.values()) {
    const own = units.scope.migrations.filter(({ guarded }) => guarded);
    await hostAdmin.registerBuiltIn({ manifest, migrations: declaredMigrations(own) });
  }
}
