/** Restores a unit from a copy, entirely or not at all. */
import { open } from 'node:fs/promises';
import type { Admission, Admit, CopyFormat, Replacing, UnitRestored } from '@freehold/store';
import { requireCopies, type UnitAccess } from '../unit-access.ts';
import { discard } from './copy-workers.ts';
import { prepareStaged } from './staged-unit.ts';
import { takePlace } from './take-place.ts';

export interface Restore {
  readonly format: CopyFormat;
  readonly body: ReadableStream<Uint8Array>;
  readonly admit: Admit | Admission | undefined;
  readonly replacing: Replacing | undefined;
}

export async function restoreUnit(
  unit: UnitAccess,
  { format, body, admit, replacing }: Restore,
): Promise<UnitRestored> {
  requireCopies(unit);
  unit.open();
  const { workers, now } = unit.parts;
  const received = workers.newPath();
  const staged = format === 'sqlite' ? received : workers.newPath();
  try {
    await receive(body, received);
    if (format === 'ndjson') await workers.load({ from: received, to: staged, kind: unit.files.kind });
    const { tables, rows } = await workers.examine(staged);
    const { definition, files } = unit;
    await prepareStaged({ definition, key: files.key, path: staged, admit, nowMs: now(), isForeign: true });
    return { tables, rows, undo: await takePlace(unit, staged, { reason: 'restore', replacing }) };
  } finally {
    discard(received);
    discard(staged);
  }
}

async function receive(body: ReadableStream<Uint8Array>, path: string): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    for await (const chunk of body) await file.writeFile(chunk);
  } finally {
    await file.close();
  }
}
