/** The trace of a run, line by line: equal seeds give equal lines, and so equal digests. */
import { createHash } from 'node:crypto';

export interface Trace {
  line(text: string): void;
  /** Returns the last lines, oldest first. */
  tail(count: number): readonly string[];
  /** Returns the SHA-256 over all lines so far, in hexadecimal. */
  digest(): string;
}

/** The number of lines that are kept for the report of a failure. */
const KEPT = 400;

/** @param write receives each line as well: for a trace in a file. */
export function makeTrace(write: (line: string) => void = () => undefined): Trace {
  const hash = createHash('sha256');
  let lines: string[] = [];
  return {
    line: (text) => {
      hash.update(`${text}\n`);
      lines.push(text);
      if (lines.length > 2 * KEPT) lines = lines.slice(-KEPT);
      write(text);
    },
    tail: (count) => lines.slice(-count),
    digest: () => hash.copy().digest('hex'),
  };
}
