/** Settings about language models: what every application is bound to, so that it can ask one. */
import { findModelFault } from '@freehold/fieldwork';

/** Everything whose name begins like this is about models; what is not known among it is a slip of the hand. */
const PREFIX = /^FREEHOLD_MODEL(?:_|$)/;

export interface ModelSettings {
  /** By name, as applications are bound to them. Empty where no model is set up. */
  readonly bindings: Readonly<Record<string, string>>;
  /** The first thing that is wrong with them, in one sentence; null when nothing is. */
  readonly fault: string | null;
}

/** @param env variables that are set; an empty one is not. */
export function readModelSettings(env: Readonly<Record<string, string | undefined>>): ModelSettings {
  const bindings = Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => PREFIX.test(entry[0]) && !!entry[1]),
  );
  return { bindings, fault: findModelFault(bindings) };
}
