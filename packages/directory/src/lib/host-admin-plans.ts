/** The plan of a change: the checks of its effect, what the directory knows, and what only the effect can add to it. */
import type { UnitStub } from '@freehold/store';
import type { DirectoryMethods } from '../unit.ts';
import type { Effect, EffectDeps } from './effects.ts';
import { found, type Performer } from './host-admin-performers.ts';

export interface PlannerDeps {
  readonly directory: Pick<UnitStub<DirectoryMethods>, 'planChange' | 'recordAccess'>;
  readonly effectDeps: EffectDeps;
  /** By operation. A change inside the directory has none. */
  readonly effects: Readonly<Record<string, Effect>>;
}

/** Nothing is kept of a plan, but that somebody read a tenant's data for it. */
export function makePlanner({ directory, effectDeps, effects }: PlannerDeps): Performer {
  return async (call, { name }) => {
    const effect = Object.hasOwn(effects, name) ? effects[name] : undefined;
    await effect?.check(effectDeps, call);
    const known = await directory.planChange({ call });
    const { value, read } = (await effect?.plan?.(effectDeps, call, known)) ?? { value: known };
    if (read) await directory.recordAccess({ call, ...read });
    return found(value);
  };
}
