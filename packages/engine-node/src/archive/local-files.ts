/** The files of a unit that an archive mirrors, in the order in which they must be sent. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { listHistory } from '../history/history-directory.ts';
import type { UnitFiles } from '../lib/unit-files.ts';
import { PIECE_BYTES } from './objects.ts';

/** A file or a piece of one, with the object that holds it. */
export interface LocalPiece {
  readonly name: string;
  readonly path: string;
  readonly from: number;
  readonly bytes: number;
}

/**
 * A description follows the bytes that it describes: a base's bytes, then its description, then the segments after it.
 */
export function piecesOf(files: UnitFiles): LocalPiece[] {
  const { bases, segments } = listHistory(files.history);
  const snapshots = existsSync(files.snapshots) ? readdirSync(files.snapshots) : [];
  const described = snapshots.filter((name) => name.endsWith('.json'));
  return [
    ...bases.flatMap(({ payload, description }) => [
      ...pieces('history', files.history, payload),
      ...pieces('history', files.history, description),
    ]),
    ...segments.flatMap(({ path }) => pieces('history', files.history, path)),
    ...described.flatMap((name) => [
      ...pieces('snapshots', files.snapshots, join(files.snapshots, `${name.slice(0, -5)}.sqlite.zst`)),
      ...pieces('snapshots', files.snapshots, join(files.snapshots, name)),
    ]),
  ];
}

export async function readPiece({ path, from, bytes }: LocalPiece): Promise<Uint8Array> {
  const file = await open(path, 'r');
  try {
    const { bytesRead, buffer } = await file.read(new Uint8Array(bytes), 0, bytes, from);
    if (bytesRead !== bytes) throw new Error('a file of the history became shorter');
    return buffer;
  } finally {
    await file.close();
  }
}

/** Payloads may be large, and their description has their size; any other file is one object. */
function pieces(folder: string, directory: string, path: string): LocalPiece[] {
  const name = `${folder}${path.slice(directory.length)}`;
  const { size } = statSync(path);
  if (!path.endsWith('.zst')) return [{ name, path, from: 0, bytes: size }];
  return Array.from({ length: Math.max(1, Math.ceil(size / PIECE_BYTES)) }, (_, index) => ({
    name: pieceName(name, index),
    path,
    from: index * PIECE_BYTES,
    bytes: Math.min(PIECE_BYTES, size - index * PIECE_BYTES),
  }));
}

export function pieceName(name: string, index: number): string {
  return `${name}.${String(index).padStart(4, '0')}`;
}
