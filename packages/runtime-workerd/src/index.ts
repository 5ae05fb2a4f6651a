/** The runtime of deployed verticals: a workerd process for each. Start with `runtime.ts`. */

export { copyUnit } from './copies/copy-unit.ts';
export { putBackUnfinished } from './copies/damage.ts';
export { type CopiesStatus, DatabaseCopies, type DatabaseCopiesOptions } from './copies/database-copies.ts';
export { type LayOutOptions, layOut } from './copies/lay-out.ts';
export { countInstances, objectIdOf } from './copies/object-files.ts';
export type { PreviewPlace, PreviewRef } from './previews/ports.ts';
export { type Walls, wallsHere } from './process/command.ts';
export { limitForInstances, openInstancesMax } from './process/open-instances.ts';
export { PROCESS_LIMITS, type ProcessFault, type ProcessLimits } from './process/vertical-process.ts';
export {
  type HostedNode,
  type RuntimeOptions,
  type Upload,
  type UploadedModule,
  WorkerdRuntime,
} from './runtime.ts';
export { type ModelProviders, makeModelProviders } from './services/model-providers.ts';
export type { EgressPolicy, InstanceRef, PlatformPorts, VerticalSettings } from './services/ports.ts';
export type { HostedLine } from './services/telemetry.ts';
export { bundleUnit, digestOf, type ScriptRow } from './store/bundle-unit.ts';
