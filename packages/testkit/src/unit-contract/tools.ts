/**
 * The contract of tools: the promises of every engine about copies, history and inspection. An engine that lacks
 * one says so in its capabilities, and must then refuse it with the agreed problem.
 */
import { afterEach, describe } from 'vitest';
import type { Engine } from '../../../store/src/engine.ts';
import type { CopyFormat, EngineTools, UnitTools } from '../../../store/src/tools.ts';
import type { UnitStub } from '../../../store/src/unit.ts';
import { copyContract } from './tools-copies.ts';
import { inspectContract } from './tools-inspect.ts';
import { removeContract } from './tools-remove.ts';
import { rewindContract } from './tools-rewind.ts';
import { HARD_ROWS, toolsUnit, toolsWorld } from './tools-units.ts';

export { toolsUnits } from './tools-units.ts';

/** An engine's tools under test. */
export interface ToolsContractSetup {
  readonly name: string;
  /** The formats that the engine makes and takes. Every engine has `ndjson`. */
  readonly formats: readonly CopyFormat[];
  /** Whether a statement that never ends is stopped, or the reason why it cannot be. */
  readonly stopsStatements: true | string;
  /** Opens the engine on an empty store. */
  open(): Promise<ToolsUnderTest>;
}

export interface ToolsUnderTest {
  readonly engine: Engine & EngineTools;
  /** Discards all state in memory, and opens the engine again on its stored data. */
  reopen(): Promise<Engine & EngineTools>;
}

/** One unit of the contract, with its tools. */
export interface UnitUnderTest extends ToolsUnderTest {
  readonly key: string;
  readonly unit: UnitStub<ToolsMethods>;
  readonly tools: UnitTools;
}

type ToolsMethods = ReturnType<(typeof toolsUnit)['open']>;

/** Opens an engine with one unit that holds the rows which are hard to copy. */
export type OpenUnit = () => Promise<UnitUnderTest>;

/** Declares the suite. */
export function toolsContract(setup: ToolsContractSetup): void {
  let keys = 0;
  const openUnit: OpenUnit = async () => {
    const opened = await setup.open();
    keys += 1;
    const key = `tools-${keys}`;
    const unit = opened.engine.unit(toolsUnit, key, { create: true });
    for (const statement of HARD_ROWS) await unit.run(statement);
    return { ...opened, key, unit, tools: opened.engine.tools(toolsUnit, key) };
  };

  describe(`the contract of tools on ${setup.name}`, () => {
    afterEach(() => {
      toolsWorld.migrations = 2;
      toolsWorld.admit = undefined;
    });
    copyContract(setup, openUnit);
    rewindContract(openUnit);
    removeContract(openUnit);
    inspectContract(setup, openUnit);
  });
}
