/** Resolves the name of a model to its factory and settings, from the platform's environment alone (spec 4.8, D-21). */
import { PlatformError } from '@freehold/contracts';
import type { ModelFactories, ModelFactory, ModelVariable } from './factories.ts';
import { type ModelSpec, parseModelSpec } from './model-spec.ts';
import { rateOf } from './price.ts';
import type { RateCard } from './rate-card.ts';
import type { ModelRefusal } from './refusal.ts';

/** The sources of models. */
export interface ModelSource {
  /** The platform's own environment. Only a row's own variables are read. */
  readonly env: Readonly<Record<string, unknown>>;
  readonly aiBinding: unknown;
  readonly factories: ModelFactories;
  readonly rateCard: RateCard;
}

export interface ResolvedModel {
  readonly model: ModelSpec;
  readonly factory: ModelFactory;
  readonly variable: (name: string) => string | undefined;
}

/** Whether a model can be called, as far as that is known without a request. */
export interface ModelStatus {
  readonly spec: string;
  readonly configured: boolean;
  /** The missing or unusable settings: names of variables, or `aiBinding`. Never a value. */
  readonly lacks: readonly string[];
  /** The reason why a call would be refused, in a sentence; null when it would not. */
  readonly detail: string | null;
  /** Whether the rate card has the model. */
  readonly priced: boolean;
}

/**
 * @throws PlatformError `validation_failed`, reason `model_spec`; `unsupported`, reasons `model_provider` and
 * `model_unknown`; `unavailable`, reason `model_not_configured`.
 */
export function resolveModel(source: ModelSource, spec: string): ResolvedModel {
  const { model, factory } = findRow(source, spec);
  const { values, lacks } = readVariables(source, factory);
  if (lacks.length > 0)
    throw refused(
      'unavailable',
      'model_not_configured',
      `The platform is not set up for models of ${model.provider}. It lacks ${lacks.join(' and ')}.`,
    );
  return { model, factory, variable: (name) => values.get(name) };
}

/** The same question, returned instead of thrown. */
export function modelStatus(source: ModelSource, spec: string): ModelStatus {
  try {
    const { model, factory } = findRow(source, spec);
    const { lacks } = readVariables(source, factory);
    const detail =
      lacks.length === 0
        ? null
        : `The platform lacks ${lacks.join(' and ')} for models of ${model.provider}.`;
    const priced = rateOf(source.rateCard, model) !== undefined;
    return { spec, configured: lacks.length === 0, lacks, detail, priced };
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    return { spec, configured: false, lacks: [], detail: error.message, priced: false };
  }
}

function findRow({ factories }: ModelSource, spec: string): { model: ModelSpec; factory: ModelFactory } {
  const model = parseModelSpec(spec);
  // `constructor` is a well-formed name, and a property of every object.
  const factory = Object.hasOwn(factories, model.provider) ? factories[model.provider] : undefined;
  if (!factory)
    throw refused('unsupported', 'model_provider', `There are no models of ${model.provider} here.`);
  if (factory.accepts && !factory.accepts(model.modelId))
    throw refused('unsupported', 'model_unknown', `There is no such model of ${model.provider}.`);
  return { model, factory };
}

function readVariables({ env, aiBinding }: ModelSource, factory: ModelFactory) {
  const values = new Map<string, string>();
  const lacks: string[] = [];
  for (const variable of factory.variables) {
    const value = env[variable.name];
    const isSet = typeof value === 'string' && value !== '';
    if (isSet && isUsable(variable, value)) values.set(variable.name, value);
    // An unusable value counts as missing even where it is optional: the operator meant to set it.
    else if (isSet || variable.required) lacks.push(variable.name);
  }
  if (factory.needsAiBinding && (typeof aiBinding !== 'object' || aiBinding === null))
    lacks.push('aiBinding');
  return { values, lacks };
}

function isUsable({ kind }: ModelVariable, value: string): boolean {
  // A line break in a key would make `fetch` fail with the key in its message.
  if (kind === 'key') return /^[\x21-\x7e]+$/.test(value);
  const url = URL.parse(value);
  return (
    url !== null &&
    (url.protocol === 'https:' || url.protocol === 'http:') &&
    url.username === '' &&
    url.password === '' &&
    !/[?#]/.test(value)
  );
}

function refused(code: 'unsupported' | 'unavailable', reason: ModelRefusal, detail: string): PlatformError {
  return new PlatformError(code, detail, { reason });
}
