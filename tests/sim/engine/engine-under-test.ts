/** An engine as the simulation drives it, whichever it is. */
import type { Engine, EngineTools } from '@freehold/store';

export interface EngineUnderTest extends Engine, EngineTools {
  /**
   * True: nothing in it happens but what the simulation has chosen. False: it has a life of its own (timers of the
   * runtime, other processes), and after each step the simulation waits until everything was answered.
   */
  readonly isPaced: boolean;
  /** Whether it takes named copies, and copies as text. */
  readonly hasSnapshots: boolean;
  /** Closes a unit as if nobody had used it for long. Does nothing where that cannot be asked for. */
  evict(kind: string, key: string): void;
  /** Its process is dead: lets go of its files. Resolves when the directory may be removed. */
  abandon(): Promise<void>;
}

/** What an engine is given by the world. */
export interface EngineParts {
  readonly dataDirectory: string;
  readonly now: () => number;
  readonly random: (bytes: number) => Uint8Array;
  /** How many databases are open at most. */
  readonly openUnitsMax: number;
}
