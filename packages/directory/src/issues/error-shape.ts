/** What is kept of an error: its name, its words without values, and where it came from. Never throws. */
import { redact } from './redact.ts';

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

/** Reads whatever was thrown, or a plain value with `name`, `message` and `stack`. */
export function errorShapeOf(thrown: unknown): ErrorShape {
  const read = (key: 'name' | 'message' | 'stack'): string => {
    try {
      const value = (thrown as Record<string, unknown> | null | undefined)?.[key];
      return typeof value === 'string' ? value : '';
    } catch {
      // A getter or a proxy can throw even at being looked at.
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

/** The frames without their lines, which move with every edit above them: what a fingerprint is made of. */
export function framesWithoutLines(frames: readonly string[]): string[] {
  return frames.map((frame) => frame.replace(/:\d+\)$/, ')'));
}

function framesOf(stack: string, message: string): string[] {
  // The message stands at the head of the stack, and may itself be made up to look like frames.
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

/** A name as code has them. Anything else may have been put together from a value. */
function word(text: string, otherwise: string): string {
  return /^[\w.$#<>[\] @+-]{1,80}$/.test(text) ? text : otherwise;
}
