/**
 * The unit contract: what every engine promises, as one suite that each engine's own tests run (design:
 * architecture, "The one idea"). It runs under Node and inside workerd.
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

/** How an engine lets itself be tested. */
export interface UnitContractSetup {
  /** Names the engine in the report. */
  readonly name: string;
  /** Opens the engine, with `recordIncident` as its sink, on a store that holds nothing yet. */
  open(): Promise<EngineUnderTest>;
}

export interface EngineUnderTest {
  readonly engine: Engine;
  /** Ends everything that lives in memory only, and opens the engine again on what was stored. */
  reopen(): Promise<Engine>;
}

/** A fresh unit key a test, so that no test sees another's rows. */
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
