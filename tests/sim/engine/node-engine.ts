/** The engine of production under simulation: its clock and randomness are the simulation's, its files are real. */
import { openNodeEngine } from '@freehold/engine-node';
import type { EngineParts, EngineUnderTest } from './engine-under-test.ts';

/** So few, that logs are emptied into files, and histories based anew, within one run. */
const LOG_FRAMES_MAX = 60;

export function openNodeEngineUnderTest(parts: EngineParts): EngineUnderTest {
  const engine = openNodeEngine({ ...parts, logFramesMax: LOG_FRAMES_MAX, onIncident: () => undefined });
  return {
    capabilities: engine.capabilities,
    isPaced: false,
    hasSnapshots: true,
    unit: engine.unit,
    tools: engine.tools,
    close: engine.close,
    evict: () => undefined,
    abandon: () => engine.close().catch(() => undefined),
  };
}
