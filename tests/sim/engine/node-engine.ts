/** Runs the production engine in the simulation: clock and randomness are simulated, files are real. */
import { openNodeEngine } from '@freehold/engine-node';
import type { EngineParts, EngineUnderTest } from './engine-under-test.ts';

/** Few frames, so that one run sees many checkpoints and new base copies. */
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
