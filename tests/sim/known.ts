/**
 * What the simulator has found and nobody has repaired yet. Each entry makes a run lenient in one place, so that the
 * runs of every day can find something else; `--strict` leaves all of it out, and `known.test.ts` shows that each is
 * still found. Whoever repairs one deletes its entry, and puts its runs into `regressions.test.ts`.
 */
import type { RunOptions } from './simulation.ts';

export interface KnownFault {
  readonly what: string;
  /** Strict runs, of which at least one finds it. */
  readonly runs: readonly RunOptions[];
}

/** Nothing but what it takes: the fewer things happen, the sooner these do. */
const ERASURES_AND_REWINDS = ['power', 'clock', 'roles', 'reads', 'requests', 'disk'] as const;

export const KNOWN_FAULTS = {
  rewind_beside_an_erasure: {
    what: 'A rewind or a restore asks the vault who was erased before it stands in line, and once more when it has landed. When the process dies in between, whoever was erased meanwhile is back: the rows of the vertical, and no record of the erasure.',
    runs: [102, 105].map((seed) => ({ seed, steps: 1_000, without: ERASURES_AND_REWINDS })),
  },
} as const satisfies Record<string, KnownFault>;

export type KnownFaultName = keyof typeof KNOWN_FAULTS;

/** What a run is lenient about. */
export type Lenience = ReadonlySet<KnownFaultName>;

export const LENIENT: Lenience = new Set(Object.keys(KNOWN_FAULTS) as KnownFaultName[]);
export const STRICT: Lenience = new Set();
