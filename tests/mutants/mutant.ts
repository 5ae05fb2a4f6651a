/** One deliberate fault: a small change to one file, and the test that must fail because of it. */

/** The test that must fail. `title` is a part of its full name; several tests may share it. */
export interface Killer {
  readonly project: 'node' | 'workerd' | 'workerd-identity' | 'workerd-vertical' | 'crash' | 'sim' | 'e2e';
  readonly file: string;
  readonly title: string;
}

export interface Mutant {
  readonly id: string;
  /** The id in docs/spec/requirements.md that the change breaks, or null where no requirement names the fact. */
  readonly requirement: string | null;
  /** The defect, in one sentence. */
  readonly claim: string;
  readonly file: string;
  /** Code that stands exactly once in `file`. */
  readonly find: string;
  readonly replace: string;
  readonly killer: Killer;
}

/** A test of the project `node`, which has most killers. */
export function inNode(file: string, title: string): Killer {
  return { project: 'node', file, title };
}
