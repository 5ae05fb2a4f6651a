/** The shape of an error, and the fingerprint of the issue that it belongs to. */

import { createHash } from 'node:crypto';
import { canonicalJson } from '@freehold/contracts';
import { redact } from '../lib/redact.ts';

export interface Grouping {
  readonly vertical: string | null;
  readonly where: string;
}

/** The innermost frames identify a fault; frames further out identify callers. */
const FRAMES_COMPARED = 3;

/** Every occurrence of one fault has the same fingerprint, in every version. */
export function fingerprintOf({ vertical, where }: Grouping, error: ErrorShape): string {
  const frames = framesWithoutLines(error.frames.slice(0, FRAMES_COMPARED));
  return digest(['issue', vertical, where, error.name, error.message, frames]);
}

/** The group of issues that differ in their messages alone. The size of a group is bounded. */
export function groupOf({ vertical, where }: Grouping, { name }: Pick<ErrorShape, 'name'>): string {
  return digest(['group', vertical, where, name]);
}

/** The issue of a group that counts the incidents beyond the bound. */
export function restOf(group: string): string {
  return digest(['rest', group]);
}

/** The issue that counts the incidents beyond all bounds. */
export const OVERFLOW_FINGERPRINT = digest(['overflow']);

function digest(parts: Parameters<typeof canonicalJson>[0]): string {
  return createHash('sha256').update(canonicalJson(parts)).digest('hex').slice(0, 32);
}

export interface ErrorShape {
  readonly name: string;
  /** Redacted. */
  readonly message: string;
  /** `function (file:line)`, innermost first, without folders. At most {@link FRAMES_MAX}. */
  readonly frames: readonly string[];
}

const FRAMES_MAX = 8;
const STACK_READ_MAX = 8000;
/** One line of a V8 stack, with or without a function's name. */
const FRAME = /^\s*at (?:(?:async )?([^()]{1,200}) )?\(?([^()\s]{1,500}):(\d{1,7}):\d{1,7}\)?$/;

/** Reads a thrown value, or a plain one with `name`, `message` and `stack`. */
export function errorShapeOf(thrown: unknown): ErrorShape {
  const read = (key: 'name' | 'message' | 'stack'): string => {
    try {
      const value = (thrown as Record<string, unknown> | null | undefined)?.[key];
      return typeof value === 'string' ? value : '';
    } catch {
      // A getter or a proxy can throw.
      return '';
    }
  };
  const message = typeof thrown === 'string' ? thrown : read('message');
  const name = read('name');
  return {
    name: /^[A-Za-z_$][\w$]{0,63}$/.test(name) ? name : 'Error',
    message: redact(message),
    frames: framesOf(read('stack'), message),
  };
}

/** The frames without line numbers, which change with every edit, for the fingerprint. */
export function framesWithoutLines(frames: readonly string[]): string[] {
  return frames.map((frame) => frame.replace(/:\d+\)$/, ')'));
}

function framesOf(stack: string, message: string): string[] {
  // The message stands at the head of the stack, and may be forged to look like frames.
  const at = message === '' ? -1 : stack.indexOf(message);
  const rest = at < 0 ? stack : stack.slice(at + message.length);
  const frames: string[] = [];
  for (const line of rest.slice(0, STACK_READ_MAX).split('\n')) {
    const [, name = '', file = '', row = ''] = FRAME.exec(line) ?? [];
    if (file === '') continue;
    frames.push(`${word(name, '<anonymous>')} (${word(file.split(/[\\/]/).at(-1) ?? '', '<file>')}:${row})`);
    if (frames.length === FRAMES_MAX) break;
  }
  return frames;
}

/** A name as in code. Any other text may contain a value. */
function word(text: string, otherwise: string): string {
  return /^[\w.$#<>[\] @+-]{1,80}$/.test(text) ? text : otherwise;
}
