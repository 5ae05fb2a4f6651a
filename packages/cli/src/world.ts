/** What a command may know of the process it runs in. All of it is given, so that tests are a world of their own. */
import { PlatformError } from '@freehold/contracts';

export interface World {
  /** The directory that relative paths begin at. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where settings are kept between command lines: `$XDG_CONFIG_HOME/freehold`. */
  readonly configDirectory: string;
  readonly fetch: (request: Request) => Promise<Response>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Waits that many milliseconds; rejects with the signal's reason when it aborts. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** That many bytes from a cryptographic source. */
  readonly random: (bytes: number) => Uint8Array;
  /** Everything that comes in at standard input, as text. */
  readonly readStdin: () => Promise<string>;
  /** Shows an address to a person. False when nothing could be started that does. */
  readonly openBrowser: (url: string) => Promise<boolean>;
  /** Standard output, for what is no text: bytes. */
  readonly output: ByteOutput;
  /** One line on standard error, beside the answer: an address to open, a note. */
  readonly say: (line: string) => void;
  /** Shows how far the work is, in place of what it showed before; null takes it away. Nothing without a terminal. */
  readonly progress: (line: string | null) => void;
  /** Whether somebody watches: standard error is a terminal, and the answer is for people. */
  readonly isWatched: boolean;
  /** Whether there is somebody to ask: standard error is a terminal. */
  readonly isTerminal: boolean;
  /** Aborts with {@link Interrupted} on Ctrl-C. */
  readonly interrupted: AbortSignal;
}

export interface ByteOutput {
  readonly isTerminal: boolean;
  /** How wide the terminal is, in characters; null for none. */
  readonly columns: number | null;
  write(bytes: Uint8Array): Promise<void>;
}

/** Somebody pressed Ctrl-C. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';

  constructor() {
    super('Interrupted.');
  }
}

/** The reason of a failure on this machine's own disk: `unavailable`, but not for being tried again. */
export const CANNOT_WRITE = 'cannot_write';

/** A file that cannot be read or written, in one sentence. */
export function fileFailure(what: string, cause: unknown): PlatformError {
  const code = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : '';
  return new PlatformError('unavailable', `${what}${code}.`, { reason: CANNOT_WRITE, cause });
}
