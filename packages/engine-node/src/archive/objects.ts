/**
 * The objects of an archive. Each begins with a line of its name and its digest, so that no object is mistaken for
 * another and no damaged one is used. Names:
 * `owner` · `units/<kind>/<key>/history/<file>`, `…/snapshots/<file>` (a large file in pieces, `<file>.0000` and so
 * on), `…/tail/<first commit>-<first frame>-<last frame>-<salt>` and `…/present`.
 */
import { checkedLine, parseCheckedLine, sha256 } from '../lib/durable-file.ts';
import { Fault } from '../lib/fault.ts';
import type { UnitFiles } from '../lib/unit-files.ts';
import type { Archive } from './archive.ts';

/** Larger files are sent in pieces, which bounds the memory of a transfer. */
export const PIECE_BYTES = 8 * 1024 * 1024;
export const OWNER = 'owner';
export const UNITS = 'units/';

interface ObjectLine {
  readonly v: 1;
  readonly key: string;
  readonly bytes: number;
  readonly sha256: string;
}

const NEWLINE = 0x0a;

export function unitPrefix({ kind, key }: Pick<UnitFiles, 'kind' | 'key'>): string {
  return `${UNITS}${kind}/${key}/`;
}

/** Returns the unit that an object belongs to and its name there; null for another object. */
export function partsOfKey(
  key: string,
): { readonly kind: string; readonly key: string; readonly name: string } | null {
  const found = /^units\/([a-z][a-z0-9-]*)\/([a-zA-Z0-9_-]+)\/(.+)$/.exec(key);
  const [, kind, unit, name] = found ?? [];
  return kind && unit && name ? { kind, key: unit, name } : null;
}

export async function putObject(archive: Archive, key: string, bytes: Uint8Array): Promise<void> {
  const line: ObjectLine = { v: 1, key, bytes: bytes.length, sha256: sha256(bytes) };
  await archive.put(key, Buffer.concat([Buffer.from(checkedLine(line)), bytes]));
}

/**
 * Gets an object and checks it.
 * @throws Fault `archive_damaged`, naming the object, when it is damaged or missing.
 */
export async function getObject(archive: Archive, key: string): Promise<Uint8Array> {
  const object = await archive.get(key);
  if (!object) throw damagedObject(key, 'it is missing');
  return contentsOf(key, object);
}

/**
 * Returns the checked contents of an object.
 * @throws Fault `archive_damaged`, naming it.
 */
export function contentsOf(key: string, object: Uint8Array): Uint8Array {
  const end = object.indexOf(NEWLINE);
  const line = parseCheckedLine<ObjectLine>(Buffer.from(object.subarray(0, end + 1)).toString());
  if (line?.v !== 1) throw damagedObject(key, 'what it says of itself cannot be read');
  if (line.key !== key) throw damagedObject(key, `it is another object, ${line.key}`);
  const bytes = object.subarray(end + 1);
  if (bytes.length !== line.bytes || sha256(bytes) !== line.sha256)
    throw damagedObject(key, 'its digest is another');
  return bytes;
}

export function damagedObject(key: string, why: string, cause?: unknown): Fault {
  return new Fault(
    'archive_damaged',
    `The archive's object ${key} is damaged: ${why}. It was left untouched.`,
    cause,
  );
}
