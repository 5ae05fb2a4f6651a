/** What happened in a run, line by line: two runs of one seed have the same lines, and so the same digest. */
import { createHash } from 'node:crypto';

export interface Trace {
  line(text: string): void;
  /** The last lines, oldest first. */
  tail(count: number): readonly string[];
  /** SHA-256 over all lines so far, in hexadecimal. */
  digest(): string;
}

/** How many lines are kept for the report of a failure. */
const KEPT = 400;

/** @param write receives each line as well: for a trace in a file. */
export function makeTrace(write: (line: string) => void = () => undefined): Trace {
  const hash = createHash('sha256');
  let kept: string[] = [];
  return {
    line: (text) => {
      hash.update(`${text}\n`);
      kept.push(text);
      if (kept.length > 2 * KEPT) kept = kept.slice(-KEPT);
      write(text);
    },
    tail: (count) => kept.slice(-count),
    digest: () => hash.copy().digest('hex'),
  };
}
