/** Something that is made wrong on purpose, to show that a run finds it. In everyday runs there is none. */
import type { Vault } from '@freehold/kernel';
import type { UnitDefinition, UnitMethods } from '@freehold/store';
import type { EngineUnderTest } from './engine/engine-under-test.ts';
import type { SimEngineOptions } from './engine/sim-engine.ts';

export interface Mutant {
  /** Between the engine and its units. */
  readonly definition?: <M extends UnitMethods>(definition: UnitDefinition<M>) => UnitDefinition<M>;
  /** Between a unit and its database. */
  readonly database?: SimEngineOptions['tamper'];
  /** Between everybody and the engine. */
  readonly engine?: (engine: EngineUnderTest) => EngineUnderTest;
  readonly vault?: (vault: Vault) => Vault;
  /** The disk says that it has synchronised, and has not. */
  readonly liesAboutSync?: boolean;
  /** Nobody is told when there is work. */
  readonly sleeps?: boolean;
}
