/** Named copies of a unit beside it: `<id>.json` describes a copy, `<id>.sqlite.zst` holds it. */
import { createReadStream, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createZstdDecompress } from 'node:zlib';
import { PlatformError } from '@freehold/contracts';
import type { UnitCopy, UnitSnapshot } from '@freehold/store';
import type { CompressedCopy } from '../history/base-writer.ts';
import {
  checkedLine,
  makeDirectory,
  parseCheckedLine,
  publish,
  syncDirectory,
  writeDurably,
} from '../lib/durable-file.ts';
import { digestFile } from '../processes/copied-file.ts';
import { discard } from '../processes/copy-workers.ts';
import { requireCopies, type UnitAccess } from '../units/unit-access.ts';
import { captureUnit } from './export-unit.ts';

/** The content of a snapshot's description file. */
interface SnapshotFile extends Omit<CompressedCopy, 'path'> {
  readonly v: 1;
  readonly id: string;
  readonly name: string | null;
  readonly bookmark: string | null;
  readonly atMs: number;
}

/** An id is a file name. */
const ID = /^[a-zA-Z0-9_-]{1,128}$/;
const DESCRIPTION = '.json';

export async function takeSnapshot(
  unit: UnitAccess,
  { id, name = null }: { readonly id: string; readonly name?: string | null },
): Promise<UnitSnapshot> {
  requireCopies(unit);
  const { parts, files } = unit;
  const { description, payload } = pathsOf(unit, id);
  requireNew(description, id);
  const atMs = parts.now();
  const { path, bookmark } = await captureUnit(unit);
  try {
    const { path: compressed, ...copy } = await parts.workers.compress(path);
    requireNew(description, id);
    makeDirectory(files.snapshots);
    publish(compressed, payload);
    const snapshot: SnapshotFile = { v: 1, id, name, bookmark, atMs, ...copy };
    writeDurably(description, checkedLine(snapshot));
    parts.onChange(files);
    return told(snapshot);
  } finally {
    discard(path);
  }
}

/** Lists snapshots, newest first. One with an unreadable description is reported, and left as it is. */
export function listSnapshots(unit: UnitAccess): readonly UnitSnapshot[] {
  requireSnapshots(unit);
  const { parts, files } = unit;
  const names = existsSync(files.snapshots) ? readdirSync(files.snapshots) : [];
  const found = names.flatMap((name) => {
    if (!name.endsWith(DESCRIPTION)) return [];
    try {
      return [told(readSnapshot(join(files.snapshots, name)))];
    } catch (error) {
      parts.onIncident(error, { kind: files.kind, key: files.key, method: 'snapshots' });
      return [];
    }
  });
  return found.sort((a, b) => b.atMs - a.atMs || (a.id < b.id ? 1 : -1));
}

export async function openSnapshot(unit: UnitAccess, id: string): Promise<UnitCopy> {
  requireSnapshots(unit);
  const { description, payload } = pathsOf(unit, id);
  requireKnown(description);
  const snapshot = readSnapshot(description);
  const { bytes, sha256 } = await digestFile(payload).catch((cause: unknown) => {
    throw damaged(`${id}.sqlite.zst`, cause);
  });
  if (bytes !== snapshot.bytes || sha256 !== snapshot.sha256) throw damaged(`${id}.sqlite.zst`);
  const source = createReadStream(payload);
  const expanded = source.pipe(createZstdDecompress());
  source.on('error', (error) => expanded.destroy(error));
  expanded.on('close', () => source.destroy());
  const body = Readable.toWeb(expanded) as ReadableStream<Uint8Array>;
  return { format: 'sqlite', bookmark: snapshot.bookmark, body };
}

export function removeSnapshot(unit: UnitAccess, id: string): void {
  requireCopies(unit);
  unit.open();
  const { description, payload } = pathsOf(unit, id);
  requireKnown(description);
  // Without its description it is no snapshot, even if a later step fails.
  rmSync(description);
  rmSync(payload, { force: true });
  syncDirectory(unit.files.snapshots);
  unit.parts.onChange(unit.files);
}

/** The snapshots of a unit outlive its database, which may be damaged or missing. */
function requireSnapshots(unit: UnitAccess): void {
  requireCopies(unit);
  if (!existsSync(unit.files.snapshots)) unit.open();
}

function told({ id, name, rawBytes, rawSha256, bookmark, atMs }: SnapshotFile): UnitSnapshot {
  return { id, name, bytes: rawBytes, digest: rawSha256, bookmark, atMs };
}

function readSnapshot(path: string): SnapshotFile {
  const snapshot = parseCheckedLine<SnapshotFile>(readFileSync(path, 'utf8'));
  if (snapshot?.v !== 1) throw damaged(path.slice(path.lastIndexOf('/') + 1));
  return snapshot;
}

function pathsOf(
  { files }: UnitAccess,
  id: string,
): { readonly description: string; readonly payload: string } {
  if (!ID.test(id)) throw unknown();
  return {
    description: join(files.snapshots, `${id}${DESCRIPTION}`),
    payload: join(files.snapshots, `${id}.sqlite.zst`),
  };
}

function requireNew(description: string, id: string): void {
  if (existsSync(description))
    throw new PlatformError('conflict', `There is a snapshot ${id} already.`, { reason: 'snapshot_exists' });
}

function requireKnown(description: string): void {
  if (!existsSync(description)) throw unknown();
}

function unknown(): PlatformError {
  return new PlatformError('not_found', 'There is no such snapshot.', { reason: 'unknown_snapshot' });
}

function damaged(file: string, cause?: unknown): PlatformError {
  return new PlatformError('unavailable', `The snapshot file ${file} is damaged. It was left untouched.`, {
    reason: 'snapshot_damaged',
    cause,
  });
}
