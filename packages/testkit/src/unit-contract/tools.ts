/**
 * The contract of tools: what every engine promises of copies, history and looking inside. An engine that cannot do a
 * thing says so with its capabilities, and is then held to refusing it in the agreed words.
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

/** How an engine lets its tools be tested. */
export interface ToolsContractSetup {
  readonly name: string;
  /** The formats that it makes and takes. Every engine has `ndjson`. */
  readonly formats: readonly CopyFormat[];
  /** Whether a statement that never ends is stopped. Where it cannot be, the reason. */
  readonly stopsStatements: true | string;
  /** Opens the engine on a store that holds nothing yet. */
  open(): Promise<ToolsUnderTest>;
}

export interface ToolsUnderTest {
  readonly engine: Engine & EngineTools;
  /** Ends everything that lives in memory only, and opens the engine again on what was stored. */
  reopen(): Promise<Engine & EngineTools>;
}

/** One unit of the contract, with its tools. */
export interface UnitUnderTest extends ToolsUnderTest {
  readonly key: string;
  readonly unit: UnitStub<ToolsMethods>;
  readonly tools: UnitTools;
}

type ToolsMethods = ReturnType<(typeof toolsUnit)['open']>;

/** Opens an engine with one unit in it that holds the rows that are hard to copy. */
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
