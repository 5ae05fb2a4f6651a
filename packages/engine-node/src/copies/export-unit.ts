/** Exports a copy of a unit. */
import type { CopyFormat, UnitCopy } from '@freehold/store';
import { requireCopies, type UnitAccess } from '../unit-access.ts';
import { captureUnit } from './capture-unit.ts';
import { discard } from './copy-workers.ts';
import { fileBody } from './file-body.ts';

export async function exportUnit(unit: UnitAccess, format: CopyFormat): Promise<UnitCopy> {
  requireCopies(unit);
  const { path, bookmark } = await captureUnit(unit);
  if (format === 'sqlite') return { format, bookmark, body: fileBody(path) };
  const rows = unit.parts.workers.newPath();
  try {
    const { kind, key } = unit.files;
    const { header, trailer } = await unit.parts.workers.dump({ database: path, kind, key, rows });
    return { format, bookmark, body: fileBody(rows, { before: header, after: trailer }) };
  } catch (error) {
    discard(rows);
    throw error;
  } finally {
    discard(path);
  }
}
