/**
 * The unit contract: the promises of every engine as one suite that each engine's tests run (design: architecture,
 * "The one idea"). It runs on Node and inside workerd.
 */
import { beforeEach, describe } from 'vitest';
import type { Engine } from '../../../store/src/engine.ts';
import { callContract } from './calls.ts';
import { commitContract } from './commits.ts';
import { guardContract } from './guard.ts';
import { migrationContract } from './migrations.ts';
import { observed } from './units.ts';
import { valueContract } from './values.ts';

export { type BlobStoreSetup, describeBlobStore } from './blobs.ts';
export { type ToolsContractSetup, toolsContract, toolsUnits } from './tools.ts';
export { contractUnits, guardedUnit, migratingUnit, notesUnit, observed, recordIncident } from './units.ts';

/** An engine under test. */
export interface UnitContractSetup {
  /** Names the engine in the report. */
  readonly name: string;
  /** Opens the engine, with `recordIncident` as its sink, on an empty store. */
  open(): Promise<EngineUnderTest>;
}

export interface EngineUnderTest {
  readonly engine: Engine;
  /** Discards all state in memory, and opens the engine again on its stored data. */
  reopen(): Promise<Engine>;
}

/** Returns a fresh unit key for each test, so that no test sees rows of another. */
export type NewKey = () => string;

/** Declares the suite. */
export function unitContract(setup: UnitContractSetup): void {
  describe(`the unit contract on ${setup.name}`, () => {
    let keys = 0;
    const newKey: NewKey = () => `unit-${++keys}`;
    beforeEach(() => {
      observed.incidents.length = 0;
      observed.committed.length = 0;
    });
    callContract(setup, newKey);
    commitContract(setup, newKey);
    migrationContract(setup, newKey);
    guardContract(setup, newKey);
    valueContract(setup, newKey);
  });
}
