/** Defects that are injected to show that a run finds them. Everyday runs have none. */
import type { Vault } from '@freehold/kernel';
import type { UnitDefinition, UnitMethods } from '@freehold/store';
import type { EngineUnderTest } from './engine/engine-under-test.ts';
import type { SimEngineOptions } from './engine/sim-engine.ts';

export interface Mutant {
  /** Wraps a unit's definition. */
  readonly definition?: <M extends UnitMethods>(definition: UnitDefinition<M>) => UnitDefinition<M>;
  /** Wraps a unit's database. */
  readonly database?: SimEngineOptions['tamper'];
  /** Wraps the engine. */
  readonly engine?: (engine: EngineUnderTest) => EngineUnderTest;
  readonly vault?: (vault: Vault) => Vault;
  /** The disk reports synchronisation that it has not done. */
  readonly liesAboutSync?: boolean;
  /** The delivery runner is never woken. */
  readonly sleeps?: boolean;
}
