/** Archives the present contents of a unit without copies: one object, replaced each time. */
import { readFile } from 'node:fs/promises';
import { captureUnit } from '../copies/capture-unit.ts';
import { discard } from '../copies/copy-workers.ts';
import type { UnitAccess } from '../unit-access.ts';
import type { Archive } from './archive.ts';
import { putObject, unitPrefix } from './objects.ts';

/** Encrypts bytes that leave the machine; `openArchive` of a restore is its inverse. */
export type SealArchive = (bytes: Uint8Array) => Uint8Array;

export const PRESENT = 'present';

export async function shipPresent(archive: Archive, unit: UnitAccess, seal: SealArchive): Promise<void> {
  const { path } = await captureUnit(unit);
  try {
    const compressed = await unit.parts.workers.compress(path);
    try {
      await putObject(archive, unitPrefix(unit.files) + PRESENT, seal(await readFile(compressed.path)));
    } finally {
      discard(compressed.path);
    }
  } finally {
    discard(path);
  }
}
