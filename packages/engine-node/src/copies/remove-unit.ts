/** Removes a unit with all its copies and its history. */
import { existsSync } from 'node:fs';
import type { UnitAccess } from '../unit-access.ts';

export async function removeUnit(unit: UnitAccess): Promise<void> {
  const { fileLocks, files, parts } = unit;
  await fileLocks.runExclusive(() => {
    unit.peek()?.unit.drain();
    unit.close();
    parts.onRemove(files);
    if ([files.database, files.history, files.snapshots].some((path) => existsSync(path)))
      parts.swaps.remove(files);
  });
}
