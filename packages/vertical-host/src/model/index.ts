/** Language models for verticals, governed (spec 4.8). Start with `model-host.ts`. */
export {
  type HostedModel,
  MODEL_FACTORIES,
  type ModelFactories,
  type ModelFactory,
  type ModelParts,
  type ModelVariable,
} from './factories.ts';
export * from './model-host.ts';
export { type ModelSpec, parseModelSpec } from './model-spec.ts';
export * from './rate-card.ts';
export type { ModelRefusal } from './refusal.ts';
export type { ModelStatus } from './resolve.ts';
export type { ModelTextStream } from './text-stream.ts';
export type { ModelTool, ModelTools } from './tools.ts';
export type { ModelAttribution, ModelUsageLine } from './usage-line.ts';
