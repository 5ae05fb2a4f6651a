/** The settings of one instance: what was delivered to it, then what the worker is bound to, then the default. */
import type { EnvSpec } from '@freehold/contracts';

/** The three places a setting comes from, the strongest first (spec 2.3). */
export interface SettingSources {
  readonly config: Readonly<Record<string, string>>;
  /** The worker's bindings. Only strings are settings. */
  readonly env: Readonly<Record<string, unknown>>;
  readonly envSpec: EnvSpec;
}

/**
 * One setting by its precedence, or undefined when nobody set it. The binding is shared by every instance of the
 * worker, so that reading it alone would give one tenant's instance what was meant for all.
 */
export function readSetting({ config, env, envSpec }: SettingSources, key: string): string | undefined {
  const bound = Object.hasOwn(env, key) ? env[key] : undefined;
  if (Object.hasOwn(config, key)) return config[key];
  if (typeof bound === 'string') return bound;
  return Object.hasOwn(envSpec, key) ? envSpec[key]?.default : undefined;
}

/** Every declared setting that has a value. */
export function resolveSettings(sources: SettingSources): Readonly<Record<string, string>> {
  const pairs = Object.keys(sources.envSpec).flatMap((key) => {
    const value = readSetting(sources, key);
    return value === undefined ? [] : [[key, value] as const];
  });
  return Object.freeze(Object.fromEntries(pairs));
}
