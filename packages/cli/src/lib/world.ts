/** The surroundings of a command, all injected: tests pass their own. */
import { getSystemErrorMessage } from 'node:util';
import { PlatformError } from '@freehold/contracts';

export interface World {
  /** The directory that relative paths begin at. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The directory of the stored profiles: `$XDG_CONFIG_HOME/freehold`. */
  readonly configDirectory: string;
  readonly fetch: (request: Request) => Promise<Response>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Waits that many milliseconds; rejects with the signal's reason when it aborts. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** Returns that many bytes from a cryptographic source. */
  readonly random: (bytes: number) => Uint8Array;
  /** Reads standard input to its end. */
  readonly readStdin: () => Promise<string>;
  /** Opens an address in the browser. False when no program to open it could be started. */
  readonly openBrowser: (url: string) => Promise<boolean>;
  /** Standard output for bytes. */
  readonly output: ByteOutput;
  /** Writes one line to standard error: an address to open, a note. */
  readonly say: (line: string) => void;
  /** Shows progress in place of the last progress line; null clears it. Does nothing without a terminal. */
  readonly progress: (line: string | null) => void;
  /** Whether a person watches: standard error is a terminal, and the answer is for people. */
  readonly isWatched: boolean;
  /** Whether standard error is a terminal, so that a person can act. */
  readonly isTerminal: boolean;
  /** Whether the answer is JSON (`--json`). */
  readonly asJson: boolean;
  /** Aborts with {@link Interrupted} on Ctrl-C. */
  readonly interrupted: AbortSignal;
}

export interface ByteOutput {
  readonly isTerminal: boolean;
  /** The width of the terminal in characters; null for none. */
  readonly columns: number | null;
  write(bytes: Uint8Array): Promise<void>;
}

/** The user pressed Ctrl-C. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';

  constructor() {
    super('Interrupted.');
  }
}

/** The reason of a failure of this machine's disk: `unavailable`, but a retry does not help. */
export const CANNOT_WRITE = 'cannot_write';

/** Returns the failure for a file that cannot be read or written: `… cannot be read: not a directory (ENOTDIR).` */
export function fileFailure(what: string, cause: unknown): PlatformError {
  const why = isSystemError(cause) ? `: ${getSystemErrorMessage(cause.errno)} (${cause.code})` : '';
  return new PlatformError('unavailable', `${what}${why}.`, { reason: CANNOT_WRITE, cause });
}

export type SystemError = NodeJS.ErrnoException & { readonly code: string; readonly errno: number };

export function isSystemError(error: unknown): error is SystemError {
  return error instanceof Error && 'code' in error && 'errno' in error && typeof error.errno === 'number';
}

/** Parses JSON; undefined for text that is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
