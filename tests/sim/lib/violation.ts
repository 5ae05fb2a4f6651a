/** The invariants of every run, and the error for a violation. */

export const INVARIANTS = {
  calls_in_order: 'Calls to one unit run in the order in which they were made, each at most once.',
  acknowledged_is_durable: 'What was acknowledged is there, whatever died afterwards.',
  all_or_nothing: 'A call’s writes are all there or none; so are those of a group whose commit failed.',
  outcome: 'A call is answered as the model says: permissions, idempotency, preconditions, reads.',
  history: 'The event log is complete, in order, and says who did what and why.',
  denials: 'Every refusal is one denial row.',
  deliveries: 'Every event reaches each of its subscribers at least once and in order, or is a dead letter.',
  rewind: 'A rewind lands exactly on its bookmark, and its undo leads back.',
  copies: 'A copy shows one moment; a restore is whole or changes nothing.',
  erasure: 'Who was erased never comes back: not from a copy, a rewind, a cache or a crash.',
  integrity: 'The database file is sound after every crash.',
  liveness: 'Once nothing fails any more, everything that waits comes to its end.',
  followed:
    'The model can follow whatever happens. When it cannot, the simulator is wrong, or the platform is beyond it.',
} as const;

export type Invariant = keyof typeof INVARIANTS;

export class Violation extends Error {
  override readonly name = 'Violation';
  readonly invariant: Invariant;

  constructor(invariant: Invariant, detail: string) {
    super(detail);
    this.invariant = invariant;
  }
}

/** Keeps the first violation: most are found inside a unit, whose errors are caught. */
export interface Judge {
  readonly violation: Violation | null;
  fail(invariant: Invariant, detail: string): never;
  /** @throws the first violation, when there was one. */
  requireSound(): void;
}

export function makeJudge(): Judge {
  let violation: Violation | null = null;
  return {
    get violation() {
      return violation;
    },
    fail: (invariant, detail) => {
      violation ??= new Violation(invariant, detail);
      throw violation;
    },
    requireSound: () => {
      if (violation) throw violation;
    },
  };
}
