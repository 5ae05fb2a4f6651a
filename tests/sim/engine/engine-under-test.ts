/** The interface through which the simulation drives an engine. */
import type { Engine, EngineTools } from '@freehold/store';

export interface EngineUnderTest extends Engine, EngineTools {
  /**
   * True: the simulation chooses every step inside. False: the engine has timers or processes of its own, and after
   * each step the simulation waits for all answers.
   */
  readonly isPaced: boolean;
  /** Whether it takes named copies, and copies as text. */
  readonly hasSnapshots: boolean;
  /** Closes a unit as if it had been idle for long. Does nothing where the engine cannot. */
  evict(kind: string, key: string): void;
  /** Releases the files of a dead process. Resolves when the directory may be removed. */
  abandon(): Promise<void>;
}

/** The parts that the world gives to an engine. */
export interface EngineParts {
  readonly dataDirectory: string;
  readonly now: () => number;
  readonly random: (bytes: number) => Uint8Array;
  /** The limit of open databases. */
  readonly openUnitsMax: number;
}
