/**
 * The names in a unit's history directory. They suffice to go on when a file's contents are damaged: `base-<seq>.json`
 * (a description) with `base-<seq>.zst` (its bytes), `seg-<first part>-<last part>-<last seq>.fhs`, and `times`. A
 * base without its description is an unfinished one that a crash left behind.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkedLine, parseCheckedLine } from '../lib/durable-file.ts';
import { damagedHistory } from '../lib/fault.ts';
import type { Commit } from './bookmark.ts';

/** A whole copy of the database at one commit. */
export interface Base {
  readonly v: 1;
  readonly commit: Commit;
  /**
   * `start`: history begins here, perhaps again. `rebase`: the same state as the commit before. `restore` and
   * `rewind`: a state that replaced the unit's, a commit of its own.
   */
  readonly reason: 'start' | 'rebase' | 'restore' | 'rewind';
  /** The number of the last part before it; 0 for none. */
  readonly afterPart: number;
  readonly pageSize: number;
  /** Size of the database file, and its SHA-256. */
  readonly rawBytes: number;
  readonly rawSha256: string;
  /** Size of the compressed file, and its SHA-256. */
  readonly bytes: number;
  readonly sha256: string;
}

export interface SegmentFile {
  readonly path: string;
  readonly name: string;
  readonly firstPart: number;
  readonly lastPart: number;
  /** The number of the last commit that it holds, or continues. */
  readonly lastSeq: number;
}

export interface BaseFile {
  readonly seq: number;
  readonly description: string;
  readonly payload: string;
}

export interface HistoryListing {
  /** Oldest first. */
  readonly bases: readonly BaseFile[];
  /** Oldest first, without those that a merged one replaced. */
  readonly segments: readonly SegmentFile[];
  /** Paths of useless files: replaced segments, unfinished bases. */
  readonly leftovers: readonly string[];
}

const SEGMENT = /^seg-(\d{8})-(\d{8})-(\d{12})\.fhs$/;
const BASE = /^base-(\d{12})\.json$/;
/** A base's bytes without their description, and unfinished files. */
const UNFINISHED = /^(base-(\d{12})\.zst|.*\.(new|coming-\d+))$/;

export function segmentName(firstPart: number, lastPart: number, lastSeq: number): string {
  return `seg-${digits(firstPart, 8)}-${digits(lastPart, 8)}-${digits(lastSeq, 12)}.fhs`;
}

export function baseFile(directory: string, seq: number): BaseFile {
  const stem = join(directory, `base-${digits(seq, 12)}`);
  return { seq, description: `${stem}.json`, payload: `${stem}.zst` };
}

/** Lists a history; an absent directory is an empty one. */
export function listHistory(directory: string): HistoryListing {
  const bases: BaseFile[] = [];
  const segments: SegmentFile[] = [];
  const leftovers: string[] = [];
  const names = namesIn(directory).sort();
  const described = new Set(names.flatMap((name) => BASE.exec(name)?.[1] ?? []));
  for (const name of names) {
    const path = join(directory, name);
    const segment = SEGMENT.exec(name);
    const base = BASE.exec(name);
    const unfinished = UNFINISHED.exec(name);
    if (segment) {
      const [firstPart = 0, lastPart = 0, lastSeq = 0] = segment.slice(1).map(Number);
      addSegment(segments, leftovers, { path, name, firstPart, lastPart, lastSeq });
    } else if (base) bases.push(baseFile(directory, Number(base[1])));
    else if (unfinished && !described.has(unfinished[2] ?? '')) leftovers.push(path);
  }
  return { bases, segments, leftovers };
}

/**
 * Reads the description of a base.
 * @throws Fault `history_damaged`.
 */
export function readBase({ description }: BaseFile): Base {
  const base = parseCheckedLine<Base>(readFileSync(description, 'utf8'));
  if (base?.v !== 1) throw damagedHistory(description, 'it cannot be read');
  return base;
}

export function describeBase(base: Base): string {
  return checkedLine(base);
}

/** Names are sorted, so of two with the same first part the longer one, which replaced the other, comes later. */
function addSegment(segments: SegmentFile[], leftovers: string[], next: SegmentFile): void {
  for (let last = segments.at(-1); last && last.firstPart >= next.firstPart; last = segments.at(-1)) {
    leftovers.push(last.path);
    segments.pop();
  }
  segments.push(next);
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

function digits(value: number, width: number): string {
  return String(value).padStart(width, '0');
}
