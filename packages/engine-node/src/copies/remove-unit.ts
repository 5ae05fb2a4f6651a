/** Takes a unit away with everything that was kept of it. */
import { existsSync } from 'node:fs';
import type { UnitAccess } from '../unit-access.ts';

export async function removeUnit(unit: UnitAccess): Promise<void> {
  const { fileLocks, files, parts } = unit;
  await fileLocks.alone(() => {
    unit.peek()?.unit.drain();
    unit.close();
    parts.onRemove(files);
    if ([files.database, files.history, files.snapshots].some((path) => existsSync(path)))
      parts.swaps.remove(files);
  });
}
