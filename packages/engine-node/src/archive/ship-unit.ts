/**
 * Updates one unit's archive: the files of its history and its snapshots, and the tail of its log. All of it is of one
 * moment, and is sent in an order in which every prefix can be restored. Replaced objects are removed last.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { captureUnit } from '../copies/export-unit.ts';
import { listHistory } from '../history/history-directory.ts';
import type { LiveLog } from '../history/live-log.ts';
import { encodePart, type PartDescription } from '../history/part.ts';
import { compressInBackground } from '../history/segment-writer.ts';
import { discard } from '../processes/copy-workers.ts';
import type { UnitAccess } from '../units/unit-access.ts';
import type { Archive } from './archive.ts';
import { piecesOf, readPiece } from './local-files.ts';
import { putObject, unitPrefix } from './objects.ts';

/** The archived objects of a unit. */
export interface RemoteUnit {
  /** Names below the unit's prefix. */
  readonly names: Set<string>;
}

/** The unit changed while it was shipped. This is no fault; the shipper starts again. */
export class UnitMoved extends Error {
  override readonly name = 'UnitMoved';
}

/** Frames that are only in the log: one part of the tail to send. */
interface TailPart {
  readonly name: string;
  readonly log: LiveLog;
  readonly description: PartDescription;
}

/** Lists the archived objects of a unit. */
export async function readRemote(archive: Archive, unit: UnitAccess): Promise<RemoteUnit> {
  const prefix = unitPrefix(unit.files);
  const names = new Set<string>();
  for await (const key of archive.list(prefix)) names.add(key.slice(prefix.length));
  return { names };
}

/**
 * Ships a unit.
 * @throws UnitMoved; `not_found` for a unit that is gone; errors of the archive.
 */
export async function shipUnit(archive: Archive, unit: UnitAccess, { names }: RemoteUnit): Promise<void> {
  const { files } = unit;
  const opened = needsOpening(unit) ? unit.open() : unit.peek();
  await opened?.history?.begin();
  const local = atOnce(() => piecesOf(files));
  const tail = tailOf(unit, names);
  const put = async (name: string, bytes: Uint8Array): Promise<void> => {
    await putObject(archive, unitPrefix(files) + name, bytes);
    names.add(name);
  };

  for (const piece of local)
    if (!names.has(piece.name)) await put(piece.name, await readPiece(piece).catch(rethrowMoved));
  for (const part of tail.parts) await put(part.name, await encodeTail(unit, part));

  const wanted = new Set([...local, ...tail.parts].map(({ name }) => name));
  for (const name of [...names]) {
    if (wanted.has(name) || tail.isWanted(name)) continue;
    await archive.delete(unitPrefix(files) + name);
    names.delete(name);
  }
}

/** A closed unit is complete in its files, unless it has no history yet or was not closed in order. */
function needsOpening({ files, peek }: UnitAccess): boolean {
  return peek() === undefined && (existsSync(files.wal) || listHistory(files.history).bases.length === 0);
}

/** Returns the frames of the log that are neither in segments nor in the archive. */
function tailOf(
  { peek }: UnitAccess,
  names: ReadonlySet<string>,
): { readonly parts: readonly TailPart[]; isWanted(name: string): boolean } {
  const { log = null, frames = 0 } = peek()?.history?.mark() ?? {};
  if (!log) return { parts: [], isWanted: () => false };
  const { archivedFrame, after } = log;
  const isWanted = (name: string): boolean => {
    const tail = parseTailName(name);
    return tail?.salt === log.header.salt && tail.last > archivedFrame;
  };
  const sent = [...names].filter(isWanted).map((name) => parseTailName(name)?.last ?? 0);
  const parts: TailPart[] = [];
  for (let first = Math.max(archivedFrame, ...sent) + 1; first <= frames; ) {
    const last = log.endOfPart(first, frames);
    const description = { n: 0, ...log.describe(first, last) };
    parts.push({
      name: tailName({ afterSeq: after.seq, first, last, salt: log.header.salt }),
      log,
      description,
    });
    first = last + 1;
  }
  return { parts, isWanted };
}

/** While the files are locked, the log is not emptied. Its salt shows whether it was emptied before. */
async function encodeTail(unit: UnitAccess, { log, description }: TailPart): Promise<Uint8Array> {
  const letGo = await unit.fileLocks.take();
  try {
    if (unit.peek()?.history?.mark().log !== log) throw new UnitMoved('the log was emptied');
    const { first, last } = description;
    const payload = await log.withFrames(first, last, compressInBackground);
    return Buffer.concat(encodePart(description, payload));
  } finally {
    letGo();
  }
}

export interface TailName {
  /** The commit after which the log begins. */
  readonly afterSeq: number;
  readonly first: number;
  readonly last: number;
  readonly salt: string;
}

function tailName({ afterSeq, first, last, salt }: TailName): string {
  const digits = (value: number, width: number): string => String(value).padStart(width, '0');
  return `tail/${digits(afterSeq, 12)}-${digits(first, 9)}-${digits(last, 9)}-${salt}`;
}

/** Returns null for the name of another object. */
export function parseTailName(name: string): TailName | null {
  const found = /^tail\/(\d{12})-(\d{9})-(\d{9})-([0-9a-f]{16})$/.exec(name);
  if (!found) return null;
  return {
    afterSeq: Number(found[1]),
    first: Number(found[2]),
    last: Number(found[3]),
    salt: found[4] ?? '',
  };
}

/** A file may vanish after it was listed: it was merged with another, or became too old. */
function atOnce<T>(look: () => T): T {
  try {
    return look();
  } catch (error) {
    return rethrowMoved(error);
  }
}

function rethrowMoved(error: unknown): never {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw new UnitMoved('a file is gone');
  throw error;
}

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
