/** Which issue an incident belongs to. */
import { createHash } from 'node:crypto';
import { canonicalJson } from '@freehold/contracts';
import { type ErrorShape, framesWithoutLines } from './error-shape.ts';

export interface Grouping {
  readonly vertical: string | null;
  readonly where: string;
}

/** The innermost frames tell one fault from another; further out they tell callers apart. */
const FRAMES_COMPARED = 3;

/** The same for every occurrence of one fault, in every version that has it. */
export function fingerprintOf({ vertical, where }: Grouping, error: ErrorShape): string {
  const frames = framesWithoutLines(error.frames.slice(0, FRAMES_COMPARED));
  return digest(['issue', vertical, where, error.name, error.message, frames]);
}

/** What issues share that differ only in their words: within a group these are bounded. */
export function groupOf({ vertical, where }: Grouping, { name }: Pick<ErrorShape, 'name'>): string {
  return digest(['group', vertical, where, name]);
}

/** The issue of a group that takes what exceeds the bound. */
export function restOf(group: string): string {
  return digest(['rest', group]);
}

/** The issue that takes what no room could be made for at all. */
export const OVERFLOW_FINGERPRINT = digest(['overflow']);

function digest(parts: Parameters<typeof canonicalJson>[0]): string {
  return createHash('sha256').update(canonicalJson(parts)).digest('hex').slice(0, 32);
}
